#include "profilers/kernels/check_call.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

TEST_CASE("all sample calls are well formed") {
  for (const SampleCall& sample : SampleCalls(3)) {
    CAPTURE(sample.name);
    CHECK_EQ(WhyMalformed(sample.call), "");
  }
}

// Kinds for which one output more is still a call.
bool MayHaveMoreOutputs(const KernelCall& call) {
  return call.kind == KernelKind::kProxy ||
         (call.kind == KernelKind::kMaxPoolForward && call.outputs.size() == 1);
}

TEST_CASE("a changed shape, rank, dtype or count is found") {
  for (const SampleCall& sample : SampleCalls(4)) {
    if (sample.call.is_proxy()) continue;
    CAPTURE(sample.name);
    KernelCall more = sample.call;
    more.outputs.push_back(more.outputs[0]);
    if (!MayHaveMoreOutputs(more)) {
      KernelCall twice = more;  // batch norm: four outputs, then a sixth
      twice.outputs.push_back(more.outputs[0]);
      twice.outputs.push_back(more.outputs[0]);
      twice.outputs.push_back(more.outputs[0]);
      CHECK_NE(WhyMalformed(twice), "");
    }
    KernelCall none = sample.call;
    none.outputs.clear();
    CHECK_NE(WhyMalformed(none), "");
    KernelCall empty = sample.call;
    empty.outputs[0].view.shape.assign(1, 0);
    empty.outputs[0].view.strides.assign(1, 1);
    CHECK_NE(WhyMalformed(empty), "");
    KernelCall ragged = sample.call;
    ragged.outputs[0].view.strides.push_back(1);
    CHECK_NE(WhyMalformed(ragged), "");
    // What has no inputs, or one axis of any size, fits every shape.
    if (sample.call.inputs.empty()) continue;
    KernelCall wider = sample.call;
    TensorView& view = wider.outputs[0].view;
    view.shape.push_back(97);
    view.strides.push_back(1);
    CHECK_NE(WhyMalformed(wider), "");
  }
}

TEST_CASE("messages name what does not fit") {
  const auto argument = [](bool is_output, std::vector<std::int64_t> shape) {
    return Argument{
        .is_output = is_output, .index = 0, .view = ContiguousView(DType::kF32, std::move(shape))};
  };
  KernelCall call;
  call.kind = KernelKind::kMatmul;
  call.inputs = {argument(false, {1, 2, 3}), argument(false, {1, 4, 5})};
  call.outputs = {argument(true, {1, 2, 5})};
  CHECK_EQ(WhyMalformed(call), "matmul: b is [1, 4, 5]; expected [1, 3, 5]");
  call.inputs.pop_back();
  CHECK_EQ(WhyMalformed(call), "matmul: 1 inputs and 1 outputs");
  call.kind = KernelKind::kMaxPoolForward;
  call.inputs = {argument(false, {1, 1, 4, 4})};
  call.outputs = {argument(true, {1, 1, 3, 4})};
  call.params.window.size = {1, 1};
  CHECK_EQ(WhyMalformed(call), "max_pool_forward: windows that do not fit the image");
  call.params.window.pad_begin = {1, 0};
  call.outputs = {argument(true, {1, 1, 5, 4})};
  CHECK_EQ(WhyMalformed(call), "max_pool_forward: a pooling window without elements");
}

}  // namespace
}  // namespace emplace::testing

#include <utility>

#include <doctest/doctest.h>

#include "profilers/kernels/kernel_table.h"
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
  CHECK_EQ(WhyMalformed(call), "b is [1, 4, 5]; expected [1, 3, n]");
  call.inputs.pop_back();
  CHECK_EQ(WhyMalformed(call), "1 inputs and 1 outputs; expected 2 to 3 and 1");
  call.inputs.clear();
  call.kind = KernelKind::kCopy;
  CHECK_EQ(WhyMalformed(call), "0 inputs and 1 outputs; expected at least 1 and at least 1");
  call.inputs = {argument(false, {2}), argument(false, {2})};
  CHECK_EQ(WhyMalformed(call), "2 inputs and 1 outputs; expected pairs");
  call.outputs = {argument(true, {2}), argument(true, {3})};
  CHECK_EQ(WhyMalformed(call), "x and y number 1 differ in shape or dtype");
  call.kind = KernelKind::kElementwise;
  call.outputs.pop_back();
  call.inputs[1].view = ContiguousView(DType::kF32, {3});
  CHECK_EQ(WhyMalformed(call), "operands is [3]; expected [2]");
  call.inputs[1].view = ContiguousView(DType::kI64, {2});
  CHECK_EQ(WhyMalformed(call), "operands is i64; expected f32");
  call.inputs[1] = call.inputs[0];
  call.params.function = Function::kMean;
  CHECK_EQ(WhyMalformed(call), "\"mean\" is not an elementwise function");
  call.params.function = Function::kRelu;
  CHECK_EQ(WhyMalformed(call), "relu of 2 operands; expected 1");
  call.params.function = Function::kGreaterEqual;
  CHECK_EQ(WhyMalformed(call), "greater_equal from f32 to f32");
  call.kind = KernelKind::kReduce;
  call.inputs.pop_back();
  CHECK_EQ(WhyMalformed(call), "\"greater_equal\" is not a reduction");
  call.params.function = Function::kSum;
  call.inputs[0] = argument(false, {3});
  CHECK_EQ(WhyMalformed(call), "an axis that is partly reduced");
  call.kind = KernelKind::kMaxPoolForward;
  call.inputs = {argument(false, {1, 1, 4, 4})};
  call.outputs = {argument(true, {1, 1, 3, 4})};
  call.params.window.size = {1, 1};
  CHECK_EQ(WhyMalformed(call), "windows that do not fit the image");
  call.params.window.pad_begin = {1, 0};
  call.outputs = {argument(true, {1, 1, 5, 4})};
  CHECK_EQ(WhyMalformed(call), "a pooling window without elements");
}

}  // namespace
}  // namespace emplace::testing

#include "tests/profilers/reference_kernels.h"

#include <cmath>
#include <set>

#include <doctest/doctest.h>

namespace emplace::testing {
namespace {

TEST_CASE("samples cover every kind, are the same for a seed, and agree with themselves") {
  std::set<KernelKind> kinds;
  const std::vector<SampleCall> samples = SampleCalls(1), again = SampleCalls(1);
  REQUIRE(samples.size() == again.size());
  Rng rng(2);
  for (size_t i = 0; i < samples.size(); ++i) {
    const SampleCall& sample = samples[i];
    CAPTURE(sample.name);
    CHECK(sample.name == again[i].name);
    kinds.insert(sample.call.kind);
    const OpBuffers before = RandomBuffers(sample, rng);
    OpBuffers expected = before, actual = before;
    RunReference(sample.call, expected);
    RunReference(sample.call, actual);
    CHECK_EQ(CompareOutputs(sample.call, before, expected, actual), "");
    // One wrong element of one output is found.
    if (sample.call.kind == KernelKind::kProxy || sample.call.kind == KernelKind::kDropoutForward ||
        sample.call.kind == KernelKind::kRandomUniform) {
      continue;
    }
    const Argument& output =
        sample.call.outputs[UniformInt(rng, static_cast<int>(sample.call.outputs.size()))];
    void* const storage = (output.is_output ? actual.outputs() : actual.inputs())[output.index];
    std::vector<double> values = ReadElements(output.view, storage);
    double& value = values[UniformInt(rng, static_cast<int>(values.size()))];
    value = value == 0             ? 1
            : value == 1           ? 0
            : std::isfinite(value) ? value + 1 + std::abs(value)
                                   : 0;
    WriteElements(output.view, values, storage);
    CHECK_NE(CompareOutputs(sample.call, before, expected, actual), "");
  }
  CHECK(kinds.size() == static_cast<size_t>(KernelKind::kProxy) + 1);
}

// out = a + b over two elements, in storage with a byte of slack.
SampleCall AddTwo() {
  SampleCall sample;
  const TensorView view = ContiguousView(DType::kF32, {2});
  sample.call.kind = KernelKind::kElementwise;
  sample.call.params.function = Function::kAdd;
  sample.call.inputs = {{.is_output = false, .index = 0, .view = view},
                        {.is_output = false, .index = 1, .view = view}};
  sample.call.outputs = {{.is_output = true, .index = 0, .view = view}};
  sample.input_bytes = {8, 8};
  sample.output_bytes = {9};
  sample.shared = {-1};
  return sample;
}

TEST_CASE("a comparison names output, element and values, and sees bytes elsewhere") {
  const SampleCall sample = AddTwo();
  Rng rng(1);
  OpBuffers before = RandomBuffers(sample, rng);
  WriteElements(sample.call.inputs[0].view, {1, 2}, before.input_storage[0].data());
  WriteElements(sample.call.inputs[1].view, {10, 20}, before.input_storage[1].data());
  OpBuffers expected = before;
  RunReference(sample.call, expected);
  const TensorView& view = sample.call.outputs[0].view;
  CHECK(ReadElements(view, expected.output(0).data()) == std::vector<double>{11, 22});

  OpBuffers actual = expected;
  WriteElements(view, {11, 22.5}, actual.output(0).data());
  CHECK_EQ(CompareOutputs(sample.call, before, expected, actual),
           "elementwise: output 0 [1]: got 22.5, expected 22 (tolerance 0.000325269)");
  actual = expected;
  actual.output(0)[8] ^= std::byte{1};
  CHECK_EQ(CompareOutputs(sample.call, before, expected, actual),
           "elementwise: output 0: byte 8 lies in no output view but was changed");
  actual = expected;
  actual.input_storage[1][0] ^= std::byte{1};
  CHECK_EQ(CompareOutputs(sample.call, before, expected, actual),
           "elementwise: input 1: byte 0 lies in no output view but was changed");
}

TEST_CASE("random kernels are held against their distribution") {
  Rng rng(5);
  SampleCall sample;
  const TensorView f32 = ContiguousView(DType::kF32, {1000});
  const TensorView mask = ContiguousView(DType::kBool, {1000});
  sample.call.kind = KernelKind::kDropoutForward;
  sample.call.params.alpha = 0.25;
  sample.call.inputs = {{.is_output = false, .index = 0, .view = f32}};
  sample.call.outputs = {{.is_output = true, .index = 0, .view = f32},
                         {.is_output = true, .index = 1, .view = mask}};
  sample.input_bytes = {4000};
  sample.output_bytes = {4000, 1000};
  sample.shared = {-1, -1};
  const OpBuffers before = RandomBuffers(sample, rng);
  OpBuffers actual = before;
  RunReference(sample.call, actual);
  CHECK_EQ(CompareOutputs(sample.call, before, actual, actual), "");
  OpBuffers all = actual;  // nothing dropped
  const std::vector<double> x = ReadElements(f32, all.input_storage[0].data());
  std::vector<double> y = x;
  for (double& value : y) value /= 0.75;
  WriteElements(f32, y, all.output(0).data());
  WriteElements(mask, std::vector<double>(1000, 1), all.output(1).data());
  CHECK_EQ(CompareOutputs(sample.call, before, actual, all),
           "dropout_forward: 1000 of 1000 elements kept, expected a share of 0.75");
  OpBuffers unscaled = all;
  WriteElements(f32, x, unscaled.output(0).data());
  CHECK_NE(CompareOutputs(sample.call, before, actual, unscaled), "");

  sample.call.kind = KernelKind::kRandomUniform;
  sample.call.inputs.clear();
  sample.call.outputs.pop_back();
  OpBuffers uniform = before;
  RunReference(sample.call, uniform);
  CHECK_EQ(CompareOutputs(sample.call, before, uniform, uniform), "");
  WriteElements(f32, std::vector<double>(1000, 0.75), uniform.output(0).data());
  CHECK_EQ(CompareOutputs(sample.call, before, uniform, uniform),
           "random_uniform: mean of 1000 elements: got 0.75, expected 0.5");
  WriteElements(f32, std::vector<double>(1000, 1), uniform.output(0).data());
  CHECK_EQ(CompareOutputs(sample.call, before, uniform, uniform),
           "random_uniform: element 0: got 1, expected 0 <= value < 1");
}

}  // namespace
}  // namespace emplace::testing

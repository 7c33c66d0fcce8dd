// Random values for the storage of a sample call.

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

using std::int64_t;

// Inputs that mean something only if they are positive: variances and the like, by name, and
// operands by function.
bool MustBePositive(const KernelCall& call, const ArgumentRule& rule, size_t position) {
  static const std::set<std::string_view> kNames{
      "running_variance", "second", "inverse_std", "weight", "s", "v"};
  if (call.kind != KernelKind::kElementwise) return kNames.contains(rule.name);
  const std::string_view positive = DescriptionOf(call.params.function).positive;
  return (positive == "a" && position == 0) || (positive == "b" && position == 1);
}

std::vector<double> RandomValues(const KernelCall& call, size_t position, Rng& rng) {
  const TensorView& view = call.inputs[position].view;
  const bool is_cast =
      call.kind == KernelKind::kElementwise && call.params.function == Function::kCast;
  const bool compares = call.kind == KernelKind::kElementwise &&
                        DescriptionOf(call.params.function).types == FunctionTypes::kComparison;
  const bool is_max_pool =
      call.kind == KernelKind::kMaxPoolForward || call.kind == KernelKind::kMaxPoolBackward;
  const ArgumentRule& rule = DescriptionOf(call.kind).inputs.RuleOf(position, call.inputs.size());
  // Indices beyond every size, so that they wrap on both sides.
  int64_t range = 0;
  for (const auto* arguments : {&call.inputs, &call.outputs}) {
    for (const Argument& argument : *arguments) {
      for (const int64_t size : argument.view.shape) range = std::max(range, 4 * size);
    }
  }
  std::vector<double> values(view.num_elements());
  for (double& value : values) {
    const double unit = Uniform01(rng);
    if (view.dtype == DType::kBool) {
      value = UniformInt(rng, 2);
    } else if (rule.type == TypeRule::kIndex) {
      value = UniformInt(rng, static_cast<int>(range)) - std::floor(static_cast<double>(range) / 2);
    } else if (compares) {  // with ties
      value = UniformInt(rng, 9) - 4;
    } else if (view.dtype != DType::kF32) {
      value = UniformInt(rng, 201) - 100;
    } else if (MustBePositive(call, rule, position)) {
      value = 0.5 + unit;
    } else if (is_cast) {
      value = 200 * unit - 100;
    } else if (is_max_pool && position == 0) {
      value = std::floor(8 * unit) / 4 - 1;              // with ties
    } else if (call.kind == KernelKind::kElementwise) {  // every piece of an activation
      value = 10 * unit - 5;
    } else {
      value = 2 * unit - 1;
    }
  }
  return values;
}

// Indices of a max pooling: any element of each window.
void WriteWindowIndices(const KernelCall& call, OpBuffers& buffers, Rng& rng) {
  const Window& window = call.params.window;
  const std::vector<int64_t>&y = call.inputs[1].view.shape, &x = call.outputs[0].view.shape;
  std::vector<double> indices;
  for (int64_t i = 0; i < call.inputs[1].view.num_elements(); ++i) {
    const int64_t position[] = {i / y[3] % y[2], i % y[3]};
    int64_t picked[2];
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t start = position[axis] * window.stride[axis] - window.pad_begin[axis];
      const int64_t first = std::max<int64_t>(0, start);
      const int64_t last = std::min(start + window.size[axis], x[2 + axis]);
      picked[axis] = first + UniformInt(rng, static_cast<int>(last - first));
    }
    indices.push_back(static_cast<double>(picked[0] * x[3] + picked[1]));
  }
  WriteElements(call.inputs[1].view, indices, buffers.inputs()[call.inputs[1].index]);
}

Buffer RandomBytes(int64_t size, Rng& rng) {
  Buffer buffer(size);
  for (std::byte& byte : buffer) byte = static_cast<std::byte>(UniformInt(rng, 256));
  return buffer;
}

}  // namespace

OpBuffers RandomBuffers(const SampleCall& sample, Rng& rng) {
  const KernelCall& call = sample.call;
  OpBuffers buffers;
  buffers.shared = sample.shared;
  for (const int64_t bytes : sample.input_bytes) {
    buffers.input_storage.push_back(RandomBytes(bytes, rng));
  }
  for (const int64_t bytes : sample.output_bytes) {
    buffers.output_storage.push_back(RandomBytes(bytes, rng));
  }
  // What is updated without being an argument that is read: kScatterAdd's table.
  for (const Argument& argument : call.outputs) {
    if (call.kind != KernelKind::kScatterAdd) break;
    std::vector<double> values(argument.view.num_elements());
    for (double& value : values) value = Uniform01(rng);
    void* const storage = argument.is_output ? buffers.output(argument.index).data()
                                             : buffers.inputs()[argument.index];
    WriteElements(argument.view, values, storage);
  }
  if (call.kind == KernelKind::kCopy || call.kind == KernelKind::kProxy) return buffers;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    WriteElements(
        call.inputs[i].view, RandomValues(call, i, rng), buffers.inputs()[call.inputs[i].index]);
  }
  if (call.kind == KernelKind::kMaxPoolBackwardIndices) WriteWindowIndices(call, buffers, rng);
  if (call.kind == KernelKind::kMaxPoolBackward) {
    KernelCall forward = call;
    forward.kind = KernelKind::kMaxPoolForward;
    forward.inputs = {call.inputs[0]};
    forward.outputs = {call.inputs[1]};
    RunReference(forward, buffers);
  }
  return buffers;
}

}  // namespace emplace::testing

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/reference_internal.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

using std::int64_t;

const Buffer& StorageOf(const OpBuffers& buffers, const Argument& argument) {
  if (!argument.is_output) return buffers.input_storage[argument.index];
  const int shared = buffers.shared[argument.index];
  return shared >= 0 ? buffers.input_storage[shared] : buffers.output_storage[argument.index];
}

std::vector<double> Read(const OpBuffers& buffers, const Argument& argument) {
  return ReadElements(argument.view, StorageOf(buffers, argument).data());
}

std::string Position(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

// Bytes that no output view covers must be as they were.
std::string CompareUntouched(const KernelCall& call,
                             const OpBuffers& before,
                             const OpBuffers& actual) {
  std::map<const Buffer*, std::vector<bool>> is_written;
  for (const Argument& argument : call.outputs) {
    std::vector<bool>& written = is_written[&StorageOf(actual, argument)];
    written.resize(StorageOf(actual, argument).size());
    const int64_t size = SizeOf(argument.view.dtype);
    for (const int64_t offset : internal::ElementOffsets(argument.view)) {
      std::fill_n(written.begin() + offset * size, size, true);
    }
  }
  const auto compare = [&](const char* what, size_t index, const Buffer& was, const Buffer& is) {
    if (was.size() != is.size()) return fmt::format("{} {}: size changed", what, index);
    const auto found = is_written.find(&is);
    for (size_t byte = 0; byte < is.size(); ++byte) {
      if (found != is_written.end() && found->second[byte]) continue;
      if (was[byte] != is[byte]) {
        return fmt::format(
            "{} {}: byte {} lies in no output view but was changed", what, index, byte);
      }
    }
    return std::string();
  };
  for (size_t i = 0; i < actual.input_storage.size(); ++i) {
    std::string error = compare("input", i, before.input_storage[i], actual.input_storage[i]);
    if (!error.empty()) return error;
  }
  for (size_t i = 0; i < actual.output_storage.size(); ++i) {
    std::string error = compare("output", i, before.output_storage[i], actual.output_storage[i]);
    if (!error.empty()) return error;
  }
  return "";
}

// Six standard deviations: a sound generator fails once in 10^9 comparisons, and ours are seeded.
double Deviation(double count, double variance) {
  return 6 * std::sqrt(count * variance);
}

std::string CompareUniform(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0 && values[i] < 1)) {
      return fmt::format("element {}: got {}, expected 0 <= value < 1", i, values[i]);
    }
    sum += values[i];
    squares += values[i] * values[i];
  }
  const auto count = static_cast<double>(values.size());
  if (std::abs(sum - count / 2) > Deviation(count, 1.0 / 12)) {
    return fmt::format("mean of {} elements: got {}, expected 0.5", count, sum / count);
  }
  // A square has the mean 1 / 3 and the variance 1 / 5 - 1 / 9.
  if (std::abs(squares - count / 3) > Deviation(count, 4.0 / 45)) {
    return fmt::format(
        "mean square of {} elements: got {}, expected 1 / 3", count, squares / count);
  }
  return "";
}

std::string CompareDropout(const KernelCall& call,
                           const OpBuffers& before,
                           const OpBuffers& actual) {
  const std::vector<double> x = Read(before, call.inputs[0]), y = Read(actual, call.outputs[0]),
                            mask = Read(actual, call.outputs[1]);
  const double alpha = call.params.alpha;
  double kept = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (mask[i] != 0 && mask[i] != 1) {
      return fmt::format("mask element {}: got {}, expected 0 or 1", i, mask[i]);
    }
    const double expected = mask[i] != 0 ? x[i] / (1 - alpha) : 0;
    if (!(std::abs(y[i] - expected) <= Tolerance(call) * (1 + std::abs(expected)))) {
      return fmt::format("element {}: got {}, expected {}", i, y[i], expected);
    }
    kept += mask[i];
  }
  const auto count = static_cast<double>(x.size());
  if (std::abs(kept - count * (1 - alpha)) > Deviation(count, alpha * (1 - alpha))) {
    return fmt::format("{} of {} elements kept, expected a share of {}", kept, count, 1 - alpha);
  }
  return "";
}

std::string CompareValues(const KernelCall& call,
                          const OpBuffers& expected_buffers,
                          const OpBuffers& actual_buffers) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const TensorView& view = call.outputs[i].view;
    // A copy may move bytes that are no numbers.
    if (call.kind == KernelKind::kCopy) {
      if (StorageOf(expected_buffers, call.outputs[i]) ==
          StorageOf(actual_buffers, call.outputs[i]))
        continue;
    }
    const double tolerance = view.dtype == DType::kF32 ? Tolerance(call) : 0;
    const std::vector<double> expected = Read(expected_buffers, call.outputs[i]);
    const std::vector<double> actual = Read(actual_buffers, call.outputs[i]);
    for (size_t k = 0; k < expected.size(); ++k) {
      const double a = actual[k], b = expected[k];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (std::isfinite(b) && std::abs(a - b) <= tolerance * (1 + std::abs(b))) continue;
      return fmt::format("output {} {}: got {}, expected {} (tolerance {:g})",
                         i,
                         Position(view.shape, static_cast<int64_t>(k)),
                         a,
                         b,
                         tolerance * (1 + std::abs(b)));
    }
  }
  return "";
}

// How many products or terms go into one output element.
double Terms(const KernelCall& call) {
  const auto elements = [](const std::vector<Argument>& arguments, int i) {
    return static_cast<double>(arguments[i].view.num_elements());
  };
  const double products = MultiplyAdds(call);
  if (products > 0) return products / elements(call.outputs, 0);
  switch (call.kind) {
    case KernelKind::kAvgPoolForward:
    case KernelKind::kAvgPoolBackward:
    case KernelKind::kMaxPoolBackward:
    case KernelKind::kMaxPoolBackwardIndices:
      return static_cast<double>(call.params.window.size[0] * call.params.window.size[1]);
    case KernelKind::kReduce:
      return elements(call.inputs, 0) / elements(call.outputs, 0);
    case KernelKind::kNllLossForward:
    case KernelKind::kScatterAdd:
      return elements(call.inputs, 1);
    case KernelKind::kCumulativeSum:
    case KernelKind::kSoftmaxBackward:
    case KernelKind::kLogSoftmaxBackward:
    case KernelKind::kSoftmax:
    case KernelKind::kLogSoftmax:
    case KernelKind::kSparseCrossEntropy:
      return static_cast<double>(call.inputs[0].view.shape[1]);
    case KernelKind::kElementwise:
      return static_cast<double>(call.inputs.size());
    default:
      return 1;
  }
}

}  // namespace

double Tolerance(const KernelCall& call) {
  switch (call.kind) {
    case KernelKind::kCopy:
    case KernelKind::kFill:
    case KernelKind::kGather:
    case KernelKind::kGatherPlaces:
    case KernelKind::kSelect:
    case KernelKind::kMaxPoolForward:
      return 1e-7;  // nothing is computed; a scalar may be rounded
    case KernelKind::kBatchNormForward:
    case KernelKind::kBatchNormBackward:
    case KernelKind::kLayerNormForward:
    case KernelKind::kLayerNormBackward:
    case KernelKind::kGroupNormForward:
    case KernelKind::kGroupNormBackward:
      return 1e-4;  // a small variance magnifies the mean's rounding
    default:
      return 1e-5 * std::sqrt(std::max(1.0, Terms(call)));
  }
}

std::string CompareOutputs(const KernelCall& call,
                           const OpBuffers& before,
                           const OpBuffers& expected,
                           const OpBuffers& actual) {
  std::string error = CompareUntouched(call, before, actual);
  if (error.empty()) {
    switch (call.kind) {
      case KernelKind::kProxy:
        break;
      case KernelKind::kRandomUniform:
        error = CompareUniform(Read(actual, call.outputs[0]));
        break;
      case KernelKind::kDropoutForward:
        error = CompareDropout(call, before, actual);
        break;
      default:
        error = CompareValues(call, expected, actual);
    }
  }
  return error.empty() ? "" : fmt::format("{}: {}", ToString(call.kind), error);
}

}  // namespace emplace::testing

// Rules of single kernels beyond their signatures (kernel_table.h). The signatures have been
// checked before.

#include <vector>

#include <fmt/format.h>

#include "profilers/kernels/kernel_table.h"

namespace emplace::call_rules {
namespace {

using std::int64_t;
using Shape = std::vector<int64_t>;

const Shape& In(const KernelCall& call, int i) {
  return call.inputs[i].view.shape;
}
const Shape& Out(const KernelCall& call, int i) {
  return call.outputs[i].view.shape;
}

// @param image  [n, c, h, w]    @param windows  [n, c, p, q]; channels are not checked
std::string WindowRule(const Window& w, const Shape& image, const Shape& windows, bool is_pool) {
  for (const auto* pair : {&w.size, &w.stride, &w.pad_begin, &w.pad_end, &w.dilation}) {
    if (pair->size() != 2) return "a window that is not [h, w]";
  }
  for (int i = 0; i < 2; ++i) {
    if (w.size[i] <= 0 || w.stride[i] <= 0 || w.dilation[i] <= 0 || w.pad_begin[i] < 0 ||
        w.pad_end[i] < 0) {
      return "a window of negative size, stride, padding or dilation";
    }
    const int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    const int64_t padded = image[2 + i] + w.pad_begin[i] + w.pad_end[i];
    if (padded < reach || windows[2 + i] != (padded - reach) / w.stride[i] + 1) {
      return "windows that do not fit the image";
    }
    // The last window starts inside the image, and the first window reaches the image.
    if (is_pool && (w.dilation[i] != 1 || w.pad_begin[i] >= w.size[i] ||
                    (windows[2 + i] - 1) * w.stride[i] - w.pad_begin[i] >= image[2 + i])) {
      return "a pooling window without elements";
    }
  }
  return "";
}

std::string Pooling(const KernelCall& call, const Shape& image, const Shape& windows) {
  return WindowRule(call.params.window, image, windows, true);
}

}  // namespace

std::string BiasIsRow(const KernelCall& call) {
  if (call.inputs.size() < 3) return "";
  const Shape& strides = call.inputs[2].view.strides;
  return strides[0] == 0 && strides[1] == 0 ? "" : "a bias that is more than a row";
}

std::string Convolution(const KernelCall& call) {
  const ConvolutionRoles roles = RolesOf(call);
  const Shape &x = roles.x.view.shape, &w = roles.w.view.shape, &y = roles.y.view.shape;
  const int64_t groups = call.params.groups;
  std::string error = WindowRule(call.params.window, x, y, false);
  if (!error.empty()) return error;
  return groups > 0 && x[1] == w[1] * groups && w[0] % groups == 0 &&
                 call.params.window.size == Shape({w[2], w[3]})
             ? ""
             : "a filter that does not fit the channels";
}

std::string PoolForward(const KernelCall& call) {
  return Pooling(call, In(call, 0), Out(call, 0));
}

std::string PoolBackward(const KernelCall& call) {
  return Pooling(call, Out(call, 0), In(call, 0));
}

std::string MaxPoolBackward(const KernelCall& call) {
  return Pooling(call, In(call, 0), In(call, 1));
}

std::string RunningStatistics(const KernelCall& call) {
  return call.inputs.size() != 4 && call.outputs.size() != 4 &&
                 call.inputs.size() <= call.outputs.size()
             ? ""
             : "only one running statistic";
}

namespace {

std::string GroupsOf(const KernelCall& call, int64_t channels, const Shape& statistic) {
  if (channels % statistic[1] != 0) return "groups that do not divide the channels";
  return call.inputs.size() == 2 || call.outputs.size() == 2 ? "only one of scale and offset" : "";
}

}  // namespace

std::string GroupNorm(const KernelCall& call) {
  return GroupsOf(call, In(call, 0)[1], Out(call, 1));
}

std::string GroupNormGradient(const KernelCall& call) {
  return GroupsOf(call, In(call, 0)[1], In(call, 2));
}

std::string Elementwise(const KernelCall& call) {
  const FunctionDescription& function = DescriptionOf(call.params.function);
  const size_t operands = call.inputs.size();
  const bool is_one = function.arity == Arity::kUnary;
  switch (function.arity) {
    case Arity::kUnary:
    case Arity::kTwo:
      if (operands != (is_one ? 1 : 2)) {
        return fmt::format(
            "{} of {} operands; expected {}", function.name, operands, is_one ? 1 : 2);
      }
      break;
    case Arity::kBinary:
      if (operands > 2)
        return fmt::format("{} of {} operands; expected 1 or 2", function.name, operands);
      break;
    case Arity::kSum:
      break;
    case Arity::kReduction:
    case Arity::kNone:
      return fmt::format("\"{}\" is not an elementwise function", function.name);
  }
  const DType in = call.inputs[0].view.dtype, out = call.outputs[0].view.dtype;
  bool fits = true;
  switch (function.types) {
    case FunctionTypes::kFloat:
      fits = in == DType::kF32 && out == DType::kF32;
      break;
    case FunctionTypes::kNumber:
      fits = in != DType::kBool && out == in;
      break;
    case FunctionTypes::kComparison:
      fits = in != DType::kBool && out == DType::kBool;
      break;
    case FunctionTypes::kLogic:
      fits = in == DType::kBool && out == DType::kBool;
      break;
    case FunctionTypes::kCast:
      break;
  }
  return fits ? "" : fmt::format("{} from {} to {}", function.name, ToString(in), ToString(out));
}

std::string DropoutProbability(const KernelCall& call) {
  return call.params.alpha >= 0 && call.params.alpha < 1 ? "" : "a probability not in [0, 1)";
}

std::string Reduction(const KernelCall& call) {
  const FunctionDescription& function = DescriptionOf(call.params.function);
  if (function.arity != Arity::kReduction) {
    return fmt::format("\"{}\" is not a reduction", function.name);
  }
  const Shape &x = In(call, 0), &y = Out(call, 0);
  if (x.size() != y.size()) return fmt::format("y has rank {}; expected {}", y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != 1 && y[i] != x[i]) return "an axis that is partly reduced";
  }
  return "";
}

std::string RangeOfNumbers(const KernelCall& call) {
  return call.outputs[0].view.dtype == DType::kBool ? "a range of bools" : "";
}

std::string SumOfNumbers(const KernelCall& call) {
  const DType in = call.inputs[0].view.dtype, out = call.outputs[0].view.dtype;
  const bool fits = out != DType::kBool && (in == out || (in != DType::kF32 && out == DType::kI64));
  return fits ? "" : fmt::format("a sum from {} to {}", ToString(in), ToString(out));
}

std::string Pairs(const KernelCall& call) {
  if (call.inputs.size() != call.outputs.size()) {
    return fmt::format(
        "{} inputs and {} outputs; expected pairs", call.inputs.size(), call.outputs.size());
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorView &from = call.inputs[i].view, &to = call.outputs[i].view;
    if (from.shape != to.shape || from.dtype != to.dtype) {
      return fmt::format("x and y number {} differ in shape or dtype", i);
    }
  }
  return "";
}

}  // namespace emplace::call_rules

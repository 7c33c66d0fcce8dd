#include "profilers/kernels/check_call.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace {
namespace {

using std::int64_t;
using Shape = std::vector<int64_t>;

constexpr size_t kAny = std::numeric_limits<size_t>::max();

// Collects the first thing that is wrong.
class Checker {
 public:
  explicit Checker(const KernelCall& call) : call_(call) {}

  std::string Run() {
    for (const auto* arguments : {&call_.inputs, &call_.outputs}) {
      for (const Argument& argument : *arguments) {
        const TensorView& view = argument.view;
        Check(view.shape.size() == view.strides.size() && view.offset >= 0 &&
                  std::ranges::all_of(view.strides, [](int64_t s) { return s >= 0; }),
              "a view without stride for each axis");
        Check(std::ranges::all_of(view.shape, [](int64_t s) { return s > 0; }) || call_.is_proxy(),
              "a view without elements");
      }
    }
    if (error_.empty()) CheckKind();
    return error_.empty() ? "" : fmt::format("{}: {}", ToString(call_.kind), error_);
  }

 private:
  void Check(bool condition, std::string_view what) {
    if (!condition && error_.empty()) error_ = what;
  }
  bool Counts(size_t min_inputs, size_t max_inputs, size_t min_outputs, size_t max_outputs) {
    const size_t in = call_.inputs.size(), out = call_.outputs.size();
    Check(in >= min_inputs && in <= max_inputs && out >= min_outputs && out <= max_outputs,
          fmt::format("{} inputs and {} outputs", in, out));
    return error_.empty();
  }
  const Shape& In(int i) const { return call_.inputs[i].view.shape; }
  const Shape& Out(int i) const { return call_.outputs[i].view.shape; }
  void Expect(const Shape& shape, const Shape& expected, std::string_view what) {
    Check(
        shape == expected,
        fmt::format(
            "{} is [{}]; expected [{}]", what, fmt::join(shape, ", "), fmt::join(expected, ", ")));
  }
  void Rank(const Shape& shape, size_t rank, std::string_view what) {
    Check(shape.size() == rank, fmt::format("{} has rank {}", what, shape.size()));
  }
  // All arguments are f32 but those named: inputs counted from 0, outputs from -1 downwards.
  void Floats(std::initializer_list<int> others = {}) {
    const auto is_other = [&](int position) { return std::ranges::count(others, position) > 0; };
    for (int i = 0; i < static_cast<int>(call_.inputs.size()); ++i) {
      Check(is_other(i) || call_.inputs[i].view.dtype == DType::kF32,
            fmt::format("input {} is {}", i, ToString(call_.inputs[i].view.dtype)));
    }
    for (int i = 0; i < static_cast<int>(call_.outputs.size()); ++i) {
      Check(is_other(-1 - i) || call_.outputs[i].view.dtype == DType::kF32,
            fmt::format("output {} is {}", i, ToString(call_.outputs[i].view.dtype)));
    }
  }
  void Indices(int input) {
    const DType dtype = call_.inputs[input].view.dtype;
    Check(dtype == DType::kI32 || dtype == DType::kI64,
          fmt::format("indices of {}", ToString(dtype)));
  }

  // @param image, windows  [n, c, h, w] and what the window makes of it, channels apart
  void CheckWindow(const Shape& image, const Shape& windows, bool is_pool) {
    Rank(image, 4, "the image");
    Rank(windows, 4, "the windows' values");
    const Window& w = call_.params.window;
    for (const auto* pair : {&w.size, &w.stride, &w.pad_begin, &w.pad_end, &w.dilation}) {
      Check(pair->size() == 2, "a window that is not [h, w]");
    }
    if (!error_.empty()) return;
    Check(image[0] == windows[0] && (!is_pool || image[1] == windows[1]), "other images");
    for (int i = 0; i < 2; ++i) {
      Check(w.size[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0 && w.pad_begin[i] >= 0 &&
                w.pad_end[i] >= 0,
            "a window of negative size, stride, padding or dilation");
      if (!error_.empty()) return;
      const int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
      const int64_t padded = image[2 + i] + w.pad_begin[i] + w.pad_end[i];
      Check(padded >= reach && windows[2 + i] == (padded - reach) / w.stride[i] + 1,
            "windows that do not fit the image");
      // The last window starts inside of the image and the first one reaches it.
      Check(!is_pool || (w.dilation[i] == 1 && w.pad_begin[i] < w.size[i] &&
                         (windows[2 + i] - 1) * w.stride[i] - w.pad_begin[i] < image[2 + i]),
            "a pooling window without elements");
    }
  }

  void CheckConv(const Shape& x, const Shape& w, const Shape& y) {
    CheckWindow(x, y, false);
    Rank(w, 4, "the filter");
    const int64_t groups = call_.params.groups;
    if (!error_.empty()) return;
    Check(groups > 0 && x[1] == w[1] * groups && w[0] % groups == 0 && y[1] == w[0] &&
              call_.params.window.size == Shape({w[2], w[3]}),
          "a filter that does not fit the channels");
  }

  void CheckRows(const Shape& shape, std::initializer_list<const Shape*> same) {
    Rank(shape, 2, "the rows");
    for (const Shape* other : same) Expect(*other, shape, "a matrix");
  }

  void CheckElementwise() {
    if (!Counts(1, call_.params.function == Function::kAdd ? kAny : 2, 1, 1)) return;
    const DType in = call_.inputs[0].view.dtype, out = call_.outputs[0].view.dtype;
    for (const Argument& input : call_.inputs) {
      Expect(input.view.shape, Out(0), "an operand");
      Check(input.view.dtype == in, "operands of different dtypes");
    }
    switch (call_.params.function) {
      case Function::kNone:
      case Function::kSum:
      case Function::kMean:
      case Function::kHalfSumOfSquares:
        return Check(false, "no elementwise function");
      case Function::kCast:
        return;
      case Function::kGreaterEqual:
        Check(in != DType::kBool && out == DType::kBool, "a comparison that gives no bool");
        return;
      case Function::kAdd:
      case Function::kSub:
      case Function::kReverseSub:
      case Function::kMul:
      case Function::kMinimum:
      case Function::kMaximum:
      case Function::kNeg:
        Check(in != DType::kBool && in == out,
              fmt::format("arithmetic from {} to {}", ToString(in), ToString(out)));
        return;
      case Function::kReluGrad:
      case Function::kSigmoidGrad:
      case Function::kTanhGrad:
      case Function::kGeluGrad:
      case Function::kGeluTanhGrad:
        Counts(2, 2, 1, 1);
        [[fallthrough]];
      default:
        return Floats();
    }
  }

  void CheckKind() {
    switch (call_.kind) {
      case KernelKind::kMatmul:
        if (!Counts(2, 3, 1, 1)) return;
        Floats();
        for (const Shape* shape : {&In(0), &In(1), &Out(0)}) Rank(*shape, 3, "a matrix");
        if (!error_.empty()) return;
        Expect(In(1), {In(0)[0], In(0)[2], Out(0)[2]}, "b");
        Expect(Out(0), {In(0)[0], In(0)[1], In(1)[2]}, "c");
        if (call_.inputs.size() < 3) return;
        Expect(In(2), Out(0), "the bias");
        Check(call_.inputs[2].view.strides[0] == 0 && call_.inputs[2].view.strides[1] == 0,
              "a bias that is more than a row");
        return;
      case KernelKind::kConvForward:
        if (!Counts(2, 3, 1, 1)) return;
        Floats();
        CheckConv(In(0), In(1), Out(0));
        if (call_.inputs.size() == 3 && error_.empty()) Expect(In(2), {Out(0)[1]}, "the bias");
        return;
      case KernelKind::kConvBackwardData:
        if (!Counts(2, 2, 1, 1)) return;
        Floats();
        return CheckConv(Out(0), In(1), In(0));
      case KernelKind::kConvBackwardFilter:
        if (!Counts(2, 2, 1, 1)) return;
        Floats();
        return CheckConv(In(0), Out(0), In(1));
      case KernelKind::kMaxPoolForward:
        if (!Counts(1, 1, 1, 2)) return;
        Floats({-2});
        CheckWindow(In(0), Out(0), true);
        if (call_.outputs.size() < 2) return;
        Expect(Out(1), Out(0), "the indices");
        return Check(call_.outputs[1].view.dtype == DType::kI64, "indices that are not i64");
      case KernelKind::kMaxPoolBackward:
        if (!Counts(3, 3, 1, 1)) return;
        Floats();
        Expect(In(2), In(1), "dy");
        Expect(Out(0), In(0), "dx");
        return CheckWindow(In(0), In(1), true);
      case KernelKind::kMaxPoolBackwardIndices:
        if (!Counts(2, 2, 1, 1)) return;
        Floats({1});
        Expect(In(1), In(0), "the indices");
        Check(call_.inputs[1].view.dtype == DType::kI64, "indices that are not i64");
        return CheckWindow(Out(0), In(0), true);
      case KernelKind::kAvgPoolForward:
        if (!Counts(1, 1, 1, 1)) return;
        Floats();
        return CheckWindow(In(0), Out(0), true);
      case KernelKind::kAvgPoolBackward:
        if (!Counts(1, 1, 1, 1)) return;
        Floats();
        return CheckWindow(Out(0), In(0), true);
      case KernelKind::kBatchNormForward:
        if (!Counts(3, 5, 3, 5)) return;
        Check(call_.inputs.size() != 4 && call_.outputs.size() != 4 &&
                  call_.inputs.size() <= call_.outputs.size(),
              "one running statistic alone");
        Floats();
        Rank(In(0), 4, "x");
        Expect(Out(0), In(0), "y");
        if (!error_.empty()) return;
        for (size_t i = 1; i < call_.inputs.size(); ++i) Expect(In(i), {In(0)[1]}, "an input");
        for (size_t i = 1; i < call_.outputs.size(); ++i) Expect(Out(i), {In(0)[1]}, "an output");
        return;
      case KernelKind::kBatchNormBackward:
        if (!Counts(5, 5, 3, 3)) return;
        Floats();
        Rank(In(0), 4, "dy");
        Expect(In(1), In(0), "x");
        Expect(Out(0), In(0), "dx");
        if (!error_.empty()) return;
        for (int i = 2; i < 5; ++i) Expect(In(i), {In(0)[1]}, "an input");
        for (int i = 1; i < 3; ++i) Expect(Out(i), {In(0)[1]}, "an output");
        return;
      case KernelKind::kLayerNormForward:
        if (!Counts(3, 3, 3, 3)) return;
        Floats();
        CheckRows(In(0), {&Out(0)});
        if (!error_.empty()) return;
        for (int i = 1; i < 3; ++i) {
          Expect(In(i), {In(0)[1]}, "scale or offset");
          Expect(Out(i), {In(0)[0]}, "a statistic");
        }
        return;
      case KernelKind::kLayerNormBackward:
        if (!Counts(5, 5, 3, 3)) return;
        Floats();
        CheckRows(In(0), {&In(1), &Out(0)});
        if (!error_.empty()) return;
        for (int i = 2; i < 4; ++i) Expect(In(i), {In(0)[0]}, "a statistic");
        Expect(In(4), {In(0)[1]}, "the scale");
        for (int i = 1; i < 3; ++i) Expect(Out(i), {In(0)[1]}, "a gradient");
        return;
      case KernelKind::kSoftmax:
      case KernelKind::kLogSoftmax:
        if (!Counts(1, 1, 1, 1)) return;
        Floats();
        return CheckRows(In(0), {&Out(0)});
      case KernelKind::kSoftmaxBackward:
      case KernelKind::kLogSoftmaxBackward:
        if (!Counts(2, 2, 1, 1)) return;
        Floats();
        return CheckRows(In(0), {&In(1), &Out(0)});
      case KernelKind::kSparseCrossEntropy:
        if (!Counts(2, 2, 2, 2)) return;
        Floats({1});
        Indices(1);
        CheckRows(In(0), {&Out(1)});
        if (!error_.empty()) return;
        Expect(In(1), {In(0)[0]}, "the labels");
        return Expect(Out(0), {In(0)[0]}, "the loss");
      case KernelKind::kNllLossForward:
        if (!Counts(2, 2, 2, 2)) return;
        Floats({1});
        Indices(1);
        CheckRows(In(0), {});
        if (!error_.empty()) return;
        Expect(In(1), {In(0)[0]}, "the labels");
        Expect(Out(0), {}, "the loss");
        return Expect(Out(1), {}, "the weight");
      case KernelKind::kNllLossBackward:
        if (!Counts(3, 3, 1, 1)) return;
        Floats({1});
        Indices(1);
        CheckRows(Out(0), {});
        if (!error_.empty()) return;
        Expect(In(0), {}, "the loss");
        Expect(In(1), {Out(0)[0]}, "the labels");
        return Expect(In(2), {}, "the weight");
      case KernelKind::kElementwise:
        return CheckElementwise();
      case KernelKind::kSelect:
        if (!Counts(2, 3, 1, 1)) return;
        Floats({0});
        Check(call_.inputs[0].view.dtype == DType::kBool, "a condition that is not bool");
        for (size_t i = 0; i < call_.inputs.size(); ++i) Expect(In(i), Out(0), "an operand");
        return;
      case KernelKind::kDropoutForward:
        if (!Counts(1, 1, 2, 2)) return;
        Floats({-2});
        Check(call_.outputs[1].view.dtype == DType::kBool, "a mask that is not bool");
        Check(call_.params.alpha >= 0 && call_.params.alpha < 1, "a probability not in [0, 1)");
        Expect(Out(0), In(0), "y");
        return Expect(Out(1), In(0), "the mask");
      case KernelKind::kDropoutBackward:
        if (!Counts(2, 2, 1, 1)) return;
        Floats({1});
        Check(call_.inputs[1].view.dtype == DType::kBool, "a mask that is not bool");
        Expect(In(1), In(0), "the mask");
        return Expect(Out(0), In(0), "dx");
      case KernelKind::kRandomUniform:
        if (Counts(0, 0, 1, 1)) Floats();
        return;
      case KernelKind::kFill:
        Counts(0, 0, 1, 1);
        return;
      case KernelKind::kReduce: {
        if (!Counts(1, 1, 1, 1)) return;
        Floats();
        Rank(Out(0), In(0).size(), "the result");
        if (!error_.empty()) return;
        for (size_t i = 0; i < In(0).size(); ++i) {
          Check(Out(0)[i] == 1 || Out(0)[i] == In(0)[i], "an axis that is reduced in part");
        }
        const Function function = call_.params.function;
        return Check(function == Function::kSum || function == Function::kMean ||
                         function == Function::kHalfSumOfSquares,
                     "no reduction");
      }
      case KernelKind::kGather:
        if (!Counts(2, 2, 1, 1)) return;
        Floats({1});
        Indices(1);
        CheckRows(In(0), {});
        Rank(In(1), 1, "the indices");
        if (!error_.empty()) return;
        return Expect(Out(0), {In(1)[0], In(0)[1]}, "the result");
      case KernelKind::kScatterAdd:
        if (!Counts(2, 2, 1, 1)) return;
        Floats({1});
        Indices(1);
        CheckRows(In(0), {});
        CheckRows(Out(0), {});
        Rank(In(1), 1, "the indices");
        if (!error_.empty()) return;
        return Expect(In(0), {In(1)[0], Out(0)[1]}, "the rows");
      case KernelKind::kCopy:
        if (!Counts(1, kAny, call_.inputs.size(), call_.inputs.size())) return;
        for (size_t i = 0; i < call_.inputs.size(); ++i) {
          Expect(Out(i), In(i), "a copy");
          Check(call_.inputs[i].view.dtype == call_.outputs[i].view.dtype,
                "a copy to another dtype");
        }
        return;
      case KernelKind::kMomentum:
        if (Counts(3, 3, 2, 2)) CheckUpdate();
        return;
      case KernelKind::kRmsProp:
      case KernelKind::kAdam:
        if (Counts(4, 4, 3, 3)) CheckUpdate();
        return;
      case KernelKind::kGradientDescent:
        if (Counts(2, 2, 1, 1)) CheckUpdate();
        return;
      case KernelKind::kProxy:
        return;
    }
  }

  void CheckUpdate() {
    Floats();
    for (size_t i = 1; i < call_.inputs.size(); ++i) Expect(In(i), In(0), "an input");
    for (size_t i = 0; i < call_.outputs.size(); ++i) Expect(Out(i), In(0), "an output");
  }

  const KernelCall& call_;
  std::string error_;
};

}  // namespace

std::string WhyMalformed(const KernelCall& call) {
  return Checker(call).Run();
}

}  // namespace emplace

// PyTorch's products, convolutions, poolings, reductions, softmax and losses. Signatures in all
// ATen tables are those of its native_functions.yaml, without the arguments that the exporter
// omits. Images are [n, c, h, w].

#include "profilers/kernels/op_reader.h"
#include "profilers/kernels/shared_rules.h"

namespace emplace::internal {
namespace aten {
namespace {

using std::int64_t;
using Ints = Attributes::Ints;

// One matrix, or a batch of them.
Argument Batched(const Argument& matrix) {
  if (matrix.view.shape.size() == 3) return matrix;
  Require(matrix.view.shape.size() == 2, "a product of tensors that are not matrices");
  TensorView view = matrix.view;
  view.shape.insert(view.shape.begin(), 1);
  view.strides.insert(view.strides.begin(), 0);
  return With(matrix, view);
}

// mm, bmm
void Mm(OpReader& r) {
  r.Emit(KernelKind::kMatmul, {Batched(r.In(0)), Batched(r.In(1))}, {Batched(r.Out(0))});
}

// addmm(bias, a, b), baddbmm(bias, a, b): beta bias + alpha a b
void Addmm(OpReader& r) {
  const double beta = r.attributes().Number("beta", 1), alpha = r.attributes().Number("alpha", 1);
  const Argument out = Batched(r.Out(0));
  const Argument bias = With(r.In(0), Broadcast(r.In(0).view, out.view.shape));
  const std::vector<Argument> factors{Batched(r.In(1)), Batched(r.In(2))};
  if (beta == 1 && alpha == 1 && bias.view.strides[0] == 0 && bias.view.strides[1] == 0) {
    r.Emit(KernelKind::kMatmul, {factors[0], factors[1], bias}, {out});
    return;
  }
  Require(beta == 1 || beta == 0, "a scaled bias");
  r.Emit(KernelKind::kMatmul, factors, {out});
  if (alpha != 1) r.EmitElementwise(Function::kMul, {out}, out, alpha);
  if (beta == 1) r.EmitElementwise(Function::kAdd, {out, bias}, out);
}

// Returns [n, c, w] as the image [n, c, 1, w] of height 1; leaves [n, c, h, w] unchanged.
Argument AsImage(const Argument& argument) {
  if (argument.view.shape.size() != 3) return argument;
  TensorView view = argument.view;
  view.shape.insert(view.shape.begin() + 2, 1);
  view.strides.insert(view.strides.begin() + 2, 0);
  return With(argument, view);
}

// @param filter  as an image
KernelParams ConvParams(OpReader& r, const Argument& filter) {
  const Attributes& attributes = r.attributes();
  Require(filter.view.shape.size() == 4, "a convolution that is not over [h, w]");
  const bool is_line = Rank(r.In(0)) == 3;
  const auto pair = [&](const char* key, int64_t fallback) {
    if (!is_line) return attributes.Pair(key, Ints{fallback, fallback});
    const Ints line = attributes.List(key, Ints{fallback});
    Require(line.size() == 1, "a window of other axes");
    return Ints{fallback, line[0]};
  };
  KernelParams params;
  Window& window = params.window;
  window.size = {filter.view.shape[2], filter.view.shape[3]};
  window.stride = pair("stride", 1);
  window.pad_begin = window.pad_end = pair("padding", 0);
  window.dilation = pair("dilation", 1);
  RequireSane(window);
  params.groups = attributes.Int("groups", 1);
  return params;
}

bool IsTransposed(OpReader& r) {
  return r.attributes().Bool("transposed", false);
}

// convolution(x, w, bias). A transposed convolution is the gradient of another one: y is the image
// whose windows give x
void Convolution(OpReader& r) {
  const Argument x = AsImage(r.In(0)), w = AsImage(r.In(1)), y = AsImage(r.Out(0));
  const KernelParams params = ConvParams(r, w);
  const bool has_bias = r.num_inputs() > 2;
  if (!IsTransposed(r)) {
    std::vector<Argument> inputs{x, w};
    if (has_bias) inputs.push_back(r.In(2));
    r.Emit(KernelKind::kConvForward, std::move(inputs), {y}, params);
    return;
  }
  r.Emit(KernelKind::kConvBackwardData, {x, w}, {y}, params);
  if (!has_bias) return;
  const int64_t channels = y.view.shape[1];
  r.EmitElementwise(
      Function::kAdd, {y, With(r.In(2), Reshape(r.In(2).view, {1, channels, 1, 1}))}, y);
}

// convolution_backward(dy, x, w) -> the results among (dx, dw, dbias) that output_mask selects
void ConvolutionBackward(OpReader& r) {
  const Argument dy = AsImage(r.In(0)), x = AsImage(r.In(1)), w = AsImage(r.In(2));
  const KernelParams params = ConvParams(r, w);
  const bool is_transposed = IsTransposed(r);
  const std::vector<bool> mask =
      r.attributes().Flags("output_mask", {true, true, r.num_outputs() > 2});
  Require(mask.size() == 3, "an output mask without three entries");
  int output = 0;
  if (mask[0]) {
    const Argument dx = AsImage(r.Out(output++));
    r.Emit(is_transposed ? KernelKind::kConvForward : KernelKind::kConvBackwardData,
           {dy, w},
           {dx},
           params);
  }
  if (mask[1]) {
    const Argument dw = AsImage(r.Out(output++));
    r.Emit(KernelKind::kConvBackwardFilter,
           {is_transposed ? dy : x, is_transposed ? x : dy},
           {dw},
           params);
  }
  if (mask[2]) r.EmitReduce(Function::kSum, dy, r.Out(output++), {0, 2, 3});
  Require(output == r.num_outputs(), "outputs that the output mask does not name");
}

// @param image  [n, c, h, w]    @param windows  [n, c, p, q]
KernelParams PoolParams(OpReader& r,
                        const Argument& image,
                        const Argument& windows,
                        bool is_average) {
  const Attributes& attributes = r.attributes();
  KernelParams params;
  Window& window = params.window;
  window.size = attributes.Pair("kernel_size");
  const Ints stride = attributes.List("stride", Ints{});
  window.stride = stride.empty() ? window.size : attributes.Pair("stride");
  window.pad_begin = window.pad_end = attributes.Pair("padding", Ints{0, 0});
  window.dilation = attributes.Pair("dilation", Ints{1, 1});
  window.count_include_pad = attributes.Bool("count_include_pad", true);
  Require(!attributes.Has("divisor_override"), "an average with its own divisor");
  RequireSane(window);
  FitPadding(window, image.view, windows.view, is_average);
  return params;
}

// avg_pool2d(x)
void AvgPool(OpReader& r) {
  const Argument x = r.In(0), y = r.Out(0);
  r.Emit(KernelKind::kAvgPoolForward, {x}, {y}, PoolParams(r, x, y, true));
}

// avg_pool2d_backward(dy, x)
void AvgPoolBackward(OpReader& r) {
  const Argument dy = r.In(0), dx = r.Out(0);
  r.Emit(KernelKind::kAvgPoolBackward, {dy}, {dx}, PoolParams(r, dx, dy, true));
}

// Returns the windows of adaptive pooling. @throws NoKernel unless they divide the image evenly
KernelParams EvenWindows(const Argument& image, const Argument& windows) {
  Require(Rank(image) == 4 && Rank(windows) == 4, "an adaptive pooling that is not over [h, w]");
  KernelParams params;
  for (int i = 0; i < 2; ++i) {
    const int64_t size = image.view.shape[2 + i], count = windows.view.shape[2 + i];
    Require(count > 0 && size % count == 0, "an adaptive pooling of uneven windows");
    params.window.size[i] = params.window.stride[i] = size / count;
  }
  return params;
}

// _adaptive_avg_pool2d(x)
void AdaptiveAvgPool(OpReader& r) {
  r.Emit(KernelKind::kAvgPoolForward, {r.In(0)}, {r.Out(0)}, EvenWindows(r.In(0), r.Out(0)));
}

// _adaptive_avg_pool2d_backward(dy, x)
void AdaptiveAvgPoolBackward(OpReader& r) {
  r.Emit(KernelKind::kAvgPoolBackward, {r.In(0)}, {r.Out(0)}, EvenWindows(r.Out(0), r.In(0)));
}

// max_pool2d_with_indices(x) -> y, indices
void MaxPool(OpReader& r) {
  const Argument x = r.In(0), y = r.Out(0);
  r.Emit(KernelKind::kMaxPoolForward, {x}, {y, r.Out(1)}, PoolParams(r, x, y, false));
}

// max_pool2d_with_indices_backward(dy, x, indices)
void MaxPoolBackward(OpReader& r) {
  const Argument dy = r.In(0), dx = r.Out(0);
  r.Emit(KernelKind::kMaxPoolBackwardIndices, {dy, r.In(2)}, {dx}, PoolParams(r, dx, dy, false));
}

// Rows along an axis.
Argument AlongDim(const Argument& argument, int dim) {
  const int rank = Rank(argument);
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != dim) order.push_back(i);
  }
  order.push_back(dim);
  return AsRows(With(argument, Permute(argument.view, order)));
}

// (x) or (dy, y). _safe_softmax has the same calls, although it gives zeros for rows that are all
// -inf. If the axes on both sides of the softmax axis cannot be joined to rows (classes of pixels),
// each index of the axes before it has its own call
template <KernelKind kKind>
void Softmax(OpReader& r) {
  const std::vector<int64_t> shape = r.Out(0).view.shape;
  const int rank = Rank(r.Out(0)), dim = OpReader::Axis(r.attributes().Int("dim"), rank);
  const int apart = dim == rank - 1 ? 0 : dim;  // axes whose indices have their own calls
  int64_t calls = 1;
  for (int axis = 0; axis < apart; ++axis) calls *= shape[axis];
  Require(calls <= 1024, "a softmax over an inner axis with more than 1024 outer indices");
  for (int64_t call = 0; call < calls; ++call) {
    const auto rows = [&](Argument argument) {
      int64_t index = call;
      for (int axis = apart - 1; axis >= 0; --axis) {
        argument.view = Select(argument.view, axis, index % shape[axis]);
        index /= shape[axis];
      }
      return AlongDim(argument, dim - apart);
    };
    std::vector<Argument> inputs;
    for (int i = 0; i < r.num_inputs(); ++i) {
      Require(r.In(i).view.shape == shape, "a softmax of another shape");
      inputs.push_back(rows(r.In(i)));
    }
    r.Emit(kKind, std::move(inputs), {rows(r.Out(0))});
  }
}

// cumsum(x): rows along "dim", which are contiguous if it is the last or the first axis
void CumulativeSum(OpReader& r) {
  const int dim = OpReader::Axis(r.attributes().Int("dim"), Rank(r.In(0)));
  r.Emit(KernelKind::kCumulativeSum, {AlongDim(r.In(0), dim)}, {AlongDim(r.Out(0), dim)});
}

void RequireMeanLoss(OpReader& r) {
  Require(r.attributes().Int("reduction", 1) == 1, "a loss other than the mean");
}

// Returns [rows, classes], or classes of pixels [n, classes, h, w], as [batch, rows, classes].
Argument AsClasses(const Argument& argument) {
  const std::vector<int64_t>& shape = argument.view.shape;
  if (shape.size() == 2) return With(argument, Reshape(argument.view, {1, shape[0], shape[1]}));
  Require(shape.size() == 4, "classes other than those of rows or pixels");
  const TensorView pixels = Permute(argument.view, {0, 2, 3, 1});
  return With(argument, Reshape(pixels, {shape[0], shape[2] * shape[3], shape[1]}));
}
Argument AsLabels(const Argument& labels, const Argument& classes) {
  const std::vector<int64_t>& shape = classes.view.shape;
  return With(labels, Reshape(labels.view, {shape[0], shape[1]}));
}

// nll_loss_forward(x, labels), nll_loss2d_forward(x, labels) -> loss, total weight
void NllLoss(OpReader& r) {
  RequireMeanLoss(r);
  Require(r.num_inputs() == 2, "a loss with class weights");
  const Argument x = AsClasses(r.In(0));
  r.Emit(KernelKind::kNllLossForward, {x, AsLabels(r.In(1), x)}, {r.Out(0), r.Out(1)});
}

// nll_loss_backward(dloss, x, labels, total weight), nll_loss2d_backward
void NllLossBackward(OpReader& r) {
  RequireMeanLoss(r);
  Require(r.num_inputs() == 4, "a loss with class weights");
  const Argument dx = AsClasses(r.Out(0));
  r.Emit(KernelKind::kNllLossBackward, {r.In(0), AsLabels(r.In(2), dx), r.In(3)}, {dx});
}

// native_dropout(x) -> y, mask
void Dropout(OpReader& r) {
  const KernelParams params{
      .alpha = r.attributes().Bool("train", true) ? r.attributes().Number("p", 0.5) : 0};
  r.Emit(KernelKind::kDropoutForward, {r.In(0)}, {r.Out(0), r.Out(1)}, params);
}

// native_dropout_backward(dy, mask)
void DropoutBackward(OpReader& r) {
  const KernelParams params{.alpha = r.attributes().Number("scale")};
  r.Emit(KernelKind::kDropoutBackward, {r.In(0), r.In(1)}, {r.Out(0)}, params);
}

// sum(x), mean(x)
template <Function kFunction>
void Reduction(OpReader& r) {
  const Argument x = r.In(0);
  const Ints dims = r.attributes().List("dim", Ints{});
  r.EmitReduce(kFunction, x, r.Out(0), dims.empty() ? AllAxes(x) : dims);
}

constexpr WorkRule kRules[] = {
    {"_adaptive_avg_pool2d", AdaptiveAvgPool},
    {"_adaptive_avg_pool2d_backward", AdaptiveAvgPoolBackward},
    {"_log_softmax", Softmax<KernelKind::kLogSoftmax>},
    {"_log_softmax_backward_data", Softmax<KernelKind::kLogSoftmaxBackward>},
    {"_safe_softmax", Softmax<KernelKind::kSoftmax>},
    {"_softmax", Softmax<KernelKind::kSoftmax>},
    {"_softmax_backward_data", Softmax<KernelKind::kSoftmaxBackward>},
    {"addmm", Addmm},
    {"amax", Reduction<Function::kMax>},
    {"avg_pool2d", AvgPool},
    {"avg_pool2d_backward", AvgPoolBackward},
    {"baddbmm", Addmm},
    {"bmm", Mm},
    {"convolution", Convolution},
    {"convolution_backward", ConvolutionBackward},
    {"cumsum", CumulativeSum},
    {"max_pool2d_with_indices", MaxPool},
    {"max_pool2d_with_indices_backward", MaxPoolBackward},
    {"mean", Reduction<Function::kMean>},
    {"mm", Mm},
    {"native_dropout", Dropout},
    {"native_dropout_backward", DropoutBackward},
    {"nll_loss2d_backward", NllLossBackward},
    {"nll_loss2d_forward", NllLoss},
    {"nll_loss_backward", NllLossBackward},
    {"nll_loss_forward", NllLoss},
    {"sum", Reduction<Function::kSum>},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenWork() {
  return aten::kRules;
}

}  // namespace emplace::internal

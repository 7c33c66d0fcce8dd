// PyTorch's ops. Signatures are those of ATen's native_functions.yaml without what the exporter
// leaves out; images are [n, c, h, w].

#include <numeric>

#include <fmt/format.h>

#include "profilers/kernels/op_reader.h"
#include "profilers/kernels/shared_rules.h"
#include "profilers/kernels/windows.h"

namespace emplace::internal {
namespace aten {
namespace {

using std::int64_t;
using Ints = Attributes::Ints;

// One matrix, or a batch of them.
Argument Batched(const Argument& matrix) {
  if (matrix.view.shape.size() == 3) return matrix;
  Require(matrix.view.shape.size() == 2, "a product of tensors that are no matrices");
  TensorView view = matrix.view;
  view.shape.insert(view.shape.begin(), 1);
  view.strides.insert(view.strides.begin(), 0);
  return With(matrix, view);
}

// mm, bmm
void Mm(OpReader& r) {
  r.Emit(KernelKind::kMatmul, {Batched(r.In(0)), Batched(r.In(1))}, {Batched(r.Out(0))});
}

// addmm(bias, a, b)
void Addmm(OpReader& r) {
  Require(r.attributes().Number("beta", 1) == 1 && r.attributes().Number("alpha", 1) == 1,
          "a scaled product");
  const Argument out = Batched(r.Out(0));
  const Argument bias = With(r.In(0), Broadcast(r.In(0).view, out.view.shape));
  const std::vector<Argument> factors{Batched(r.In(1)), Batched(r.In(2))};
  if (bias.view.strides[0] == 0 && bias.view.strides[1] == 0) {
    r.Emit(KernelKind::kMatmul, {factors[0], factors[1], bias}, {out});
    return;
  }
  r.Emit(KernelKind::kMatmul, factors, {out});
  r.EmitElementwise(Function::kAdd, {out, bias}, out);
}

Window ConvWindow(OpReader& r, const Argument& filter) {
  const Attributes& attributes = r.attributes();
  Require(!attributes.Bool("transposed", false), "a transposed convolution");
  Require(filter.view.shape.size() == 4, "a convolution that is not over [h, w]");
  Window window;
  window.size = {filter.view.shape[2], filter.view.shape[3]};
  window.stride = attributes.Pair("stride", Ints{1, 1});
  window.pad_begin = window.pad_end = attributes.Pair("padding", Ints{0, 0});
  window.dilation = attributes.Pair("dilation", Ints{1, 1});
  RequireSane(window);
  return window;
}

// convolution(x, w, bias)
void Convolution(OpReader& r) {
  KernelParams params;
  params.window = ConvWindow(r, r.In(1));
  params.groups = r.attributes().Int("groups", 1);
  r.Emit(KernelKind::kConvForward, r.Inputs(0, r.num_inputs() > 2 ? 3 : 2), {r.Out(0)}, params);
}

// convolution_backward(dy, x, w) -> those of (dx, dw, dbias) that output_mask names
void ConvolutionBackward(OpReader& r) {
  KernelParams params;
  params.window = ConvWindow(r, r.In(2));
  params.groups = r.attributes().Int("groups", 1);
  const Argument dy = r.In(0);
  const std::vector<bool> mask =
      r.attributes().Flags("output_mask", {true, true, r.num_outputs() > 2});
  Require(mask.size() == 3, "an output mask that is not of three");
  int output = 0;
  if (mask[0]) r.Emit(KernelKind::kConvBackwardData, {dy, r.In(2)}, {r.Out(output++)}, params);
  if (mask[1]) r.Emit(KernelKind::kConvBackwardFilter, {r.In(1), dy}, {r.Out(output++)}, params);
  if (mask[2]) r.EmitReduce(Function::kSum, dy, r.Out(output++), {0, 2, 3});
  Require(output == r.num_outputs(), "outputs that the output mask does not name");
}

Window PoolWindow(OpReader& r, const Argument& image, const Argument& windows, bool is_average) {
  const Attributes& attributes = r.attributes();
  Window window;
  window.size = attributes.Pair("kernel_size");
  const Ints stride = attributes.List("stride", Ints{});
  window.stride = stride.empty() ? window.size : attributes.Pair("stride");
  window.pad_begin = window.pad_end = attributes.Pair("padding", Ints{0, 0});
  window.dilation = attributes.Pair("dilation", Ints{1, 1});
  window.count_include_pad = attributes.Bool("count_include_pad", true);
  Require(!attributes.Has("divisor_override"), "an average with a divisor of its own");
  RequireSane(window);
  FitPadding(window, image.view, windows.view, is_average);
  return window;
}

// avg_pool2d(x)
void AvgPool(OpReader& r) {
  KernelParams params;
  params.window = PoolWindow(r, r.In(0), r.Out(0), true);
  r.Emit(KernelKind::kAvgPoolForward, {r.In(0)}, {r.Out(0)}, params);
}

// avg_pool2d_backward(dy, x)
void AvgPoolBackward(OpReader& r) {
  KernelParams params;
  params.window = PoolWindow(r, r.Out(0), r.In(0), true);
  r.Emit(KernelKind::kAvgPoolBackward, {r.In(0)}, {r.Out(0)}, params);
}

// max_pool2d_with_indices(x) -> y, indices
void MaxPool(OpReader& r) {
  KernelParams params;
  params.window = PoolWindow(r, r.In(0), r.Out(0), false);
  r.Emit(KernelKind::kMaxPoolForward, {r.In(0)}, {r.Out(0), r.Out(1)}, params);
}

// max_pool2d_with_indices_backward(dy, x, indices)
void MaxPoolBackward(OpReader& r) {
  KernelParams params;
  params.window = PoolWindow(r, r.Out(0), r.In(0), false);
  r.Emit(KernelKind::kMaxPoolBackwardIndices, {r.In(0), r.In(2)}, {r.Out(0)}, params);
}

// _native_batch_norm_legit_functional(x, scale, offset, mean, variance)
//   -> y, mean, 1 / std, running mean, running variance
void BatchNorm(OpReader& r) {
  Require(r.attributes().Bool("training", true), "batch norm in inference");
  Require(r.num_inputs() == 5, "batch norm without scale, offset or running statistics");
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  params.momentum = r.attributes().Number("momentum", 0.1);
  params.saves_inverse_std = true;
  r.Emit(KernelKind::kBatchNormForward, r.Inputs(0, 5), r.Outputs(0, 5), params);
}

void RequireAllOutputs(OpReader& r) {
  for (const bool wanted : r.attributes().Flags("output_mask", {true, true, true})) {
    Require(wanted, "a gradient that is not wanted");
  }
}

// native_batch_norm_backward(dy, x, scale, running mean, running variance, mean, 1 / std)
void BatchNormBackward(OpReader& r) {
  Require(r.attributes().Bool("train", true), "batch norm in inference");
  Require(r.num_inputs() == 7, "batch norm without scale or running statistics");
  RequireAllOutputs(r);
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  params.saves_inverse_std = true;
  r.Emit(KernelKind::kBatchNormBackward,
         {r.In(0), r.In(1), r.In(2), r.In(5), r.In(6)},
         {r.Out(0), r.Out(1), r.Out(2)},
         params);
}

// Rows as long as `normalized_shape` says.
Argument AsNormalized(const Argument& argument, const Ints& normalized_shape) {
  const int64_t width = std::accumulate(
      normalized_shape.begin(), normalized_shape.end(), int64_t{1}, std::multiplies<>());
  const int64_t elements = argument.view.num_elements();
  Require(width > 0 && elements % width == 0, "rows of another length than normalized_shape");
  return With(argument, Reshape(argument.view, {elements / width, width}));
}

// native_layer_norm(x, scale, offset) -> y, mean, 1 / std
void LayerNorm(OpReader& r) {
  const Ints shape = r.attributes().List("normalized_shape");
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  r.Emit(KernelKind::kLayerNormForward,
         {AsNormalized(r.In(0), shape), AsVector(r.In(1)), AsVector(r.In(2))},
         {AsNormalized(r.Out(0), shape), AsVector(r.Out(1)), AsVector(r.Out(2))},
         params);
}

// native_layer_norm_backward(dy, x, mean, 1 / std, scale, offset)
void LayerNormBackward(OpReader& r) {
  const Ints shape = r.attributes().List("normalized_shape");
  RequireAllOutputs(r);
  r.Emit(KernelKind::kLayerNormBackward,
         {AsNormalized(r.In(0), shape),
          AsNormalized(r.In(1), shape),
          AsVector(r.In(2)),
          AsVector(r.In(3)),
          AsVector(r.In(4))},
         {AsNormalized(r.Out(0), shape), AsVector(r.Out(1)), AsVector(r.Out(2))});
}

// Rows along attribute "dim".
Argument AlongDim(OpReader& r, const Argument& argument) {
  const int rank = Rank(argument);
  const int dim = OpReader::Axis(r.attributes().Int("dim"), rank);
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != dim) order.push_back(i);
  }
  order.push_back(dim);
  return AsRows(With(argument, Permute(argument.view, order)));
}

// (x) or (dy, y)
template <KernelKind kKind>
void Softmax(OpReader& r) {
  std::vector<Argument> inputs;
  for (int i = 0; i < r.num_inputs(); ++i) inputs.push_back(AlongDim(r, r.In(i)));
  r.Emit(kKind, std::move(inputs), {AlongDim(r, r.Out(0))});
}

void RequireMeanLoss(OpReader& r) {
  Require(r.attributes().Int("reduction", 1) == 1, "a loss that is not the mean");
}

// nll_loss_forward(x, labels) -> loss, total weight
void NllLoss(OpReader& r) {
  RequireMeanLoss(r);
  Require(r.num_inputs() == 2, "a loss with class weights");
  r.Emit(KernelKind::kNllLossForward, {r.In(0), r.In(1)}, {r.Out(0), r.Out(1)});
}

// nll_loss_backward(dloss, x, labels, total weight)
void NllLossBackward(OpReader& r) {
  RequireMeanLoss(r);
  Require(r.num_inputs() == 4, "a loss with class weights");
  r.Emit(KernelKind::kNllLossBackward, {r.In(0), r.In(2), r.In(3)}, {r.Out(0)});
}

// (a, b), or (a) with the scalar b as attribute "other"
template <Function kFunction>
void Binary(OpReader& r) {
  const Attributes& attributes = r.attributes();
  Require(attributes.Number("alpha", 1) == 1, "a scaled operand");
  Require(!attributes.Has("rounding_mode"), "a rounded division");
  if (r.num_inputs() == 1) {
    r.EmitElementwise(kFunction, {r.In(0)}, r.Out(0), attributes.Number("other"));
  } else {
    r.EmitElementwise(kFunction, {r.In(0), r.In(1)}, r.Out(0));
  }
}

// sigmoid_backward(dy, y), tanh_backward(dy, y)
template <Function kFunction>
void GradientOfResult(OpReader& r) {
  r.EmitElementwise(kFunction, {r.In(1), r.In(0)}, r.Out(0));
}

// threshold_backward(dy, y)
void ThresholdBackward(OpReader& r) {
  r.EmitElementwise(
      Function::kReluGrad, {r.In(0), r.In(1)}, r.Out(0), r.attributes().Number("threshold", 0));
}

bool IsTanhGelu(OpReader& r) {
  const std::string how = r.attributes().Text("approximate", "none");
  Require(how == "none" || how == "tanh", "an unknown approximation of GELU");
  return how == "tanh";
}

// gelu(x)
void Gelu(OpReader& r) {
  r.EmitElementwise(IsTanhGelu(r) ? Function::kGeluTanh : Function::kGelu, {r.In(0)}, r.Out(0));
}

// gelu_backward(dy, x)
void GeluBackward(OpReader& r) {
  r.EmitElementwise(
      IsTanhGelu(r) ? Function::kGeluTanhGrad : Function::kGeluGrad, {r.In(0), r.In(1)}, r.Out(0));
}

// native_dropout(x) -> y, mask
void Dropout(OpReader& r) {
  KernelParams params;
  params.alpha = r.attributes().Bool("train", true) ? r.attributes().Number("p", 0.5) : 0;
  r.Emit(KernelKind::kDropoutForward, {r.In(0)}, {r.Out(0), r.Out(1)}, params);
}

// native_dropout_backward(dy, mask)
void DropoutBackward(OpReader& r) {
  KernelParams params;
  params.alpha = r.attributes().Number("scale");
  r.Emit(KernelKind::kDropoutBackward, {r.In(0), r.In(1)}, {r.Out(0)}, params);
}

// embedding(table, indices)
void Embedding(OpReader& r) {
  r.Emit(KernelKind::kGather, {r.In(0), AsVector(r.In(1))}, {AsRows(r.Out(0))});
}

// embedding_dense_backward(dy, indices)
void EmbeddingBackward(OpReader& r) {
  Require(r.attributes().Int("padding_idx", -1) == -1, "an embedding with padding");
  Require(!r.attributes().Bool("scale_grad_by_freq", false), "gradients scaled by frequency");
  KernelParams params;
  params.alpha = 1;
  params.zero_output = true;
  r.Emit(KernelKind::kScatterAdd, {AsRows(r.In(0)), AsVector(r.In(1))}, {AsRows(r.Out(0))}, params);
}

// masked_fill(x, mask), value as attribute "value" or as a third input
void MaskedFill(OpReader& r) {
  const Argument out = r.Out(0);
  KernelParams params;
  std::vector<Argument> inputs{Spread(r.In(1), out)};
  if (r.num_inputs() > 2) {
    inputs.push_back(Spread(r.In(2), out));
  } else {
    params.alpha = r.attributes().Number("value");
  }
  inputs.push_back(Spread(r.In(0), out));
  r.Emit(KernelKind::kSelect, std::move(inputs), {out}, params);
}

// cat(parts...)
void Cat(OpReader& r) {
  const Argument whole = r.Out(0);
  const int axis = OpReader::Axis(r.attributes().Int("dim", 0), Rank(whole));
  r.EmitParts(whole, r.Inputs(0, r.num_inputs()), axis, true);
}

// stack(parts...): each is one step along a new axis
void Stack(OpReader& r) {
  const Argument whole = r.Out(0);
  const int axis = OpReader::Axis(r.attributes().Int("dim", 0), Rank(whole));
  std::vector<Argument> windows;
  for (int i = 0; i < r.num_inputs(); ++i) {
    windows.push_back(With(whole, Select(whole.view, axis, i)));
  }
  r.Emit(KernelKind::kCopy, r.Inputs(0, r.num_inputs()), std::move(windows));
}

// clone(x), contiguous(x)
void Clone(OpReader& r) {
  r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
}

// copy(old, new)
void Copy(OpReader& r) {
  r.Emit(KernelKind::kCopy, {Spread(r.In(1), r.Out(0))}, {r.Out(0)});
}

// _to_copy(x)
void ToCopy(OpReader& r) {
  if (r.In(0).view.dtype == r.Out(0).view.dtype) return Clone(r);
  r.EmitElementwise(Function::kCast, {r.In(0)}, r.Out(0));
}

// full(), full_like(x)
void Full(OpReader& r) {
  r.EmitFill(r.attributes().Number("fill_value"));
}

// sum(x), mean(x)
template <Function kFunction>
void Reduction(OpReader& r) {
  const Argument x = r.In(0);
  const Ints dims = r.attributes().List("dim", Ints{});
  r.EmitReduce(kFunction, x, r.Out(0), dims.empty() ? AllAxes(x) : dims);
}

// slice_backward(dy)
void SliceBackward(OpReader& r) {
  const Attributes& attributes = r.attributes();
  const Argument out = r.Out(0), dy = r.In(0);
  const int dim = OpReader::Axis(attributes.Int("dim"), Rank(out));
  Require(Rank(dy) == Rank(out), "a slice of another rank");
  int64_t start = attributes.Int("start", 0);
  if (start < 0) start += out.view.shape[dim];
  r.EmitZeroPadded(
      dy, out, Slice(out.view, dim, start, dy.view.shape[dim], attributes.Int("step", 1)));
}

// select_backward(dy)
void SelectBackward(OpReader& r) {
  const Argument out = r.Out(0);
  const int dim = OpReader::Axis(r.attributes().Int("dim"), Rank(out));
  const int index = OpReader::Axis(r.attributes().Int("index"), out.view.shape[dim]);
  r.EmitZeroPadded(r.In(0), out, Select(out.view, dim, index));
}

// expand(x) and the like with an output of its own
void SpreadCopy(OpReader& r) {
  r.Emit(KernelKind::kCopy, {Spread(r.In(0), r.Out(0))}, {r.Out(0)});
}

// rand(), rand_like(x), uniform(x)
void Random(OpReader& r) {
  Require(r.attributes().Number("from", 0) == 0 && r.attributes().Number("to", 1) == 1,
          "random numbers of another range");
  r.Emit(KernelKind::kRandomUniform, {}, {r.Out(0)});
}

constexpr WorkRule kRules[] = {
    {"_log_softmax", Softmax<KernelKind::kLogSoftmax>},
    {"_log_softmax_backward_data", Softmax<KernelKind::kLogSoftmaxBackward>},
    {"_native_batch_norm_legit_functional", BatchNorm},
    {"_softmax", Softmax<KernelKind::kSoftmax>},
    {"_softmax_backward_data", Softmax<KernelKind::kSoftmaxBackward>},
    {"_to_copy", ToCopy},
    {"add", Binary<Function::kAdd>},
    {"addmm", Addmm},
    {"avg_pool2d", AvgPool},
    {"avg_pool2d_backward", AvgPoolBackward},
    {"bmm", Mm},
    {"cat", Cat},
    {"clone", Clone},
    {"contiguous", Clone},
    {"convolution", Convolution},
    {"convolution_backward", ConvolutionBackward},
    {"copy", Copy},
    {"div", Binary<Function::kDiv>},
    {"embedding", Embedding},
    {"embedding_dense_backward", EmbeddingBackward},
    {"exp", Unary<Function::kExp>},
    {"expand_copy", SpreadCopy},
    {"full", Full},
    {"full_like", Full},
    {"ge", Binary<Function::kGreaterEqual>},
    {"gelu", Gelu},
    {"gelu_backward", GeluBackward},
    {"log", Unary<Function::kLog>},
    {"masked_fill", MaskedFill},
    {"max_pool2d_with_indices", MaxPool},
    {"max_pool2d_with_indices_backward", MaxPoolBackward},
    {"maximum", Binary<Function::kMaximum>},
    {"mean", Reduction<Function::kMean>},
    {"minimum", Binary<Function::kMinimum>},
    {"mm", Mm},
    {"mul", Binary<Function::kMul>},
    {"native_batch_norm_backward", BatchNormBackward},
    {"native_dropout", Dropout},
    {"native_dropout_backward", DropoutBackward},
    {"native_layer_norm", LayerNorm},
    {"native_layer_norm_backward", LayerNormBackward},
    {"neg", Unary<Function::kNeg>},
    {"new_full", Full},
    {"new_ones", Constant<1>},
    {"new_zeros", Constant<0>},
    {"nll_loss_backward", NllLossBackward},
    {"nll_loss_forward", NllLoss},
    {"ones", Constant<1>},
    {"ones_like", Constant<1>},
    {"rand", Random},
    {"rand_like", Random},
    {"relu", Unary<Function::kRelu>},
    {"rsub", Binary<Function::kReverseSub>},
    {"select_backward", SelectBackward},
    {"sigmoid", Unary<Function::kSigmoid>},
    {"sigmoid_backward", GradientOfResult<Function::kSigmoidGrad>},
    {"slice_backward", SliceBackward},
    {"sqrt", Unary<Function::kSqrt>},
    {"stack", Stack},
    {"sub", Binary<Function::kSub>},
    {"sum", Reduction<Function::kSum>},
    {"tanh", Unary<Function::kTanh>},
    {"tanh_backward", GradientOfResult<Function::kTanhGrad>},
    {"threshold_backward", ThresholdBackward},
    {"uniform", Random},
    {"where", Where},
    {"zeros", Constant<0>},
    {"zeros_like", Constant<0>},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenWork() {
  return aten::kRules;
}

}  // namespace emplace::internal

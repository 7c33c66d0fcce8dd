// TensorFlow's ops. Images are NHWC unless data_format says otherwise, filters [h, w, c, k],
// depthwise filters [h, w, c, multiplier].

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "profilers/kernels/op_reader.h"
#include "profilers/kernels/shared_rules.h"

namespace emplace::internal {
namespace tensorflow {
namespace {

using std::int64_t;
using Ints = Attributes::Ints;

void Square(OpReader& r) {
  r.EmitElementwise(Function::kMul, {r.In(0), r.In(0)}, r.Out(0));
}

void Relu6(OpReader& r) {
  r.EmitElementwise(Function::kMaximum, {r.In(0)}, r.Out(0), 0);
  r.EmitElementwise(Function::kMinimum, {r.Out(0)}, r.Out(0), 6);
}

void AddN(OpReader& r) {
  r.EmitElementwise(Function::kAdd, r.Inputs(0, r.num_inputs()), r.Out(0));
}

Argument Transposed(const Argument& matrix, bool is_transposed) {
  const int rank = Rank(matrix);
  Require(rank >= 2, "a product of tensors that are not matrices");
  TensorView view = matrix.view;
  if (is_transposed) {
    std::swap(view.shape[rank - 1], view.shape[rank - 2]);
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  }
  const Ints batch(view.shape.begin(), view.shape.end() - 2);
  const int64_t count =
      std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
  return With(matrix, Reshape(view, {count, view.shape[rank - 2], view.shape[rank - 1]}));
}

void EmitMatMul(OpReader& r, std::string_view transpose_a, std::string_view transpose_b) {
  const Attributes& attributes = r.attributes();
  r.Emit(KernelKind::kMatmul,
         {Transposed(r.In(0), attributes.Bool(transpose_a, false)),
          Transposed(r.In(1), attributes.Bool(transpose_b, false))},
         {Transposed(r.Out(0), false)});
}

void MatMul(OpReader& r) {
  EmitMatMul(r, "transpose_a", "transpose_b");
}

void BatchMatMul(OpReader& r) {
  EmitMatMul(r, "adj_x", "adj_y");
}

std::string DataFormat(const OpReader& r) {
  return r.attributes().Text("data_format", "NHWC");
}

Argument ImageOf(const OpReader& r, const Argument& argument) {
  return Image(argument, DataFormat(r));
}

// Returns [h, w] of a list over all four axes, whose other values must be 1.
Ints Spatial(const OpReader& r, std::string_view key, std::optional<Ints> fallback = {}) {
  const Ints values = r.attributes().List(key, std::move(fallback));
  const bool is_nchw = DataFormat(r) == "NCHW";
  Require(values.size() == 4, fmt::format("attribute \"{}\" without four values", key));
  Require(values[0] == 1 && values[is_nchw ? 1 : 3] == 1,
          fmt::format("attribute \"{}\" over images or channels", key));
  return is_nchw ? Ints{values[2], values[3]} : Ints{values[1], values[2]};
}

// @param image  [n, c, h, w]  @param size  of the window
Window MakeWindow(const OpReader& r, const Argument& image, const Ints& size) {
  Window window;
  window.size = size;
  window.stride = Spatial(r, "strides");
  window.dilation = Spatial(r, "dilations", Ints{1, 1, 1, 1});
  window.count_include_pad = false;
  RequireSane(window);
  const std::string padding = r.attributes().Text("padding");
  if (padding == "SAME") {
    for (int i = 0; i < 2; ++i) {
      const Padding pad = SamePadding(
          image.view.shape[2 + i], window.size[i], window.stride[i], window.dilation[i]);
      window.pad_begin[i] = pad.begin;
      window.pad_end[i] = pad.end;
    }
  } else if (padding == "EXPLICIT") {
    const Ints pads = r.attributes().List("explicit_paddings");
    Require(pads.size() == 8, "explicit paddings without eight values");
    const int first = DataFormat(r) == "NCHW" ? 4 : 2;
    for (int i = 0; i < 2; ++i) {
      window.pad_begin[i] = pads[first + 2 * i];
      window.pad_end[i] = pads[first + 2 * i + 1];
    }
  } else {
    Require(padding == "VALID", "a padding other than SAME, VALID or EXPLICIT");
  }
  RequireSane(window);
  return window;
}

// Returns a filter as [k, c / groups, h, w].
Argument Filter(const Argument& filter, bool is_depthwise) {
  Require(Rank(filter) == 4, "a convolution that is not over [h, w]");
  if (!is_depthwise) return With(filter, Permute(filter.view, {3, 2, 0, 1}));
  const Ints& shape = filter.view.shape;
  const TensorView joined =
      Reshape(filter.view, {shape[0], shape[1], shape[2] * shape[3], 1});  // k = c * multiplier + m
  return With(filter, Permute(joined, {2, 3, 0, 1}));
}

struct ConvArguments {
  Argument x, w, y;
};

ConvArguments ReadConv(OpReader& r,
                       const Argument& x,
                       const Argument& w,
                       const Argument& y,
                       bool is_depthwise,
                       KernelParams& params) {
  ConvArguments conv{ImageOf(r, x), Filter(w, is_depthwise), ImageOf(r, y)};
  const Ints& filter = conv.w.view.shape;
  params.window = MakeWindow(r, conv.x, {filter[2], filter[3]});
  Require(filter[1] > 0 && conv.x.view.shape[1] % filter[1] == 0,
          "a filter that does not fit the channels");
  params.groups = conv.x.view.shape[1] / filter[1];
  return conv;
}

// Conv2D(x, w)
template <bool kDepthwise>
void Conv(OpReader& r) {
  KernelParams params;
  const ConvArguments c = ReadConv(r, r.In(0), r.In(1), r.Out(0), kDepthwise, params);
  r.Emit(KernelKind::kConvForward, {c.x, c.w}, {c.y}, params);
}

// Conv2DBackpropInput(sizes, w, dy)
template <bool kDepthwise>
void ConvBackwardData(OpReader& r) {
  KernelParams params;
  const ConvArguments c = ReadConv(r, r.Out(0), r.In(1), r.In(2), kDepthwise, params);
  r.Emit(KernelKind::kConvBackwardData, {c.y, c.w}, {c.x}, params);
}

// Conv2DBackpropFilter(x, sizes, dy)
template <bool kDepthwise>
void ConvBackwardFilter(OpReader& r) {
  KernelParams params;
  const ConvArguments c = ReadConv(r, r.In(0), r.Out(0), r.In(2), kDepthwise, params);
  r.Emit(KernelKind::kConvBackwardFilter, {c.x, c.y}, {c.w}, params);
}

KernelParams PoolParams(const OpReader& r, const Argument& image) {
  return {.window = MakeWindow(r, image, Spatial(r, "ksize"))};
}

// MaxPool(x), AvgPool(x)
template <KernelKind kKind>
void Pool(OpReader& r) {
  const Argument x = ImageOf(r, r.In(0));
  r.Emit(kKind, {x}, {ImageOf(r, r.Out(0))}, PoolParams(r, x));
}

// MaxPoolGrad(x, y, dy)
void MaxPoolGrad(OpReader& r) {
  const Argument x = ImageOf(r, r.In(0));
  r.Emit(KernelKind::kMaxPoolBackward,
         {x, ImageOf(r, r.In(1)), ImageOf(r, r.In(2))},
         {ImageOf(r, r.Out(0))},
         PoolParams(r, x));
}

// AvgPoolGrad(sizes, dy)
void AvgPoolGrad(OpReader& r) {
  const Argument dx = ImageOf(r, r.Out(0));
  r.Emit(KernelKind::kAvgPoolBackward, {ImageOf(r, r.In(1))}, {dx}, PoolParams(r, dx));
}

KernelParams NormParams(const OpReader& r) {
  Require(r.attributes().Bool("is_training", true), "batch norm in inference");
  return {.epsilon = r.attributes().Number("epsilon", 1e-4), .saves_inverse_std = true};
}

// FusedBatchNormV3(x, scale, offset, mean, variance)
//   -> y, mean, variance, reserved: mean, 1 / std (inputs of the gradient), nothing
void BatchNorm(OpReader& r) {
  Require(r.attributes().Number("exponential_avg_factor", 1) == 1, "running averages");
  r.Emit(KernelKind::kBatchNormForward,
         {ImageOf(r, r.In(0)), r.In(1), r.In(2)},
         {ImageOf(r, r.Out(0)), r.Out(3), r.Out(4), r.Out(1), r.Out(2)},
         NormParams(r));
}

// FusedBatchNormGradV3(dy, x, scale, mean, 1 / std, nothing) -> dx, dscale, doffset, nothing
void BatchNormGrad(OpReader& r) {
  r.Emit(KernelKind::kBatchNormBackward,
         {ImageOf(r, r.In(0)), ImageOf(r, r.In(1)), r.In(2), r.In(3), r.In(4)},
         {ImageOf(r, r.Out(0)), r.Out(1), r.Out(2)},
         NormParams(r));
}

int ChannelAxis(const OpReader& r, const Argument& x) {
  Require(Rank(x) >= 2, "a bias for a tensor without channels");
  return DataFormat(r) == "NCHW" ? 1 : Rank(x) - 1;
}

// BiasAdd(x, bias)
void BiasAdd(OpReader& r) {
  const Argument x = r.In(0);
  Argument bias = r.In(1);
  Ints shape(x.view.shape.size(), 1);
  shape[ChannelAxis(r, x)] = bias.view.num_elements();
  r.EmitElementwise(Function::kAdd, {x, With(bias, Reshape(bias.view, shape))}, r.Out(0));
}

// BiasAddGrad(dy)
void BiasAddGrad(OpReader& r) {
  const Argument dy = r.In(0);
  Ints axes = AllAxes(dy);
  axes.erase(axes.begin() + ChannelAxis(r, dy));
  r.EmitReduce(Function::kSum, dy, r.Out(0), axes);
}

// Sum(x, axes), Mean(x, axes)
template <Function kFunction>
void Reduction(OpReader& r) {
  const Argument x = r.In(0);
  r.EmitReduce(kFunction, x, r.Out(0), r.attributes().List("axis", AllAxes(x)));
}

void L2Loss(OpReader& r) {
  const Argument x = r.In(0);
  r.EmitReduce(Function::kHalfSumOfSquares, x, r.Out(0), AllAxes(x));
}

// Softmax(x)
template <KernelKind kKind>
void Softmax(OpReader& r) {
  r.Emit(kKind, {AsRows(r.In(0))}, {AsRows(r.Out(0))});
}

// (logits, labels) -> loss, dlogits
void SparseCrossEntropy(OpReader& r) {
  r.Emit(KernelKind::kSparseCrossEntropy, {r.In(0), r.In(1)}, {r.Out(0), r.Out(1)});
}

// RandomUniform(shape)
void RandomUniform(OpReader& r) {
  r.Emit(KernelKind::kRandomUniform, {}, {r.Out(0)});
}

// Assign(variable, value)
void Assign(OpReader& r) {
  r.Emit(KernelKind::kCopy, {r.In(1)}, {r.Out(0)});
}

// ConcatV2(parts..., axis)
void Concat(OpReader& r) {
  const Argument whole = r.Out(0);
  Require(r.num_inputs() > 1, "a concatenation of nothing");
  const int axis = OpReader::Axis(r.attributes().Int("axis"), Rank(whole));
  r.EmitParts(whole, r.Inputs(0, r.num_inputs() - 1), axis, true);
}

// Split(axis, x)
void Split(OpReader& r) {
  const Argument whole = r.In(1);
  r.EmitParts(whole,
              r.Outputs(0, r.num_outputs()),
              OpReader::Axis(r.attributes().Int("axis"), Rank(whole)),
              false);
}

// Returns the axis along which the parts fill the whole, if the attribute is missing.
int SplitAxis(const OpReader& r, const Argument& whole, const std::vector<Argument>& parts) {
  if (r.attributes().Has("axis")) {
    return OpReader::Axis(r.attributes().Int("axis"), Rank(whole));
  }
  for (int axis = 0; axis < Rank(whole); ++axis) {
    int64_t sum = 0;
    for (const Argument& part : parts) {
      sum += Rank(part) == Rank(whole) ? part.view.shape[axis] : 0;
    }
    if (sum == whole.view.shape[axis]) return axis;
  }
  throw NoKernel{"parts that do not fill the whole"};
}

// SplitV(x, sizes, axis)
void SplitV(OpReader& r) {
  const Argument whole = r.In(0);
  const std::vector<Argument> parts = r.Outputs(0, r.num_outputs());
  r.EmitParts(whole, parts, SplitAxis(r, whole, parts), false);
}

// Returns the parts of a whole along an axis that the parts lack.
std::vector<Argument> Steps(const OpReader& r, const Argument& whole, size_t count) {
  const int axis = OpReader::Axis(r.attributes().Int("axis", 0), Rank(whole));
  Require(whole.view.shape[axis] == static_cast<int64_t>(count),
          "parts that do not fill the whole");
  std::vector<Argument> steps;
  for (size_t i = 0; i < count; ++i) {
    steps.push_back(With(whole, Select(whole.view, axis, static_cast<int64_t>(i))));
  }
  return steps;
}

// Pack(parts...)
void Pack(OpReader& r) {
  std::vector<Argument> parts = r.Inputs(0, r.num_inputs());
  std::vector<Argument> steps = Steps(r, r.Out(0), parts.size());
  r.Emit(KernelKind::kCopy, std::move(parts), std::move(steps));
}

// Unpack(x)
void Unpack(OpReader& r) {
  std::vector<Argument> parts = r.Outputs(0, r.num_outputs());
  std::vector<Argument> steps = Steps(r, r.In(0), parts.size());
  r.Emit(KernelKind::kCopy, std::move(steps), std::move(parts));
}

// Slice(x, begin, size); a begin computed by another op is taken as 0
void SliceOp(OpReader& r) {
  const Argument out = r.Out(0);
  Argument x = r.In(0);
  const Ints begin = r.attributes().List("begin", Ints(x.view.shape.size(), 0));
  Require(begin.size() == x.view.shape.size() && Rank(out) == Rank(x), "a slice of another rank");
  for (int axis = 0; axis < Rank(x); ++axis) {
    x.view = Slice(x.view, axis, begin[axis], out.view.shape[axis]);
  }
  r.Emit(KernelKind::kCopy, {x}, {out});
}

// Returns the part of `whole` that StridedSlice reads, without the axes that it removes.
TensorView StridedWindow(const OpReader& r, const TensorView& whole) {
  const Attributes& attributes = r.attributes();
  Require(attributes.Int("ellipsis_mask", 0) == 0 && attributes.Int("new_axis_mask", 0) == 0,
          "a slice with ellipsis or new axes");
  const Ints begin = attributes.List("begin"), end = attributes.List("end");
  const Ints strides = attributes.List("strides", Ints(begin.size(), 1));
  const int64_t begin_mask = attributes.Int("begin_mask", 0);
  const int64_t end_mask = attributes.Int("end_mask", 0);
  const int64_t shrink_mask = attributes.Int("shrink_axis_mask", 0);
  Require(begin.size() == end.size() && begin.size() == strides.size() &&
              begin.size() <= whole.shape.size() && begin.size() < 63,
          "a slice of another rank");
  TensorView window = whole;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    const int64_t size = whole.shape[axis], bit = int64_t{1} << axis;
    Require(strides[axis] > 0, "a slice that runs backwards");
    const int64_t first = (begin_mask & bit) != 0 ? 0 : ClampIndex(begin[axis], size);
    const int64_t last = (shrink_mask & bit) != 0 ? first + 1
                         : (end_mask & bit) != 0  ? size
                                                  : ClampIndex(end[axis], size);
    const int64_t count = std::max<int64_t>(0, (last - first + strides[axis] - 1) / strides[axis]);
    window = Slice(window, static_cast<int>(axis), first, count, strides[axis]);
  }
  TensorView shrunk = window;
  for (size_t axis = begin.size(); axis-- > 0;) {
    if ((shrink_mask >> axis & 1) == 0) continue;
    shrunk.shape.erase(shrunk.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    shrunk.strides.erase(shrunk.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return shrunk;
}

// StridedSlice(x, begin, end, strides)
void StridedSlice(OpReader& r) {
  const Argument x = r.In(0);
  r.Emit(KernelKind::kCopy, {With(x, StridedWindow(r, x.view))}, {r.Out(0)});
}

// StridedSliceGrad(shape, begin, end, strides, dy)
void StridedSliceGrad(OpReader& r) {
  const Argument out = r.Out(0);
  r.EmitZeroPadded(r.In(4), out, StridedWindow(r, out.view));
}

// Pad(x, paddings)
void Pad(OpReader& r) {
  const Argument x = r.In(0), out = r.Out(0);
  const std::vector<Ints> paddings = r.attributes().Pairs("paddings");
  Require(paddings.size() == x.view.shape.size() && Rank(out) == Rank(x),
          "paddings of another rank");
  TensorView window = out.view;
  for (int axis = 0; axis < Rank(x); ++axis) {
    Require(paddings[axis][0] + x.view.shape[axis] + paddings[axis][1] == out.view.shape[axis],
            "paddings that do not fit the result");
    window = Slice(window, axis, paddings[axis][0], x.view.shape[axis]);
  }
  r.EmitZeroPadded(x, out, window);
}

// Tile(x, multiples)
void Tile(OpReader& r) {
  r.EmitTile(r.In(0), r.Out(0));
}

// Transpose(x, perm)
void Transpose(OpReader& r) {
  const Argument x = r.In(0);
  std::vector<int> order;
  for (const int64_t axis : r.attributes().List("perm")) {
    order.push_back(OpReader::Axis(axis, Rank(x)));
  }
  r.Emit(KernelKind::kCopy, {With(x, Permute(x.view, order))}, {r.Out(0)});
}

// Returns a table [v, ...] as rows [v, width].
Argument Table(const Argument& table) {
  Require(Rank(table) >= 1 && table.view.shape[0] > 0, "a table without rows");
  return RowsAlong(table, 0);
}

// GatherV2(table, indices, axis)
void Gather(OpReader& r) {
  Require(r.attributes().Int("axis", 0) == 0 && r.attributes().Int("batch_dims", 0) == 0,
          "a gather of elements other than rows");
  const Argument indices = r.In(1);
  r.Emit(KernelKind::kGather, {Table(r.In(0)), AsVector(indices)}, {RowsFor(r.Out(0), indices)});
}

// UnsortedSegmentSum(rows, indices, number)
void SegmentSum(OpReader& r) {
  const Argument indices = r.In(1);
  const KernelParams params{.alpha = 1, .zero_output = true};
  r.Emit(KernelKind::kScatterAdd,
         {RowsFor(r.In(0), indices), AsVector(indices)},
         {Table(r.Out(0))},
         params);
}

// ScatterAdd(table, indices, rows)
template <int kSign>
void Scatter(OpReader& r) {
  const Argument indices = r.In(1), table = r.Out(0);
  if (!r.IsInPlace(0, 0)) r.Emit(KernelKind::kCopy, {r.In(0)}, {table});
  const KernelParams params{.alpha = kSign};
  r.Emit(KernelKind::kScatterAdd,
         {RowsFor(r.In(2), indices), AsVector(indices)},
         {Table(table)},
         params);
}

constexpr WorkRule kRules[] = {
    {"Abs", Unary<Function::kAbs>},
    {"Add", OfTwo<Function::kAdd>},
    {"AddN", AddN},
    {"AddV2", OfTwo<Function::kAdd>},
    {"Assign", Assign},
    {"AssignAdd", OfTwo<Function::kAdd>},
    {"AssignSub", OfTwo<Function::kSub>},
    {"AvgPool", Pool<KernelKind::kAvgPoolForward>},
    {"AvgPoolGrad", AvgPoolGrad},
    {"BatchMatMul", BatchMatMul},
    {"BatchMatMulV2", BatchMatMul},
    {"BiasAdd", BiasAdd},
    {"BiasAddGrad", BiasAddGrad},
    {"Cast", Unary<Function::kCast>},
    {"ConcatV2", Concat},
    {"Conv2D", Conv<false>},
    {"Conv2DBackpropFilter", ConvBackwardFilter<false>},
    {"Conv2DBackpropInput", ConvBackwardData<false>},
    {"Cos", Unary<Function::kCos>},
    {"DepthwiseConv2dNative", Conv<true>},
    {"DepthwiseConv2dNativeBackpropFilter", ConvBackwardFilter<true>},
    {"DepthwiseConv2dNativeBackpropInput", ConvBackwardData<true>},
    {"Equal", OfTwo<Function::kEqual>},
    {"Erf", Unary<Function::kErf>},
    {"Exp", Unary<Function::kExp>},
    {"Fill", SpreadCopy<1>},
    {"Floor", Unary<Function::kFloor>},
    {"FusedBatchNormGradV3", BatchNormGrad},
    {"FusedBatchNormV3", BatchNorm},
    {"GatherV2", Gather},
    {"Greater", OfTwo<Function::kGreater>},
    {"GreaterEqual", OfTwo<Function::kGreaterEqual>},
    {"L2Loss", L2Loss},
    {"Less", OfTwo<Function::kLess>},
    {"LessEqual", OfTwo<Function::kLessEqual>},
    {"Log", Unary<Function::kLog>},
    {"LogSoftmax", Softmax<KernelKind::kLogSoftmax>},
    {"LogicalAnd", OfTwo<Function::kAnd>},
    {"LogicalNot", Unary<Function::kNot>},
    {"LogicalOr", OfTwo<Function::kOr>},
    {"MatMul", MatMul},
    {"Max", Reduction<Function::kMax>},
    {"MaxPool", Pool<KernelKind::kMaxPoolForward>},
    {"MaxPoolGrad", MaxPoolGrad},
    {"Maximum", OfTwo<Function::kMaximum>},
    {"Mean", Reduction<Function::kMean>},
    {"Minimum", OfTwo<Function::kMinimum>},
    {"Mul", OfTwo<Function::kMul>},
    {"Neg", Unary<Function::kNeg>},
    {"NotEqual", OfTwo<Function::kNotEqual>},
    {"OnesLike", Constant<1>},
    {"Pack", Pack},
    {"Pad", Pad},
    {"Pow", OfTwo<Function::kPow>},
    {"RandomUniform", RandomUniform},
    {"RealDiv", OfTwo<Function::kDiv>},
    {"Relu", Unary<Function::kRelu>},
    {"Relu6", Relu6},
    {"ReluGrad", OfTwo<Function::kReluGrad>},
    {"Rsqrt", Unary<Function::kRsqrt>},
    {"ScatterAdd", Scatter<1>},
    {"ScatterSub", Scatter<-1>},
    {"SelectV2", Where},
    {"Sigmoid", Unary<Function::kSigmoid>},
    {"SigmoidGrad", OfTwo<Function::kSigmoidGrad>},
    {"Sin", Unary<Function::kSin>},
    {"Slice", SliceOp},
    {"Softmax", Softmax<KernelKind::kSoftmax>},
    {"Softplus", Unary<Function::kSoftplus>},
    {"SoftplusGrad", OfTwo<Function::kSoftplusGrad>},
    {"SparseSoftmaxCrossEntropyWithLogits", SparseCrossEntropy},
    {"Split", Split},
    {"SplitV", SplitV},
    {"Sqrt", Unary<Function::kSqrt>},
    {"Square", Square},
    {"StridedSlice", StridedSlice},
    {"StridedSliceGrad", StridedSliceGrad},
    {"Sub", OfTwo<Function::kSub>},
    {"Sum", Reduction<Function::kSum>},
    {"Tanh", Unary<Function::kTanh>},
    {"TanhGrad", OfTwo<Function::kTanhGrad>},
    {"Tile", Tile},
    {"Transpose", Transpose},
    {"Unpack", Unpack},
    {"UnsortedSegmentSum", SegmentSum},
    {"ZerosLike", Constant<0>},
};

}  // namespace
}  // namespace tensorflow

std::span<const WorkRule> TensorFlowWork() {
  return tensorflow::kRules;
}

}  // namespace emplace::internal

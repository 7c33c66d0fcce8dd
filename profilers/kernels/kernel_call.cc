#include "profilers/kernels/kernel_call.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace emplace {
namespace {

constexpr std::array<std::string_view, 4> kDTypeNames{"f32", "i32", "i64", "bool"};

}  // namespace

std::string_view ToString(DType dtype) {
  return kDTypeNames[static_cast<size_t>(dtype)];
}

std::optional<DType> ParseDType(std::string_view text) {
  for (size_t i = 0; i < kDTypeNames.size(); ++i) {
    if (kDTypeNames[i] == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
    case DType::kBool:
      return 1;
  }
  std::abort();
}

std::int64_t TensorView::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t TensorView::span_bytes() const {
  if (num_elements() == 0) return 0;
  std::int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return (last + 1) * SizeOf(dtype);
}

std::int64_t TensorView::end_bytes() const {
  return num_elements() == 0 ? 0 : offset * SizeOf(dtype) + span_bytes();
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

TensorView ContiguousView(DType dtype, std::vector<std::int64_t> shape) {
  TensorView view{.dtype = dtype, .shape = std::move(shape)};
  view.strides.resize(view.shape.size());
  std::int64_t stride = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}

std::string_view ToString(KernelKind kind) {
  switch (kind) {
    case KernelKind::kMatmul:
      return "matmul";
    case KernelKind::kConvForward:
      return "conv_forward";
    case KernelKind::kConvBackwardData:
      return "conv_backward_data";
    case KernelKind::kConvBackwardFilter:
      return "conv_backward_filter";
    case KernelKind::kMaxPoolForward:
      return "max_pool_forward";
    case KernelKind::kMaxPoolBackward:
      return "max_pool_backward";
    case KernelKind::kMaxPoolBackwardIndices:
      return "max_pool_backward_indices";
    case KernelKind::kAvgPoolForward:
      return "avg_pool_forward";
    case KernelKind::kAvgPoolBackward:
      return "avg_pool_backward";
    case KernelKind::kBatchNormForward:
      return "batch_norm_forward";
    case KernelKind::kBatchNormBackward:
      return "batch_norm_backward";
    case KernelKind::kLayerNormForward:
      return "layer_norm_forward";
    case KernelKind::kLayerNormBackward:
      return "layer_norm_backward";
    case KernelKind::kSoftmax:
      return "softmax";
    case KernelKind::kLogSoftmax:
      return "log_softmax";
    case KernelKind::kSoftmaxBackward:
      return "softmax_backward";
    case KernelKind::kLogSoftmaxBackward:
      return "log_softmax_backward";
    case KernelKind::kSparseCrossEntropy:
      return "sparse_cross_entropy";
    case KernelKind::kNllLossForward:
      return "nll_loss_forward";
    case KernelKind::kNllLossBackward:
      return "nll_loss_backward";
    case KernelKind::kElementwise:
      return "elementwise";
    case KernelKind::kSelect:
      return "select";
    case KernelKind::kDropoutForward:
      return "dropout_forward";
    case KernelKind::kDropoutBackward:
      return "dropout_backward";
    case KernelKind::kRandomUniform:
      return "random_uniform";
    case KernelKind::kFill:
      return "fill";
    case KernelKind::kReduce:
      return "reduce";
    case KernelKind::kGather:
      return "gather";
    case KernelKind::kScatterAdd:
      return "scatter_add";
    case KernelKind::kCopy:
      return "copy";
    case KernelKind::kMomentum:
      return "momentum";
    case KernelKind::kRmsProp:
      return "rms_prop";
    case KernelKind::kAdam:
      return "adam";
    case KernelKind::kGradientDescent:
      return "gradient_descent";
    case KernelKind::kProxy:
      return "proxy";
  }
  std::abort();
}

std::string_view ToString(Function function) {
  switch (function) {
    case Function::kNone:
      return "none";
    case Function::kAdd:
      return "add";
    case Function::kSub:
      return "sub";
    case Function::kReverseSub:
      return "reverse_sub";
    case Function::kMul:
      return "mul";
    case Function::kDiv:
      return "div";
    case Function::kMinimum:
      return "minimum";
    case Function::kMaximum:
      return "maximum";
    case Function::kGreaterEqual:
      return "greater_equal";
    case Function::kNeg:
      return "neg";
    case Function::kSqrt:
      return "sqrt";
    case Function::kExp:
      return "exp";
    case Function::kLog:
      return "log";
    case Function::kCast:
      return "cast";
    case Function::kRelu:
      return "relu";
    case Function::kReluGrad:
      return "relu_grad";
    case Function::kSigmoid:
      return "sigmoid";
    case Function::kSigmoidGrad:
      return "sigmoid_grad";
    case Function::kTanh:
      return "tanh";
    case Function::kTanhGrad:
      return "tanh_grad";
    case Function::kGelu:
      return "gelu";
    case Function::kGeluGrad:
      return "gelu_grad";
    case Function::kGeluTanh:
      return "gelu_tanh";
    case Function::kGeluTanhGrad:
      return "gelu_tanh_grad";
    case Function::kSum:
      return "sum";
    case Function::kMean:
      return "mean";
    case Function::kHalfSumOfSquares:
      return "half_sum_of_squares";
  }
  std::abort();
}

}  // namespace emplace

#pragma once

// Describes the computation of one launch, independent of framework and device: a kernel, the views
// of its arguments, and its parameters. The ops of TensorFlow and PyTorch are mapped to the same
// set of kernels (op_work.h). Every backend implements all of them (executor/backend.h), and tests
// compare each implementation with one reference in double precision. README.md here explains how
// to add one.
//
// Memory layouts are strides. A convolution's input is always the logical [N, C, H, W], for bytes
// in NCHW and in NHWC order; a transposed matrix is a matrix with swapped strides; a broadcast
// dimension has stride 0. So a kernel has the same meaning for every layout.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Element types of kernels. A bool is one byte, 0 or 1.
enum class DType : std::uint8_t { kF32, kI32, kI64, kBool };
std::string_view ToString(DType dtype);  ///< "f32", "i32", "i64", "bool"
/// The reverse of ToString(); nullopt for any other text.
std::optional<DType> ParseDType(std::string_view text);
std::int64_t SizeOf(DType dtype);  ///< [B]

/// A kernel's view of one tensor: element [i, j, ...] is number offset + i strides[0] + j
/// strides[1] + ... of the tensor's storage, counted in elements.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, >= 0, as many as `shape`
  std::int64_t offset = 0;            ///< in elements, from the tensor's first byte

  std::int64_t num_elements() const;
  /// Returns the bytes from the first element to the end of the last one, holes included [B]; 0 if
  /// empty.
  std::int64_t span_bytes() const;
  /// Returns the bytes from the storage's first byte to the end of the last element [B]; 0 if
  /// empty.
  std::int64_t end_bytes() const;
  /// Returns whether the view is row-major without holes, with any offset. Strides of dimensions of
  /// size 1 are ignored.
  bool is_contiguous() const;
  bool operator==(const TensorView&) const = default;
};

/// Returns whether two views of one shape have equal strides in every dimension with more than one
/// element. Other strides are never used.
bool HaveEqualSteps(const TensorView& a, const TensorView& b);

/// Returns the view of a separate tensor: row-major without holes, offset 0.
TensorView ContiguousView(DType dtype, std::vector<std::int64_t> shape);
/// Returns a view that is row-major over [d0, d2, d3, d1]: NHWC of [n, c, h, w], KRSC of [k, c, r,
/// s].
TensorView ChannelsLastView(DType dtype, const std::vector<std::int64_t>& shape);

/// An argument of a call: a tensor of the op, and a view of it.
struct Argument {
  bool is_output = false;  ///< of the op: outputs[index], else inputs[index]
  int index = 0;
  TensorView view;
};

/// The kernels. kernel_table.h describes the computation and the arguments of each.
enum class KernelKind : std::uint8_t {
  kMatmul,
  kConvForward,
  kConvBackwardData,
  kConvBackwardFilter,
  kMaxPoolForward,
  kMaxPoolBackward,
  kMaxPoolBackwardIndices,
  kAvgPoolForward,
  kAvgPoolBackward,
  kBatchNormForward,
  kBatchNormBackward,
  kLayerNormForward,
  kLayerNormBackward,
  kGroupNormForward,
  kGroupNormBackward,
  kSoftmax,
  kLogSoftmax,
  kSoftmaxBackward,
  kLogSoftmaxBackward,
  kSparseCrossEntropy,
  kNllLossForward,
  kNllLossBackward,
  kElementwise,
  kSelect,
  kAttentionForward,
  kAttentionBackward,
  kDropoutForward,
  kDropoutBackward,
  kRandomUniform,
  kFill,
  kRange,
  kReduce,
  kCumulativeSum,
  kGather,
  kGatherPlaces,
  kScatterAdd,
  kCopy,
  kMomentum,
  kRmsProp,
  kAdam,
  kGradientDescent,
  kProxy,  ///< the last one
};
std::string_view ToString(KernelKind kind);  ///< "matmul", "conv_forward", ...: unique

/// The functions of kElementwise and kReduce. function_table.h has the formulas.
enum class Function : std::uint8_t {
  kNone,
  kAdd,
  kSub,
  kReverseSub,
  kMul,
  kDiv,
  kMinimum,
  kMaximum,
  kPow,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kXor,
  kNot,
  kNeg,
  kAbs,
  kFloor,
  kSqrt,
  kRsqrt,
  kExp,
  kLog,
  kSin,
  kCos,
  kErf,
  kCast,
  kRelu,
  kReluGrad,
  kCapGrad,
  kLeakyRelu,
  kLeakyReluGrad,
  kElu,
  kEluGrad,
  kSigmoid,
  kSigmoidGrad,
  kTanh,
  kTanhGrad,
  kGelu,
  kGeluGrad,
  kGeluTanh,
  kGeluTanhGrad,
  kSilu,
  kSiluGrad,
  kSoftplus,
  kSoftplusGrad,
  kHardSigmoid,
  kHardSigmoidGrad,
  kHardSwish,
  kHardSwishGrad,
  kSum,
  kMean,
  kMax,
  kHalfSumOfSquares,  ///< the last one
};
std::string_view ToString(Function function);  ///< "add", "relu_grad", ...: unique

/// Windows of convolutions and poolings over [h, w].
struct Window {
  std::vector<std::int64_t> size{1, 1}, stride{1, 1}, pad_begin{0, 0}, pad_end{0, 0},
      dilation{1, 1};             ///< each [h, w], in elements
  bool count_include_pad = true;  ///< average pooling: the mean includes the padding as zeros
  bool operator==(const Window&) const = default;
};

/// Parameters of all kernels; kernel_table.h names those that each kernel reads. call_fields.h
/// lists the fields for code that visits all of them; a field missing there does not compile.
struct KernelParams {
  Function function = Function::kNone;
  Window window;
  std::int64_t groups = 1;
  double alpha = 0;       ///< the kernel's scalar; kernel_table.h explains its meaning
  double epsilon = 0;     ///< norms, kRmsProp, kAdam
  double momentum = 0.1;  ///< batch norm: running = (1 - momentum) * running + momentum * batch;
                          ///< kMomentum, kRmsProp
  bool saves_inverse_std = false;  ///< batch norm: second statistic is 1 / sqrt(variance + epsilon)
  bool zero_output = false;        ///< kScatterAdd
  bool causal = false;             ///< attention
  double step = 1;                 ///< kRange
  double learning_rate = 1e-6, beta1 = 0.9, beta2 = 0.999, weight_decay = 0;  ///< optimisers
  bool operator==(const KernelParams&) const = default;
};

/// One launch of a kernel for an op. kernel_table.h describes which calls are well formed.
struct KernelCall {
  KernelKind kind = KernelKind::kProxy;
  KernelParams params;
  std::vector<Argument> inputs, outputs;  ///< as kernel_table.h lists them

  bool is_proxy() const { return kind == KernelKind::kProxy; }
};

/// The arguments of one of the three convolutions: inputs, outputs, or gradients of them.
struct ConvolutionRoles {
  const Argument &x, &w, &y;  ///< in the call
};
/// @param call  well formed; outlives the result
ConvolutionRoles RolesOf(const KernelCall& call);

/// Returns a text that is equal for equal calls and different for different ones. It includes every
/// field of the call (call_fields.h). Backends prepare one kernel per key and use it for every op
/// with such a call.
std::string CallKey(const KernelCall& call);

}  // namespace emplace

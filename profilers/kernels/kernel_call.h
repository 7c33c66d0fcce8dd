#pragma once

// What one launch computes, said without a framework and without a device: the kernel, the views of
// its arguments, its parameters. TensorFlow's and PyTorch's ops are both mapped to this one set
// (op_work.h); every backend implements it (backend.h), and tests check each implementation against
// one double-precision reference.
//
// Layouts are strides. A convolution's input is always the logical [N, C, H, W], whether the bytes
// lie as NCHW or NHWC; a transposed matrix is a matrix with swapped strides; a broadcast dimension
// has stride 0. So a kernel has one meaning, and a layout never changes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

enum class DType : std::uint8_t { kF32, kI32, kI64, kBool };
std::string_view ToString(DType dtype);
/// "f32", "i32", "i64", "bool"; nullopt for any other.
std::optional<DType> ParseDType(std::string_view text);
std::int64_t SizeOf(DType dtype);  ///< [B]

/// A strided window into one tensor's bytes.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, >= 0, as many as `shape`
  std::int64_t offset = 0;            ///< in elements, from the tensor's first byte

  std::int64_t num_elements() const;
  /// Row-major without holes (dimensions of size 1 do not count).
  bool is_contiguous() const;
  bool operator==(const TensorView&) const = default;
};

/// Row-major, offset 0.
TensorView ContiguousView(DType dtype, std::vector<std::int64_t> shape);

/// An argument of a call: which tensor of the op, seen how.
struct Argument {
  bool is_output = false;  ///< of the op: outputs[index], else inputs[index]
  int index = 0;
  TensorView view;
};

enum class KernelKind : std::uint8_t {
  // in: A [b, m, k], B [b, k, n], optional bias [b, m, n] (strides 0); out: C [b, m, n] = A B +
  // bias
  kMatmul,
  // Convolution; groups > 1 and depthwise included. x [n, c, h, w], w [k, c / groups, r, s],
  // y [n, k, p, q]; forward in: x, w, optional bias [k]; out: y
  kConvForward,
  kConvBackwardData,    // in: dy, w; out: dx
  kConvBackwardFilter,  // in: x, dy; out: dw
  // Pooling of [n, c, h, w] windows. forward in: x; out: y (max may have a second output: i64 index
  // of the maximum in its plane, h * W + w; the first maximum wins)
  kMaxPoolForward,
  kMaxPoolBackward,         // in: x, y, dy; out: dx (the first maximum of a window gets it all)
  kMaxPoolBackwardIndices,  // in: dy, indices; out: dx
  kAvgPoolForward,
  kAvgPoolBackward,  // in: dy; out: dx
  // Training-mode batch norm over [n, c, h, w] per c. forward in: x, scale [c], offset [c],
  // optional
  // running mean and variance [c]; out: y, mean [c], second statistic [c] (params: variance or
  // 1 / sqrt(variance + epsilon)), optional updated running mean and variance [c]
  kBatchNormForward,
  kBatchNormBackward,  // in: dy, x, scale, mean, second statistic; out: dx, dscale, doffset
  // Rows [rows, width]. forward in: x, scale, offset; out: y, mean [rows], 1 / std [rows]
  kLayerNormForward,
  kLayerNormBackward,   // in: dy, x, mean, 1 / std, scale; out: dx, dscale, doffset
  kSoftmax,             // in: x [rows, width]; out: y
  kLogSoftmax,          // likewise
  kSoftmaxBackward,     // in: dy, y; out: dx
  kLogSoftmaxBackward,  // likewise
  kSparseCrossEntropy,  // in: logits [rows, width], labels [rows]; out: loss [rows], dlogits
  kNllLossForward,      // in: log-probabilities [rows, width], labels [rows]; out: mean loss [],
                        // total weight []
  kNllLossBackward,     // in: dloss [], labels [rows], total weight []; out: dx [rows, width]
  kElementwise,      // in: up to 2 (kAdd: any number) views of the output's shape; params: function
  kSelect,           // in: condition (bool), a, b; out: condition ? a : b
  kDropoutForward,   // in: x; out: y, mask (bool); params: alpha = probability of a zero
  kDropoutBackward,  // in: dy, mask; out: dx = dy * mask * alpha
  kRandomUniform,    // out: uniform in [0, 1), counter-based, the same every time
  kFill,             // out: alpha everywhere
  kReduce,           // in: x; out: y of the same rank, size 1 along reduced axes; params: function
  kGather,           // in: table [v, width], indices [n] (modulo v); out: [n, width]
  kScatterAdd,       // in: rows [n, width], indices [n] (modulo v); out: table [v, width]
                     // += alpha * rows, zeroed before if params.zero_output
  kCopy,             // any number of pairs: out[i] = in[i], same shapes, any strides
  kMomentum,         // in: w, gradient, velocity; out: w, velocity (in place)
  kRmsProp,          // in: w, mean square, momentum, gradient; out: w, mean square, momentum
  kAdam,             // in: w, gradient, m, v; out: w, m, v (in place)
  kGradientDescent,  // in: w, gradient; out: w
  kProxy,            // any arguments: reads every input and writes every output byte once, and
                     // does alpha FLOPs: for ops that no kernel implements
};
std::string_view ToString(KernelKind kind);

/// y = f(a, b); a unary function ignores b; a missing b is `alpha`.
enum class Function : std::uint8_t {
  kNone,
  kAdd,  // sum of all inputs, alpha if there is only one
  kSub,
  kReverseSub,  // b - a
  kMul,
  kDiv,
  kMinimum,
  kMaximum,
  kGreaterEqual,  // out: bool
  kNeg,
  kSqrt,
  kExp,
  kLog,
  kCast,
  kRelu,
  kReluGrad,  // a: dy, b: y or x: dy where b > alpha
  kSigmoid,
  kSigmoidGrad,  // a: y, b: dy: dy * y * (1 - y)
  kTanh,
  kTanhGrad,  // a: y, b: dy: dy * (1 - y * y)
  kGelu,
  kGeluGrad,  // a: dy, b: x
  kGeluTanh,  // the tanh approximation
  kGeluTanhGrad,
  // reductions
  kSum,
  kMean,
  kHalfSumOfSquares,  // TensorFlow's L2Loss
};
std::string_view ToString(Function function);

struct Window {
  std::vector<std::int64_t> size{1, 1}, stride{1, 1}, pad_begin{0, 0}, pad_end{0, 0},
      dilation{1, 1};             ///< [h, w]
  bool count_include_pad = true;  ///< average pooling
  bool operator==(const Window&) const = default;
};

/// Parameters of all kernels; each reads its own.
struct KernelParams {
  Function function = Function::kNone;
  Window window;
  std::int64_t groups = 1;
  double alpha = 0;       ///< the kernel's scalar, see KernelKind
  double epsilon = 0;     ///< norms
  double momentum = 0.1;  ///< batch norm: running = (1 - momentum) * running + momentum * batch
  bool saves_inverse_std = false;  ///< batch norm: second statistic is 1 / sqrt(variance + epsilon)
  bool zero_output = false;        ///< kScatterAdd
  double learning_rate = 1e-6, beta1 = 0.9, beta2 = 0.999, weight_decay = 0;  ///< optimisers
  bool operator==(const KernelParams&) const = default;
};

struct KernelCall {
  KernelKind kind = KernelKind::kProxy;
  KernelParams params;
  std::vector<Argument> inputs, outputs;  ///< as KernelKind lists them

  bool is_proxy() const { return kind == KernelKind::kProxy; }
};

}  // namespace emplace

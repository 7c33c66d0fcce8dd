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

/// What is computed. Accumulations and statistics are those of f32 arithmetic; unless said
/// otherwise floating data is f32. Outputs are written whole, whatever was in them before. An
/// output may share the storage of an input under the same view (in place) for kElementwise,
/// kSelect, dropout, batch norm's running statistics, kScatterAdd's table and the optimisers; those
/// whose output is no alias read the inputs and write the outputs all the same. Argument::is_output
/// tells where the bytes are, the position in `inputs` or `outputs` what an argument is for:
/// TensorFlow's optimisers update state that is only an input of the op, so `outputs` may name op
/// inputs. Indices and labels (i32 or i64) are taken modulo the number of rows or classes, to 0 <=
/// index < count also for negative ones.
enum class KernelKind : std::uint8_t {
  // in: A [b, m, k], B [b, k, n], optional bias [b, m, n] (strides 0); out: C [b, m, n] = A B +
  // bias
  kMatmul,
  // Convolution; groups > 1 and depthwise included. x [n, c, h, w], w [k, c / groups, r, s],
  // y [n, k, p, q]; forward in: x, w, optional bias [k]; out: y. Rows and columns at the end that
  // no window reaches count for nothing (their gradient is 0)
  kConvForward,
  kConvBackwardData,    // in: dy, w; out: dx
  kConvBackwardFilter,  // in: x, dy; out: dw
  // Pooling of [n, c, h, w] windows, dilation 1, every window holds an element. forward in: x; out:
  // y (max may have a second output: i64 index of the maximum in its plane, h * W + w; the first
  // maximum in row-major order wins). Average: over the window's elements, padding not counted
  // unless window.count_include_pad
  kMaxPoolForward,
  kMaxPoolBackward,         // in: x, y, dy; out: dx (the first maximum of a window gets it all)
  kMaxPoolBackwardIndices,  // in: dy, indices; out: dx
  kAvgPoolForward,
  kAvgPoolBackward,  // in: dy; out: dx
  // Training-mode batch norm over [n, c, h, w] per c. forward in: x, scale [c], offset [c],
  // optional running mean and variance [c]; out: y, mean [c], second statistic [c] (params:
  // variance over n h w, or 1 / sqrt(variance + epsilon)), optional updated running mean and
  // variance [c]. The running variance takes variance * count / max(1, count - 1). With updated
  // statistics as outputs but none as inputs they are the batch's own, as if momentum were 1
  kBatchNormForward,
  // in: dy, x, scale, mean, second statistic; out: dx, dscale, doffset. With s = 1 / sqrt(variance
  // + epsilon), z = (x - mean) s: doffset = sum dy, dscale = sum dy z,
  // dx = scale s (dy - doffset / count - z dscale / count)
  kBatchNormBackward,
  // Rows [rows, width]. forward in: x, scale [width], offset [width]; out: y, mean [rows],
  // 1 / std [rows] = 1 / sqrt(variance + epsilon)
  kLayerNormForward,
  // in: dy, x, mean, 1 / std, scale; out: dx, dscale, doffset; with z = (x - mean) / std,
  // g = dy scale: dx = (g - row mean of g - z (row mean of g z)) / std
  kLayerNormBackward,
  kSoftmax,             // in: x [rows, width]; out: y
  kLogSoftmax,          // likewise
  kSoftmaxBackward,     // in: dy, y; out: dx = y (dy - row sum of dy y)
  kLogSoftmaxBackward,  // likewise: dx = dy - exp(y) (row sum of dy)
  kSparseCrossEntropy,  // in: logits [rows, width], labels [rows]; out: loss [rows], dlogits
                        // [rows, width] = softmax - one hot
  kNllLossForward,      // in: log-probabilities [rows, width], labels [rows]; out: mean loss [],
                        // total weight [] (the number of rows)
  kNllLossBackward,     // in: dloss [], labels [rows], total weight []; out: dx [rows, width]:
                        // -dloss / weight at the label, else 0
  kElementwise,      // in: up to 2 (kAdd: any number) views of the output's shape; params: function
  kSelect,           // in: condition (bool), a, b; out: condition ? a : b. With two inputs only
                     // (condition, b), as masked_fill has them: condition ? alpha : b
  kDropoutForward,   // in: x; out: y = mask ? x / (1 - alpha) : 0, mask (bool), counter-based;
                     // params: alpha = probability of a zero
  kDropoutBackward,  // in: dy, mask; out: dx = dy * mask * alpha
  kRandomUniform,    // out: uniform in [0, 1), counter-based, the same every time
  kFill,             // out: alpha everywhere
  kReduce,           // in: x; out: y of the same rank, size 1 along reduced axes; params: function
  kGather,           // in: table [v, width], indices [n] (modulo v); out: [n, width]
  kScatterAdd,       // in: rows [n, width], indices [n] (modulo v); out: table [v, width]
                     // += alpha * rows, zeroed before if params.zero_output
  kCopy,             // any number of pairs: out[i] = in[i], same shapes and dtypes, any strides
  // Optimisers, element by element over equal shapes. With g the gradient:
  kMomentum,         // in: w, gradient, velocity; out: w, velocity. g += weight_decay w;
                     // velocity = momentum velocity + g; w -= learning_rate velocity
  kRmsProp,          // in: w, mean square s, momentum m, gradient; out: w, s, m. s = beta2 s +
                     // (1 - beta2) g g; m = momentum m + learning_rate g / sqrt(s + epsilon);
                     // w -= m
  kAdam,             // in: w, gradient, m, v; out: w, m, v. m = beta1 m + (1 - beta1) g;
                     // v = beta2 v + (1 - beta2) g g;
                     // w = w (1 - learning_rate weight_decay) - learning_rate m / (sqrt(v) +
                     // epsilon); bias corrections are part of the learning rate
  kGradientDescent,  // in: w, gradient; out: w. w -= learning_rate (g + weight_decay w)
  kProxy,            // any arguments: reads every input and writes every output byte once, and
                     // does alpha FLOPs: for ops that no kernel implements
};
std::string_view ToString(KernelKind kind);

/// y = f(a, b); a unary function ignores b; a missing b is `alpha`. Arithmetic works on f32, i32
/// and i64 (a and b alike), the rest on f32; kCast between any two dtypes (to integers: towards
/// zero, to bool: != 0).
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
  double epsilon = 0;     ///< norms, kRmsProp, kAdam
  double momentum = 0.1;  ///< batch norm: running = (1 - momentum) * running + momentum * batch;
                          ///< kMomentum, kRmsProp
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

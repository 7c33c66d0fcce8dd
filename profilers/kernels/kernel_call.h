#pragma once

// What one launch computes, independent of framework and device: a kernel, the views of its
// arguments, its parameters. The ops of TensorFlow and PyTorch are both mapped to this one set of
// kernels (op_work.h). Every backend implements all of them (executor/backend.h), and tests compare
// each implementation with one reference in double precision. README.md here says how to add one.
//
// Memory layouts are strides. A convolution's input is always the logical [N, C, H, W], whether its
// bytes lie in the order NCHW or NHWC; a transposed matrix is a matrix with swapped strides; a
// broadcast dimension has stride 0. So a kernel has one meaning, whatever the layout.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Types of elements that kernels work on. A bool is one byte, 0 or 1.
enum class DType : std::uint8_t { kF32, kI32, kI64, kBool };
std::string_view ToString(DType dtype);  ///< "f32", "i32", "i64", "bool"
/// The reverse of ToString(); nullopt for any other text.
std::optional<DType> ParseDType(std::string_view text);
std::int64_t SizeOf(DType dtype);  ///< [B]

/// How a kernel sees one tensor: element [i, j, ...] is number offset + i strides[0] + j strides[1]
/// + ... of the tensor's storage, counted in elements.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, >= 0, as many as `shape`
  std::int64_t offset = 0;            ///< in elements, from the tensor's first byte

  std::int64_t num_elements() const;
  /// From the first element to the end of the last one, holes included [B]; 0 without elements.
  std::int64_t span_bytes() const;
  /// From the storage's first byte to the end of the last element [B]; 0 without elements.
  std::int64_t end_bytes() const;
  /// Row-major without holes, wherever it starts; strides of dimensions of size 1 do not matter.
  bool is_contiguous() const;
  bool operator==(const TensorView&) const = default;
};

/// A tensor of its own: row-major without holes, offset 0.
TensorView ContiguousView(DType dtype, std::vector<std::int64_t> shape);

/// An argument of a call: which tensor of the op, seen how.
struct Argument {
  bool is_output = false;  ///< of the op: outputs[index], else inputs[index]
  int index = 0;
  TensorView view;
};

/// What is computed. Unless a kernel says otherwise, its data is f32, and results are as accurate
/// as f32 arithmetic makes them. "in" and "out" name the call's inputs and outputs in order.
///
/// Outputs are written whole: what was in them before does not count. An output may share the
/// storage of an input under the same view (in place) for kElementwise, kSelect, dropout, batch
/// norm's running statistics, kScatterAdd's table and the optimisers. These kernels work alike on
/// inputs and outputs that are apart.
///
/// An argument's position in `inputs` or `outputs` says what it is for, Argument::is_output where
/// its bytes are. The two may differ: TensorFlow's optimisers update state that is only an input of
/// the op, so `outputs` may hold arguments that are inputs of the op.
///
/// Indices and labels (i32 or i64) are taken modulo the number of rows or classes; negative ones
/// count from the end (-1 is the last).
enum class KernelKind : std::uint8_t {
  // in: A [b, m, k], B [b, k, n], optional bias [b, m, n], which is one row: its first two strides
  // are 0; out: C [b, m, n] = A B + bias
  kMatmul,
  // Convolution; groups > 1 and depthwise included. x [n, c, h, w], w [k, c / groups, r, s],
  // y [n, k, p, q]; forward in: x, w, optional bias [k]; out: y. Rows and columns at the end of x
  // that no window reaches do not change y, and their gradient is 0
  kConvForward,
  kConvBackwardData,    // in: dy, w; out: dx
  kConvBackwardFilter,  // in: x, dy; out: dw
  // Pooling over windows of x [n, c, h, w], dilation 1; every window holds at least one element of
  // x. forward in: x; out: y. The maximum may have a second output: the i64 index h * W + w of the
  // maximum in its plane of H x W elements; among equal ones it is the first in row-major order.
  // The average is over the window's elements, those of the padding only if
  // window.count_include_pad
  kMaxPoolForward,
  kMaxPoolBackward,         // in: x, y, dy; out: dx (a window's gradient goes to its first maximum)
  kMaxPoolBackwardIndices,  // in: dy, indices; out: dx
  kAvgPoolForward,
  kAvgPoolBackward,  // in: dy; out: dx
  // Training-mode batch norm over [n, c, h, w] per c. forward in: x, scale [c], offset [c],
  // optional running mean and variance [c]; out: y, mean [c], second statistic [c] (the variance
  // over n h w, or with params.saves_inverse_std 1 / sqrt(variance + epsilon)), optional updated
  // running mean and variance [c]. With count = n h w, the running variance is updated with
  // variance * count / max(1, count - 1). If running statistics are outputs but not inputs, they
  // become those of the batch, as if momentum were 1
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
  kDropoutForward,   // in: x; out: y = mask ? x / (1 - alpha) : 0, mask (bool), random as
                     // kRandomUniform; params: alpha = probability of a zero
  kDropoutBackward,  // in: dy, mask; out: dx = dy * mask * alpha
  kRandomUniform,    // out: uniform in [0, 1), a function of the element's position: the same in
                     // every step
  kFill,             // out: alpha everywhere
  kReduce,           // in: x; out: y of the same rank, size 1 along reduced axes; params: function
  kGather,           // in: table [v, width], indices [n] (modulo v); out: [n, width]
  kScatterAdd,       // in: rows [n, width], indices [n] (modulo v); out: table [v, width]
                     // += alpha * rows, zeroed before if params.zero_output
  kCopy,             // any number of pairs: out[i] = in[i], same shapes and dtypes, any strides
  // Optimisers, element by element over arguments of one shape; g is the gradient.
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
  kProxy,            // The stand-in for an op that no kernel implements, with any arguments: reads
                     // every input byte and writes every output byte once, and does alpha FLOPs
};
std::string_view ToString(KernelKind kind);  ///< "matmul", "conv_forward", ...: unique

/// What kElementwise and kReduce compute. Elementwise y = f(a, b): a unary function ignores b, and
/// a missing b is KernelParams::alpha. kAdd to kMaximum and kNeg work on f32, i32 and i64 (all
/// operands alike), kGreaterEqual compares them, and kCast converts between any two dtypes (to
/// integers by rounding towards zero, to bool by != 0). All others work on f32.
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
std::string_view ToString(Function function);  ///< "add", "relu_grad", ...: unique

/// Windows of convolutions and poolings over [h, w].
struct Window {
  std::vector<std::int64_t> size{1, 1}, stride{1, 1}, pad_begin{0, 0}, pad_end{0, 0},
      dilation{1, 1};             ///< each [h, w], in elements
  bool count_include_pad = true;  ///< average pooling: padding counts as zeros in the mean
  bool operator==(const Window&) const = default;
};

/// Parameters of all kernels; each reads its own.
struct KernelParams {
  Function function = Function::kNone;
  Window window;
  std::int64_t groups = 1;
  double alpha = 0;       ///< the kernel's scalar; KernelKind says what it means
  double epsilon = 0;     ///< norms, kRmsProp, kAdam
  double momentum = 0.1;  ///< batch norm: running = (1 - momentum) * running + momentum * batch;
                          ///< kMomentum, kRmsProp
  bool saves_inverse_std = false;  ///< batch norm: second statistic is 1 / sqrt(variance + epsilon)
  bool zero_output = false;        ///< kScatterAdd
  double learning_rate = 1e-6, beta1 = 0.9, beta2 = 0.999, weight_decay = 0;  ///< optimisers
  bool operator==(const KernelParams&) const = default;
};

/// One launch of a kernel for an op. check_call.h says which calls are well formed.
struct KernelCall {
  KernelKind kind = KernelKind::kProxy;
  KernelParams params;
  std::vector<Argument> inputs, outputs;  ///< as KernelKind lists them

  bool is_proxy() const { return kind == KernelKind::kProxy; }
};

}  // namespace emplace

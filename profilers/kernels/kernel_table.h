#pragma once

// The only description of every kernel: its computation, its arguments with their numbers, dtypes
// and shapes, and its parameters. It determines the check of a call (WhyMalformed()), the names,
// and the calls that the tests of all backends draw. README.md here explains how to add a kernel.
//
// Unless stated otherwise, results are as accurate as f32 arithmetic.
//
// Outputs are overwritten completely; their earlier contents do not matter. An output may share the
// storage of an input under the same view (in place) for kElementwise, kSelect, dropout, batch
// norm's running statistics, kScatterAdd's table and the optimisers. These kernels give the same
// results if inputs and outputs are separate.
//
// An argument's position in `inputs` or `outputs` gives its role; Argument::is_output gives the
// location of its bytes. The two may differ: TensorFlow's optimisers update state that is only an
// input of the op, so `outputs` may hold arguments that are inputs of the op.
//
// Indices and labels are taken modulo the number of rows or classes; negative ones count from the
// end (-1 is the last).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profilers/kernels/function_table.h"
#include "profilers/kernels/kernel_call.h"
#include "profilers/kernels/kernel_signature.h"

namespace emplace {

/// Checks a condition beyond the signature. @return the violated condition; empty if there is none
using CallRule = std::string(const KernelCall& call);
/// Rules of single kernels, in call_rules.cc.
namespace call_rules {
CallRule BiasIsRow, Convolution, PoolForward, PoolBackward, MaxPoolBackward, RunningStatistics,
    GroupNorm, GroupNormGradient, Elementwise, DropoutProbability, Reduction, RangeOfNumbers,
    SumOfNumbers, Pairs;
}  // namespace call_rules

/// The calls of other kernels that make up a composed kernel, and the memory between them.
struct Composition {
  /// In execution order; none of them is composed. Arguments are those of the composed call,
  /// through other views, or temporaries: outputs with consecutive indices from first_temporary on.
  std::vector<KernelCall> parts;
  int first_temporary = 0;
  std::vector<std::int64_t> temporary_bytes;  ///< sizes of the temporaries [B]
};
/// @param call  well formed
using Composer = Composition(const KernelCall& call);
/// Defined in compositions.cc.
namespace compositions {
Composer GatherPlaces, GroupNormForward, GroupNormBackward, AttentionForward, AttentionBackward;
}  // namespace compositions

struct KernelDescription {
  KernelKind kind;
  std::string_view name;
  Signature inputs, outputs;
  std::string_view parameters = {};  ///< names of the fields of KernelParams that it reads
  std::string_view products = {};    ///< letters whose sizes' product is the number of its
                                     ///< multiply-adds, "mn+mk": a sum; empty: memory bounds it
  CallRule* rule = nullptr;          ///< nullptr: the signature is complete
  Composer* compose = nullptr;       ///< nullptr: backends have their own code
};

// clang-format off
inline constexpr KernelDescription kKernelTable[] = {
    // c = a b + bias; the bias is one row: its first two strides are 0
    {KernelKind::kMatmul, "matmul", "a[bmk] b[bkn] bias?[bmn]", "c[bmn]", "", "bmkn",
     call_rules::BiasIsRow},
    // Convolution of x [n, c, h, w] and w [k, c / groups, r, s] to y [n, k, p, q], including groups
    // > 1 and depthwise. Rows and columns at the end of x that no window reaches do not affect y,
    // and their gradient is 0
    {KernelKind::kConvForward, "conv_forward", "x[nchw] w[kgrs] bias?[k]", "y[nkpq]",
     "window groups", "nkpqgrs", call_rules::Convolution},
    {KernelKind::kConvBackwardData, "conv_backward_data", "dy[nkpq] w[kgrs]", "dx[nchw]",
     "window groups", "nkpqgrs", call_rules::Convolution},
    {KernelKind::kConvBackwardFilter, "conv_backward_filter", "x[nchw] dy[nkpq]", "dw[kgrs]",
     "window groups", "nkpqgrs", call_rules::Convolution},
    // Pooling over windows of x, dilation 1; every window contains at least one element of x. An
    // index is h * W + w of the maximum in its plane of H x W elements. Among equal maxima it is
    // the first in row-major order, and the gradient goes there. The average is over the window's
    // elements; it includes padding only if window.count_include_pad
    {KernelKind::kMaxPoolForward, "max_pool_forward", "x[nchw]", "y[ncpq] indices?:i64[ncpq]",
     "window", "", call_rules::PoolForward},
    {KernelKind::kMaxPoolBackward, "max_pool_backward", "x[nchw] y[ncpq] dy[ncpq]", "dx[nchw]",
     "window", "", call_rules::MaxPoolBackward},
    {KernelKind::kMaxPoolBackwardIndices, "max_pool_backward_indices", "dy[ncpq] indices:i64[ncpq]",
     "dx[nchw]", "window", "", call_rules::PoolBackward},
    {KernelKind::kAvgPoolForward, "avg_pool_forward", "x[nchw]", "y[ncpq]", "window", "",
     call_rules::PoolForward},
    {KernelKind::kAvgPoolBackward, "avg_pool_backward", "dy[ncpq]", "dx[nchw]", "window", "",
     call_rules::PoolBackward},
    // Training-mode batch norm per c. The second statistic is the variance over n h w, or with
    // saves_inverse_std 1 / sqrt(variance + epsilon). With count = n h w, the running variance is
    // updated with variance * count / max(1, count - 1). If running statistics are outputs but not
    // inputs, they are set to those of the batch, as if momentum were 1
    {KernelKind::kBatchNormForward, "batch_norm_forward",
     "x[nchw] scale[c] offset[c] running_mean?[c] running_variance?[c]",
     "y[nchw] mean[c] second[c] running_mean?[c] running_variance?[c]",
     "epsilon momentum saves_inverse_std", "", call_rules::RunningStatistics},
    // With s = 1 / sqrt(variance + epsilon), z = (x - mean) s: doffset = sum dy, dscale = sum dy z,
    // dx = scale s (dy - doffset / count - z dscale / count)
    {KernelKind::kBatchNormBackward, "batch_norm_backward",
     "dy[nchw] x[nchw] scale[c] mean[c] second[c]", "dx[nchw] dscale[c] doffset[c]",
     "epsilon saves_inverse_std"},
    // Over rows of x [batch, rows, width]; inverse_std = 1 / sqrt(variance + epsilon)
    {KernelKind::kLayerNormForward, "layer_norm_forward", "x[brw] scale[w] offset[w]",
     "y[brw] mean[br] inverse_std[br]", "epsilon"},
    // With z = (x - mean) / std, g = dy scale: dx = (g - row mean of g - z (row mean of g z)) / std
    {KernelKind::kLayerNormBackward, "layer_norm_backward",
     "dy[brw] x[brw] mean[br] inverse_std[br] scale[w]", "dx[brw] dscale[w] doffset[w]"},
    // Over the channels of a group and all positions: x [n, c, l], g groups of c / g channels each.
    // z = (x - mean) inverse_std; y = z scale + offset, or z if there is no scale and offset
    {KernelKind::kGroupNormForward, "group_norm_forward", "x[ncl] scale?[c] offset?[c]",
     "y[ncl] mean[ng] inverse_std[ng]", "epsilon", "", call_rules::GroupNorm,
     compositions::GroupNormForward},
    // dscale = sum dy z, doffset = sum dy; dx as in layer norm, over the group
    {KernelKind::kGroupNormBackward, "group_norm_backward",
     "dy[ncl] x[ncl] mean[ng] inverse_std[ng] scale?[c]", "dx[ncl] dscale?[c] doffset?[c]", "", "",
     call_rules::GroupNormGradient, compositions::GroupNormBackward},
    {KernelKind::kSoftmax, "softmax", "x[rw]", "y[rw]"},
    {KernelKind::kLogSoftmax, "log_softmax", "x[rw]", "y[rw]"},
    // dx = y (dy - row sum of dy y)
    {KernelKind::kSoftmaxBackward, "softmax_backward", "dy[rw] y[rw]", "dx[rw]"},
    // dx = dy - exp(y) (row sum of dy)
    {KernelKind::kLogSoftmaxBackward, "log_softmax_backward", "dy[rw] y[rw]", "dx[rw]"},
    // dlogits = softmax - one hot
    {KernelKind::kSparseCrossEntropy, "sparse_cross_entropy", "logits[rw] labels:index[r]",
     "loss[r] dlogits[rw]"},
    // The mean loss of log-probabilities x; the weight is the number of rows
    {KernelKind::kNllLossForward, "nll_loss_forward", "x[brw] labels:index[br]", "loss[] weight[]"},
    // dx = -dloss / weight at the label, else 0
    {KernelKind::kNllLossBackward, "nll_loss_backward", "dloss[] labels:index[br] weight[]",
     "dx[brw]"},
    // y = f(operands), see function_table.h. A missing second operand is alpha
    {KernelKind::kElementwise, "elementwise", "operands+:same[*]", "y:any[*]", "function alpha", "",
     call_rules::Elementwise},
    // condition ? a : b; a missing a is alpha, as in masked_fill
    {KernelKind::kSelect, "select", "condition:bool[*] a?:same[*] b:same[*]", "y:same[*]", "alpha"},
    // Scaled dot-product attention per batch and head: s = alpha q k^T + mask, -inf where causal
    // and n > m; y = softmax(s) v; log_sum = log sum exp(s) over n. It writes the whole s to
    // memory, unlike fused ("flash") implementations
    {KernelKind::kAttentionForward, "attention_forward", "q[bhmd] k[bhnd] v[bhne] mask?[bhmn]",
     "y[bhme] log_sum?[bhm]", "alpha causal", "bhmnd+bhmne", nullptr,
     compositions::AttentionForward},
    // The gradients of q, k and v, with p = softmax(s) computed again
    {KernelKind::kAttentionBackward, "attention_backward",
     "dy[bhme] q[bhmd] k[bhnd] v[bhne] mask?[bhmn]", "dq[bhmd] dk[bhnd] dv[bhne]", "alpha causal",
     "bhmnd+bhmnd+bhmnd+bhmne+bhmne", nullptr, compositions::AttentionBackward},
    // y = mask ? x / (1 - alpha) : 0, mask random as kRandomUniform; alpha: probability of a zero
    {KernelKind::kDropoutForward, "dropout_forward", "x[*]", "y[*] mask:bool[*]", "alpha", "",
     call_rules::DropoutProbability},
    // dx = dy * mask * alpha
    {KernelKind::kDropoutBackward, "dropout_backward", "dy[*] mask:bool[*]", "dx[*]", "alpha"},
    // Uniform in [0, 1), a function of the element's position: the same values in every step
    {KernelKind::kRandomUniform, "random_uniform", "", "y"},
    {KernelKind::kFill, "fill", "", "y:any", "alpha"},  // alpha everywhere
    // alpha, alpha + step, alpha + 2 step, ...
    {KernelKind::kRange, "range", "", "y:any[n]", "alpha step", "", call_rules::RangeOfNumbers},
    // y has the same rank, with size 1 along reduced axes; see function_table.h
    {KernelKind::kReduce, "reduce", "x", "y", "function", "", call_rules::Reduction},
    // Cumulative sums of x along a row; of bools and i32 also as i64
    {KernelKind::kCumulativeSum, "cumulative_sum", "x:any[rw]", "y:any[rw]", "", "",
     call_rules::SumOfNumbers},
    {KernelKind::kGather, "gather", "table:same[vw] indices:index[n]", "y:same[nw]"},
    // y = table[rows, columns], element by element: index rows * V + columns, modulo U V
    {KernelKind::kGatherPlaces, "gather_places", "table:same[uv] rows:i64[*] columns:i64[*]",
     "y:same[*]", "", "", nullptr, compositions::GatherPlaces},
    // table += alpha * rows; the table is zeroed first if zero_output
    {KernelKind::kScatterAdd, "scatter_add", "rows[nw] indices:index[n]", "table[vw]",
     "alpha zero_output"},
    // y[i] = x[i] for any number of pairs of equal shapes and dtypes, any strides
    {KernelKind::kCopy, "copy", "x+:any", "y+:any", "", "", call_rules::Pairs},
    // Optimisers. g = gradient + weight_decay w; velocity = momentum velocity + g;
    // w -= learning_rate velocity
    {KernelKind::kMomentum, "momentum", "w[*] gradient[*] velocity[*]", "w[*] velocity[*]",
     "momentum learning_rate weight_decay"},
    // s = beta2 s + (1 - beta2) g g; m = momentum m + learning_rate g / sqrt(s + epsilon); w -= m
    {KernelKind::kRmsProp, "rms_prop", "w[*] s[*] m[*] gradient[*]", "w[*] s[*] m[*]",
     "epsilon momentum learning_rate beta2"},
    // m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g g;
    // w = w (1 - learning_rate weight_decay) - learning_rate m / (sqrt(v) + epsilon);
    // bias corrections are part of the learning rate
    {KernelKind::kAdam, "adam", "w[*] gradient[*] m[*] v[*]", "w[*] m[*] v[*]",
     "epsilon learning_rate beta1 beta2 weight_decay"},
    // w -= learning_rate (gradient + weight_decay w)
    {KernelKind::kGradientDescent, "gradient_descent", "w[*] gradient[*]", "w[*]",
     "learning_rate weight_decay"},
    // Stands for an op that no kernel implements: reads every input byte and writes every output
    // byte once, and performs alpha FLOPs
    {KernelKind::kProxy, "proxy", "x*:any", "y*:any", "alpha"},
};
// clang-format on

inline constexpr const KernelDescription& DescriptionOf(KernelKind kind) {
  return kKernelTable[static_cast<std::size_t>(kind)];
}

// The functions below are in check_call.cc. Graphs come from the user, so every call is checked
// before it is used.

/// Returns why a call is not well formed: its numbers of arguments, dtypes, shapes or parameters do
/// not fit each other. Does not check whether views lie inside their storage.
/// @return "1 inputs and 1 outputs; expected 2 to 3 and 1"; empty if the call is well formed
std::string WhyMalformed(const KernelCall& call);

/// Formats a call for messages: "matmul f32 [1, 2, 3], f32 [1, 3, 4] -> f32 [1, 2, 4]".
std::string Describe(const KernelCall& call);

/// Returns the number of multiply-adds of a well-formed call; 0 for a kernel without `products`.
double MultiplyAdds(const KernelCall& call);

static_assert(internal::IsComplete(kKernelTable, KernelKind::kProxy, [](const auto& row) {
  return row.kind;
}));

}  // namespace emplace

// Optimisers: one pass over parameters and state, in place or out of place.

#include <cmath>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

// Calls update(i, in, out) for every element, in pieces spread over the threads.
template <std::size_t Inputs, std::size_t Outputs, typename Update>
std::unique_ptr<ViewKernel> MakeUpdate(const KernelCall& call, int threads, Update update) {
  return MakeKernel([n = call.outputs[0].view.num_elements(), threads, update](
                        void* const* in, void* const* out, void*) {
    ParallelPieces(threads, n, 16384, [&](std::int64_t begin, std::int64_t end) {
      const float* from[Inputs];
      float* to[Outputs];
      for (std::size_t k = 0; k < Inputs; ++k) from[k] = As<float>(in[k]) + begin;
      for (std::size_t k = 0; k < Outputs; ++k) to[k] = As<float>(out[k]) + begin;
#pragma omp simd
      for (std::int64_t i = 0; i < end - begin; ++i) update(i, from, to);
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeOptimizer(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&IsContiguous, &MakeOptimizer, call, threads)) return packed;

  const KernelParams& params = call.params;
  const auto rate = static_cast<float>(params.learning_rate);
  const auto decay = static_cast<float>(params.weight_decay);
  const auto momentum = static_cast<float>(params.momentum);
  const auto epsilon = static_cast<float>(params.epsilon);
  const auto beta1 = static_cast<float>(params.beta1), beta2 = static_cast<float>(params.beta2);
  const auto rest1 = static_cast<float>(1 - params.beta1);
  const auto rest2 = static_cast<float>(1 - params.beta2);
  switch (call.kind) {
    case KernelKind::kMomentum:  // in: w, gradient, velocity; out: w, velocity
      return MakeUpdate<3, 2>(call, threads, [=](auto i, auto& in, auto& out) {
        const float w = in[0][i];
        const float velocity = momentum * in[2][i] + (in[1][i] + decay * w);
        out[0][i] = w - rate * velocity;
        out[1][i] = velocity;
      });
    case KernelKind::kRmsProp:  // in: w, mean square, momentum, gradient; out: w, s, m
      return MakeUpdate<4, 3>(call, threads, [=](auto i, auto& in, auto& out) {
        const float w = in[0][i], gradient = in[3][i];
        const float square = beta2 * in[1][i] + rest2 * gradient * gradient;
        const float step = momentum * in[2][i] + rate * gradient / std::sqrt(square + epsilon);
        out[0][i] = w - step;
        out[1][i] = square;
        out[2][i] = step;
      });
    case KernelKind::kAdam:  // in: w, gradient, m, v; out: w, m, v
      return MakeUpdate<4, 3>(
          call, threads, [=, shrink = 1 - rate * decay](auto i, auto& in, auto& out) {
            const float w = in[0][i], gradient = in[1][i];
            const float m = beta1 * in[2][i] + rest1 * gradient;
            const float v = beta2 * in[3][i] + rest2 * gradient * gradient;
            out[0][i] = w * shrink - rate * m / (std::sqrt(v) + epsilon);
            out[1][i] = m;
            out[2][i] = v;
          });
    default:  // in: w, gradient; out: w
      return MakeUpdate<2, 1>(call, threads, [=](auto i, auto& in, auto& out) {
        const float w = in[0][i];
        out[0][i] = w - rate * (in[1][i] + decay * w);
      });
  }
}

}  // namespace emplace::cpu

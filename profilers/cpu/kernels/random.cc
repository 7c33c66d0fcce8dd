// Random kernels. Each number is a hash of the element's position, so results are the same in every
// run, in any order and on any number of threads.

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

// Returns a number uniform in [0, 1), with 24 bits, from a counter. The hash is the finaliser of
// MurmurHash3 with the constants of https://github.com/skeeto/hash-prospector.
inline float Uniform(std::uint32_t counter) {
  std::uint32_t hash = counter + 0x9E3779B9U;
  hash = (hash ^ (hash >> 16)) * 0x21F0AAADU;
  hash = (hash ^ (hash >> 15)) * 0xD35A2D97U;
  hash ^= hash >> 15;
  return static_cast<float>(static_cast<std::int32_t>(hash >> 8)) * 0x1p-24F;
}

// Arguments are passed by value: writes through `mask`, a pointer to bytes, could alias any
// referenced variable and prevent vectorisation.
inline void Drop(const float* x,
                 std::int64_t begin,
                 std::int64_t end,
                 float probability,
                 float* y,
                 std::uint8_t* mask) {
  const float scale = 1 / (1 - probability);
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t keep = Uniform(static_cast<std::uint32_t>(i)) >= probability ? 1 : 0;
    y[i] = x[i] * (static_cast<float>(keep) * scale);
    mask[i] = static_cast<std::uint8_t>(keep);
  }
}

}  // namespace

std::unique_ptr<ViewKernel> MakeRandomUniform(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&IsContiguous, &MakeRandomUniform, call, threads)) return packed;
  return MakeKernel(
      [n = call.outputs[0].view.num_elements(), threads](void* const*, void* const* out, void*) {
        ParallelPieces(threads, n, 16384, [&](std::int64_t begin, std::int64_t end) {
          float* y = As<float>(out[0]);
#pragma omp simd
          for (std::int64_t i = begin; i < end; ++i) y[i] = Uniform(static_cast<std::uint32_t>(i));
        });
      });
}

std::unique_ptr<ViewKernel> MakeDropout(const KernelCall& call, int threads) {
  const bool is_forward = call.kind == KernelKind::kDropoutForward;
  if (auto packed = PackUnless(&IsContiguous, &MakeDropout, call, threads)) return packed;
  const std::int64_t n = call.outputs[0].view.num_elements();
  const auto alpha = static_cast<float>(call.params.alpha);
  if (!is_forward)
    return MakeKernel([=](void* const* in, void* const* out, void*) {
      ParallelPieces(threads, n, 16384, [&](std::int64_t begin, std::int64_t end) {
        const float* dy = As<float>(in[0]);
        const std::uint8_t* keep = As<std::uint8_t>(in[1]);
        float* dx = As<float>(out[0]);
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i)
          dx[i] = dy[i] * (static_cast<float>(keep[i]) * alpha);
      });
    });
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    ParallelPieces(threads, n, 16384, [&](std::int64_t begin, std::int64_t end) {
      Drop(As<float>(in[0]), begin, end, alpha, As<float>(out[0]), As<std::uint8_t>(out[1]));
    });
  });
}

}  // namespace emplace::cpu

// The proxy kernel for ops without a kernel. It reads every input byte, writes zeros to every
// output byte, and performs multiply-adds in registers for the number of FLOPs of the op.

#include <cstring>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

// Keeps a value alive without storing it.
template <typename T>
inline void KeepAlive(const T& value) {
#if defined(__GNUC__)
  asm volatile("" : : "g"(&value) : "memory");
#else
  static volatile T sink;
  sink = value;
#endif
}

template <typename T>
std::unique_ptr<ViewKernel> MakeRead(const TensorView& view, int threads) {
  const TensorView* const views[] = {&view};
  return MakeKernel([loops = MergeLoops(views), threads](void* const* in, void* const*, void*) {
    const std::int64_t stride = loops.row_stride(0);
    ForEachRow<1>(loops, threads, [&](const auto& at, std::int64_t count) {
      const T* x = As<T>(in[0]) + at[0];
      T bits = 0;
      if (stride == 1) {
#pragma omp simd reduction(^ : bits)
        for (std::int64_t i = 0; i < count; ++i) bits ^= x[i];
      } else {
        for (std::int64_t i = 0; i < count; ++i) bits ^= x[i * stride];
      }
      KeepAlive(bits);
    });
  });
}

// Uses enough independent chains to keep the multiply-add units busy despite their latency.
void MultiplyAdd(int threads, std::int64_t flops) {
  constexpr int kLanes = 16, kChains = 12;
  constexpr std::int64_t kFlopsPerRound = 2 * kLanes * kChains;
  ParallelRanges(threads,
                 (flops + kFlopsPerRound - 1) / kFlopsPerRound,
                 [](std::int64_t begin, std::int64_t end) {
                   float sums[kChains][kLanes] = {};
                   float factor = 0.5F, summand = 1;
                   KeepAlive(factor);
                   for (std::int64_t round = begin; round < end; ++round)
                     for (auto& chain : sums)
#pragma omp simd
                       for (int lane = 0; lane < kLanes; ++lane)
                         chain[lane] = chain[lane] * factor + summand;
                   KeepAlive(sums);
                 });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeProxy(const KernelCall& call, int threads) {
  std::vector<std::shared_ptr<ViewKernel>> reads, writes;
  for (const Argument& input : call.inputs) {
    reads.push_back(
        OfSize(input.view.dtype, [&]<typename T>(T) { return MakeRead<T>(input.view, threads); }));
  }
  for (const Argument& output : call.outputs)
    writes.push_back(MakeFill(PartCall(KernelKind::kFill, {}, {output.view}), threads));
  return MakeKernel([=, flops = static_cast<std::int64_t>(call.params.alpha)](
                        void* const* in, void* const* out, void*) {
    for (std::size_t i = 0; i < reads.size(); ++i) reads[i]->Run(in + i, nullptr, nullptr);
    if (flops > 0) MultiplyAdd(threads, flops);
    for (std::size_t i = 0; i < writes.size(); ++i) writes[i]->Run(nullptr, out + i, nullptr);
  });
}

}  // namespace emplace::cpu

#pragma once

// Hand-written loops for the vector units of the processor that runs the program. Vectorised(body)
// runs a copy of `body` that is compiled for the widest instruction set of the processor; all calls
// in `body` are inlined into that copy. Copies exist only for instruction sets beyond the baseline
// that the whole program is compiled for. With compilers other than GCC, processors other than
// x86-64, or sanitizers, there is only the baseline.

#include <algorithm>
#include <cstdint>

namespace emplace::cpu {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512VL__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

inline InstructionSet WidestInstructionSet() {
  static const InstructionSet widest = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      return InstructionSet::kAvx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return InstructionSet::kAvx2;
    return InstructionSet::kBaseline;
  }();
  return widest;
}

template <typename Body>
[[gnu::flatten, gnu::noinline, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]] void
RunAvx512(const Body& body) {
  body();
}

// If the baseline includes AVX2, this copy is the baseline's.
template <typename Body>
#ifdef __AVX2__
[[gnu::flatten, gnu::noinline]] void RunAvx2(const Body& body) {
#else
[[gnu::flatten, gnu::noinline, gnu::target("avx2,fma")]] void RunAvx2(const Body& body) {
#endif
  body();
}

template <typename Body>
void Vectorised(const Body& body) {
  switch (WidestInstructionSet()) {
    case InstructionSet::kAvx512:
      return RunAvx512(body);
    case InstructionSet::kAvx2:
      return RunAvx2(body);
    case InstructionSet::kBaseline:
#ifdef __AVX2__
      return RunAvx2(body);
#else
      return body();
#endif
  }
}

#else

template <typename Body>
void Vectorised(const Body& body) {
  body();
}

#endif

/// Runs call(f, i) for i in [0, threads), each on its own OpenMP thread.
void RunOnThreads(int threads, void (*call)(const void* f, int i), const void* f);

/// Runs body(begin, end) over a partition of [0, n) into one range per thread, each vectorised.
/// With one thread it enters no parallel region.
template <typename Body>
void ParallelRanges(int threads, std::int64_t n, const Body& body) {
  if (n <= 0) return;
  const std::int64_t ranges = std::clamp<std::int64_t>(threads, 1, n);
  const auto run = [&](std::int64_t i) {
    Vectorised([&] { body(n * i / ranges, n * (i + 1) / ranges); });
  };
  if (ranges == 1) return run(0);
  RunOnThreads(
      static_cast<int>(ranges),
      [](const void* f, int i) { (*static_cast<const decltype(run)*>(f))(i); },
      &run);
}

/// Runs f(begin, end) over pieces of [0, n) of at most `piece` elements, spread over the threads.
template <typename F>
void ParallelPieces(int threads, std::int64_t n, std::int64_t piece, const F& f) {
  ParallelRanges(threads, (n + piece - 1) / piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i * piece, std::min(n, (i + 1) * piece));
  });
}

}  // namespace emplace::cpu

#pragma once

// What the tests of kernels have in common: running calls against the reference.

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {

/// Prepares, launches on garbage in outputs and scratch, compares with the reference.
/// @param prepare  KernelCall -> pointer to something like a CudaKernel on the CPU
template <class Prepare>
void CheckSample(const SampleCall& sample, Rng& rng, const Prepare& prepare) {
  CAPTURE(sample.name);
  const OpBuffers before = RandomBuffers(sample, rng);
  OpBuffers expected = before, actual = before;
  RunReference(sample.call, expected);
  const auto kernel = prepare(sample.call);
  constexpr std::size_t kAlignment = 256;
  std::vector<char> scratch(kernel->scratch_bytes() + kAlignment, '\x7f');
  void* aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(kAlignment, 1, aligned, space);
  kernel->Launch(actual.inputs().data(), actual.outputs().data(), aligned, nullptr);
  CHECK_EQ(CompareOutputs(sample.call, before, expected, actual), "");
}

/// The sample calls of some kinds. @return how many there were
template <class Prepare>
int CheckSamples(std::initializer_list<KernelKind> kinds, const Prepare& prepare) {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 3 * EMPLACE_TEST_SCALE; ++seed) {
    Rng rng(seed);
    for (const SampleCall& sample : SampleCalls(seed)) {
      if (std::ranges::count(kinds, sample.call.kind) == 0) continue;
      CAPTURE(seed);
      CheckSample(sample, rng, prepare);
      ++checked;
    }
  }
  return checked;
}

}  // namespace emplace::testing

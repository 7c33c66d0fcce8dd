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

/// A call of given views, each of a tensor of its own.
inline SampleCall CallOf(KernelKind kind,
                         const KernelParams& params,
                         const std::vector<TensorView>& inputs,
                         const std::vector<TensorView>& outputs) {
  SampleCall sample;
  sample.name = ToString(kind);
  sample.call.kind = kind;
  sample.call.params = params;
  const auto add = [](const std::vector<TensorView>& views,
                      bool is_output,
                      std::vector<Argument>& arguments,
                      std::vector<std::int64_t>& bytes) {
    for (const TensorView& view : views) {
      arguments.push_back({is_output, static_cast<int>(arguments.size()), view});
      bytes.push_back(view.end_bytes());
    }
  };
  add(inputs, false, sample.call.inputs, sample.input_bytes);
  add(outputs, true, sample.call.outputs, sample.output_bytes);
  sample.shared.assign(outputs.size(), -1);
  return sample;
}

inline TensorView Floats(std::vector<std::int64_t> shape) {
  return ContiguousView(DType::kF32, std::move(shape));
}

/// The same elements with dimensions in another order: Permuted(v, p).shape[i] = v.shape[p[i]].
inline TensorView Permuted(const TensorView& view, const std::vector<int>& order) {
  TensorView result = view;
  for (std::size_t d = 0; d < order.size(); ++d) {
    result.shape[d] = view.shape[order[d]];
    result.strides[d] = view.strides[order[d]];
  }
  return result;
}

/// [n, c, h, w] that lies as NHWC.
inline TensorView Nhwc(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return Permuted(Floats({n, h, w, c}), {0, 3, 1, 2});
}

}  // namespace emplace::testing

#pragma once

// The reference that every backend's kernels are compared with: each kernel in plain loops and
// double precision, random calls for all of them, and the comparison. A backend's test is one loop:
//
//   for (const SampleCall& sample : SampleCalls(/*seed=*/1)) {
//     CAPTURE(sample.name);
//     const OpBuffers before = RandomBuffers(sample, rng);
//     OpBuffers expected = before, actual = before;
//     RunReference(sample.call, expected);
//     PrepareMyKernel(sample.call)->Run(actual.inputs().data(), actual.outputs().data(), ...);
//     CHECK_EQ(CompareOutputs(sample.call, before, expected, actual), "");
//   }
//
// A backend with memory of its own copies `before` there and back. Outputs that share an input's
// storage (in-place updates) have the input's address.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/align/aligned_allocator.hpp>

#include "framework/base/random.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::testing {

/// The storage of one tensor, 64-byte aligned.
using Buffer = std::vector<std::byte, boost::alignment::aligned_allocator<std::byte, 64>>;

/// The storage of all tensors of one op. Copies are deep.
struct OpBuffers {
  std::vector<Buffer> input_storage, output_storage;
  std::vector<int> shared;  ///< [outputs] input whose storage the output has, or -1

  /// Addresses as kernels take them; valid until the storage changes.
  std::vector<void*> inputs();
  std::vector<void*> outputs();
  Buffer& output(int index);
};

/// A call with the sizes of the storage of the op it belongs to. Storage is larger than the views
/// in places, and the views have offsets and holes.
struct SampleCall {
  std::string name;  ///< "conv_forward: nhwc depthwise 3 window [2,3] ..."
  KernelCall call;
  std::vector<std::int64_t> input_bytes, output_bytes;  ///< [B]; 0 for shared outputs
  std::vector<int> shared;                              ///< as in OpBuffers
};

/// A call of one kind (any but kProxy too) with random shapes and layouts, a fifth of them large
/// enough for several blocks of a parallel kernel: NCHW and NHWC, transposed operands,
/// broadcasting, holes, groups, dilation, asymmetric padding, in place.
SampleCall RandomCall(KernelKind kind, Rng& rng);

/// Calls of every kind, kProxy included: random ones and, for kElementwise and kReduce, at least
/// three of every function. The same for the same seed.
std::vector<SampleCall> SampleCalls(std::uint64_t seed);

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

/// Random bytes that mean something to the call: indices and labels of all signs, bools 0 or 1,
/// positive variances and divisors, a pooling's y and indices of its x. Other bytes, those of the
/// outputs included, are random.
OpBuffers RandomBuffers(const SampleCall& sample, Rng& rng);

/// Reads all inputs, computes in double, writes all outputs rounded to their dtypes. kProxy writes
/// zeros. kDropoutForward and kRandomUniform draw from a hash of the element's position; backends
/// may use another hash.
/// @param inputs, outputs  of the op: where each tensor's storage starts
void RunReference(const KernelCall& call, void* const* inputs, void* const* outputs);
void RunReference(const KernelCall& call, OpBuffers& buffers);

/// max |a - b| <= Tolerance(call) * (1 + |b|): f32 rounding over as many terms as the kernel adds.
double Tolerance(const KernelCall& call);

/// Empty, or what is wrong: the output, the element's position, both values. Integers and bools
/// must be equal, and so must bytes outside the output views. Of the random kernels the
/// distribution is checked instead of `expected`, of kProxy only that it writes nowhere else.
/// @param before  as all kernels found them
std::string CompareOutputs(const KernelCall& call,
                           const OpBuffers& before,
                           const OpBuffers& expected,
                           const OpBuffers& actual);

/// Elements of a view in row-major order, integers and bools as numbers.
std::vector<double> ReadElements(const TensorView& view, const void* storage);
/// The other way, rounded to the view's dtype.
void WriteElements(const TensorView& view, const std::vector<double>& values, void* storage);

}  // namespace emplace::testing

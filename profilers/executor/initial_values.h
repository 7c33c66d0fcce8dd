#pragma once

// The initial memory contents: in a plan, of the tensors that no op of the graph computes (graph
// inputs and parameters); in an op that is timed alone (Backend::OpSampler), of all of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/executor/address.h"
#include "profilers/kernels/op_work.h"

namespace emplace {

/// Bytes to be set before the first step.
struct InitialValue {
  /// kRandom: uniform in [-0.1, 0.1); kIndices: integers in [0, 100003); kScalar: 1e-3 everywhere.
  enum class Fill : std::uint8_t { kRandom, kIndices, kScalar, kZero };
  Address address;
  std::int64_t bytes = 0;  ///< [B]
  Fill fill = Fill::kRandom;
  DType dtype = DType::kF32;  ///< of the elements
  int tensor = -1;            ///< seeds the numbers, so that they are the same for every placement
};

/// Returns the initial value of a tensor: for floats kRandom, but kScalar for optimiser state and
/// single numbers; for integers kIndices; kZero for booleans and for dtypes without kernels.
/// @param id  of the tensor
InitialValue InitialValueOf(const Tensor& tensor, int id, Address address);

/// Returns the bytes of an initial value, the same on every machine and for every placement.
/// @return [value.bytes]
std::vector<std::byte> InitialBytes(const InitialValue& value);

/// One entry per input and output of the op. `tensor` counts them; the backend sets addresses.
struct OpMemory {
  std::vector<InitialValue> inputs, outputs;
};

/// Returns the initial values of the inputs and outputs of an op. Each entry has the larger of the
/// given size and the extent that the op's calls access. Its values depend on the dtype in those
/// calls: random for f32, indices for integers, zeros for bool (masks and the plain bytes of
/// proxies) and for memory that no call accesses.
/// @param input_bytes, output_bytes  of the storage at which the views of each argument start [B]
/// @throws std::out_of_range if a call names an argument that the op does not have
OpMemory MemoryOf(const OpWork& work,
                  std::span<const std::int64_t> input_bytes,
                  std::span<const std::int64_t> output_bytes);

}  // namespace emplace

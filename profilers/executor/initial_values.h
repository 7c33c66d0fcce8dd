#pragma once

// The initial memory contents of tensors that no op of the graph computes: graph inputs and
// parameters.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/executor/address.h"
#include "profilers/kernels/kernel_call.h"

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

}  // namespace emplace

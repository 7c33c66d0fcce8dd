#pragma once

// The memory contents of an op that is timed alone (Backend::OpSampler).

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace {

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

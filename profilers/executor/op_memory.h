#pragma once

// What the memory of an op that is timed alone has to hold (Backend::OpSampler).

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace {

/// One entry per input and output of the op; `tensor` counts them, addresses are the backend's.
struct OpMemory {
  std::vector<InitialValue> inputs, outputs;
};

/// Each entry is as large as given and as far as the op's calls reach into it, and holds what its
/// dtype in those calls asks for: random f32, indices for integers, zeros for bool (masks and the
/// plain bytes of proxies) and for what no call touches.
/// @param input_bytes, output_bytes  of the storage that each argument's views start at [B]
/// @throws std::out_of_range if a call names an argument that the op does not have
OpMemory MemoryOf(const OpWork& work,
                  std::span<const std::int64_t> input_bytes,
                  std::span<const std::int64_t> output_bytes);

}  // namespace emplace

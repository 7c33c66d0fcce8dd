#pragma once

// Evaluator on a model: exact discrete-event simulation of one training step in one of two
// semantics,
//
//   queue (Q)   devices and channels serve first come, first served by ready time (TensorFlow-like
//               executors, Placeto, FlexFlow)
//   stream (S)  every device and channel is an in-order stream fed in one fixed issue order (CUDA
//               streams; what our own executor does)
//
// both defined to the nanosecond, with peak memory per device. Problem data is compiled once into
// flat arrays; an evaluation allocates nothing. reference.h holds the plain implementation of the
// same semantics that this one is tested against bit for bit.

#include <memory>
#include <string_view>

#include "framework/search/evaluator.h"

namespace emplace {

enum class Semantics : std::uint8_t { kQueue, kStream };
std::string_view ToString(Semantics semantics);
/// @throws InputError naming `where` and the choices queue, stream
Semantics ParseSemantics(std::string_view text, std::string_view where);

struct SimulatorOptions {
  Semantics semantics = Semantics::kQueue;
  /// Step time also counts the gaps behind the last op and transfer of every server (as the
  /// published Placeto simulator does).
  bool count_gaps = false;
  /// false: peaks are left 0 and every placement is feasible (for measuring the cost of memory).
  bool memory = true;
  /// Threads for a batch of placements.
  int threads = 1;
  /// false: a transfer never waits for its channel, however many are on it (for measuring what
  /// contention explains).
  bool channel_contention = true;
};

/// @throws InputError if the sums of costs could overflow
std::unique_ptr<Evaluator> MakeSimulator(std::shared_ptr<const Problem> problem,
                                         const SimulatorOptions& options);

}  // namespace emplace

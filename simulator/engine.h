#pragma once

// What the two fast engines share: one engine per semantics and thread, holding the compiled
// problem by reference and every buffer that a run needs, so that a run allocates nothing.

#include <memory>
#include <vector>

#include "simulator/compiled_problem.h"
#include "simulator/simulator.h"

namespace emplace {

class Engine {
 public:
  virtual ~Engine() = default;
  /// Simulates one placement. @param device  [num_ops] by position, all allowed
  virtual void Run(const std::uint8_t* device, const OutcomeDetail& detail, Outcome& outcome) = 0;
};

struct EngineOptions {
  bool count_gaps = false;
  bool memory = true;
  bool channel_contention = true;
};

/// @param problem  compiled in id order; outlives the engine
std::unique_ptr<Engine> MakeQueueEngine(const CompiledProblem& problem,
                                        const EngineOptions& options);
/// @param problem  compiled in issue order; outlives the engine
std::unique_ptr<Engine> MakeStreamEngine(const CompiledProblem& problem,
                                         const EngineOptions& options);

/// Servers of one run: when each is free again.
struct ServerState {
  explicit ServerState(const CompiledProblem& problem);
  void Reset();
  /// The slot of device d that is free first. @return index into `slot_free`
  int PickSlot(int d) const {
    int best = slot_begin[d];
    for (int slot = best + 1; slot < slot_begin[d + 1]; ++slot) {
      if (slot_free[slot] < slot_free[best]) best = slot;
    }
    return best;
  }
  Nanos LatestFree() const;

  std::vector<int> slot_begin;      ///< [num_devices + 1]
  std::vector<Nanos> slot_free;     ///< [total slots]
  std::vector<Nanos> channel_free;  ///< [num_channels]
  std::vector<Nanos> busy;          ///< [num_devices]
};

/// Sizes the outcome's vectors and clears what is summed up.
void PrepareOutcome(const CompiledProblem& problem, const OutcomeDetail& detail, Outcome& outcome);
/// Copies busy times and peaks, computes deficits. @param peak  [num_devices] [B]
void FinishOutcome(const CompiledProblem& problem,
                   const ServerState& servers,
                   const std::vector<std::int64_t>& peak,
                   Outcome& outcome);

}  // namespace emplace

#pragma once

// The engine interface, the existing engines, and their shared code. An engine is the fast
// implementation of one semantics. There is one engine per thread; it refers to the compiled
// problem and owns every buffer of a run, so a run allocates no memory.
//
// Internal to the simulator: other code calls MakeSimulator() (simulator.h), which checks
// placements, expands groups to ops and divides a batch among the threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/evaluator.h"
#include "simulator/engine/compiled_problem.h"

namespace emplace {

/// The outputs of a run beyond the step time and busy times.
struct RunDetail : OutcomeDetail {
  bool peaks = true;     ///< false: DeviceOutcome::peak may be 0 if the placement fits
  bool deficits = true;  ///< false, with `peaks` false too: no memory field has to be right
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Simulates one placement and sets every field of `outcome`.
  /// @param device  [num_ops] by position, all allowed, with every route that they need; read until
  ///   the call returns
  virtual void Run(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) = 0;

  /// Prepares for the neighbours of a placement, if this saves time.
  /// @param base   [num_groups] devices, as Run() requires them
  /// @param count  number of neighbours that will be simulated
  /// @return false: the caller simulates the neighbours with Run() and must not call RunNeighbor()
  virtual bool SetBase(std::span<const std::uint8_t> /*base*/, size_t /*count*/) { return false; }
  /// Simulates a neighbour of the base of the last SetBase() call.
  /// @param moves  moves of groups
  virtual void RunNeighbor(std::span<const Move> moves, const RunDetail& detail, Outcome& outcome);
};

/// The part of SimulatorOptions for engines; simulator.h gives the meaning of each field.
struct EngineOptions {
  bool count_gaps = false;
  bool memory = true;
  bool channel_contention = true;
};

/// Most hops of a route in queue semantics: the key of a transfer has six bits for the hop.
inline constexpr int kQueueMostHops = 63;

/// Makes the engine of queue semantics.
/// @param problem  compiled in id order, with routes of at most kQueueMostHops hops; outlives the
///   engine
std::unique_ptr<Engine> MakeQueueEngine(const CompiledProblem& problem,
                                        const EngineOptions& options);
/// Makes the engine of stream semantics.
/// @param problem  compiled in issue order; outlives the engine
std::unique_ptr<Engine> MakeStreamEngine(const CompiledProblem& problem,
                                         const EngineOptions& options);

/// Makes the engine of interference semantics.
/// @param problem  compiled in issue order; outlives the engine
std::unique_ptr<Engine> MakeInterferenceEngine(const CompiledProblem& problem,
                                               const EngineOptions& options);

/// The servers of one run: when each is free again, and how long the devices have worked. A server
/// is a slot of a device, or a channel.
struct ServerState {
  explicit ServerState(const CompiledProblem& problem);
  /// Sets all servers free at 0, and all busy times to 0.
  void Reset();
  /// Returns the slot of device `d` that is free first, the least index on ties. @return index into
  /// `slot_free`
  int PickSlot(int d) const {
    int best = slot_begin[d];
    for (int slot = best + 1; slot < slot_begin[d + 1]; ++slot) {
      if (slot_free[slot] < slot_free[best]) best = slot;
    }
    return best;
  }
  /// Takes the slots of `source` and `destination` that a transfer on `channel` occupies, if any,
  /// for `wire` [ns]. @return its start: `earliest`, or later when the slots are free [ns]
  Nanos Occupy(const CompiledProblem& problem,
               int channel,
               int source,
               int destination,
               Nanos earliest,
               Nanos wire);
  /// Returns the time at which the last server is free again, gaps included, for `count_gaps`. [ns]
  Nanos LatestFree() const;

  std::vector<int> slot_begin;      ///< [num_devices + 1] into `slot_free`
  std::vector<Nanos> slot_free;     ///< [total slots] [ns]
  std::vector<Nanos> channel_free;  ///< [num_channels] [ns]
  std::vector<Nanos> busy;          ///< [num_devices] DeviceOutcome's busy time so far [ns]
};

/// Prepares the outcome of a run: sizes its vectors as `detail` asks, and clears the sums.
void PrepareOutcome(const CompiledProblem& problem, const OutcomeDetail& detail, Outcome& outcome);

/// Completes the outcome of a run: fills in busy times and peaks, and from the peaks the deficits
/// and `feasible`. The engine itself fills in step time, channels and op times.
/// @param peak  [num_devices] [B]
void FinishOutcome(const CompiledProblem& problem,
                   const ServerState& servers,
                   const std::vector<std::int64_t>& peak,
                   Outcome& outcome);

}  // namespace emplace

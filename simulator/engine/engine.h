#pragma once

// What an engine is, the engines there are, and what they share. An engine is the fast
// implementation of one semantics. There is one per thread; it holds the compiled problem by
// reference and every buffer that a run needs, so that a run allocates nothing.
//
// Internal to the simulator: others ask MakeSimulator() (simulator.h), which checks placements,
// expands groups to ops and shares a batch among the threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/evaluator.h"
#include "simulator/engine/compiled_problem.h"

namespace emplace {

/// What to compute beyond the step time and busy times.
struct RunDetail : OutcomeDetail {
  bool peaks = true;     ///< false: DeviceOutcome::peak may be 0 where there is no deficit
  bool deficits = true;  ///< false, and `peaks` too: nothing of memory needs to be right
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Simulates one placement. Every field of `outcome` is set, whatever it held before.
  /// @param device  [num_ops] by position: all allowed, every route that they need present; read
  ///   until the call returns
  virtual void Run(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) = 0;

  /// Makes ready for neighbours of a placement, if that pays.
  /// @param base   [num_groups] as Run() wants it
  /// @param count  neighbours that will be asked for
  /// @return false: RunNeighbor() is not to be called; the neighbours are to be simulated by Run()
  virtual bool SetBase(std::span<const std::uint8_t> /*base*/, size_t /*count*/) { return false; }
  /// Simulates a neighbour of the placement for which SetBase() has last been called.
  /// @param moves  of groups
  virtual void RunNeighbor(std::span<const Move> moves, const RunDetail& detail, Outcome& outcome);
};

/// What of SimulatorOptions concerns an engine; the meaning of each is told there.
struct EngineOptions {
  bool count_gaps = false;
  bool memory = true;
  bool channel_contention = true;
};

/// Most hops of a route in queue semantics: the key of a transfer has six bits for the hop.
inline constexpr int kQueueMostHops = 63;

/// Queue semantics.
/// @param problem  compiled in id order, with routes of at most kQueueMostHops hops; outlives the
///   engine
std::unique_ptr<Engine> MakeQueueEngine(const CompiledProblem& problem,
                                        const EngineOptions& options);
/// Stream semantics.
/// @param problem  compiled in issue order; outlives the engine
std::unique_ptr<Engine> MakeStreamEngine(const CompiledProblem& problem,
                                         const EngineOptions& options);

/// Interference semantics.
/// @param problem  compiled in issue order; outlives the engine
std::unique_ptr<Engine> MakeInterferenceEngine(const CompiledProblem& problem,
                                               const EngineOptions& options);

/// The servers of one run: when each is free again, and how long the devices have worked. A server
/// is a slot of a device or a channel.
struct ServerState {
  explicit ServerState(const CompiledProblem& problem);
  /// Everything free at 0.
  void Reset();
  /// The slot of device `d` that is free first, the least index on ties. @return index into
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
  /// When the last server is free again, gaps included: what `count_gaps` asks for. [ns]
  Nanos LatestFree() const;

  std::vector<int> slot_begin;      ///< [num_devices + 1] into `slot_free`
  std::vector<Nanos> slot_free;     ///< [total slots] [ns]
  std::vector<Nanos> channel_free;  ///< [num_channels] [ns]
  std::vector<Nanos> busy;          ///< [num_devices] of DeviceOutcome, so far [ns]
};

/// For the beginning of a run: sizes the vectors of an outcome as `detail` asks, and clears what is
/// summed up in them.
void PrepareOutcome(const CompiledProblem& problem, const OutcomeDetail& detail, Outcome& outcome);

/// For its end: fills in busy times and peaks, and from the peaks the deficits and `feasible`. The
/// step time, channels and op times are left to the engine.
/// @param peak  [num_devices] [B]
void FinishOutcome(const CompiledProblem& problem,
                   const ServerState& servers,
                   const std::vector<std::int64_t>& peak,
                   Outcome& outcome);

}  // namespace emplace

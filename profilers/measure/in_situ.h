#pragma once

// Op and copy times out of whole steps: what an op takes among its neighbours, with caches, memory
// bandwidth and clocks as they are there; and what passes between commands.
//
// Of each command the plan tells what it waits for: its own stream's command before it and commands
// of other streams. A command that was ready before its predecessor even started was held up by
// its stream alone: the time from the predecessor's finish to its start is the stream's gap. A
// command that became ready only when its stream had long been free was held up by what it waited
// for: the time from there to its start is the wait.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"
#include "profilers/executor/executor.h"
#include "profilers/statistics/link_fit.h"

namespace emplace {

/// LinkMeasurement::memory of copies seen in whole steps.
inline constexpr const char* kInSituMemory = "in_situ";

class InSituTimings {
 public:
  /// Takes in the traced steps of one placement. Ops without work (storage, views) are no
  /// measurements: the model has them for free.
  /// @param device_of_op  [num_ops]
  void Add(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const StepMeasurement& measurement);
  /// Median per (signature, device kind) into OpMeasurement::in_situ; ops that the table does not
  /// know yet are added.
  void WriteOps(CostTable& table) const;
  /// Copies per channel into CostTable::links, memory kInSituMemory: a point per size, and the one
  /// range of FitChannel. Only of channels between two devices; what the table had is replaced.
  void WriteCopies(CostTable& table) const;
  /// What passes between commands: into every kind's `gap` (after an op: LowerMean, so
  /// that commands without work in between count and long interruptions do not) and `launch`
  /// (from the step's start to the first command's, median), and DispatchCosts::wait_ns (median; a
  /// copy's wait counts under its source's kind). What was not seen at least kMinSeen times stays.
  /// Steps dispatched eagerly tell nothing of this kind: there the host may be what is late.
  void WriteGaps(CostTable& table) const;
  /// Sizes and times of the copies seen on a channel, weighted by how often each was seen.
  std::vector<LinkPoint> CopiesOn(const std::string& channel) const;

  static constexpr size_t kMinSeen = 5;

 private:
  struct OpSamples {
    OpMeasurement op;  ///< without timings
    std::vector<double> timings;
  };
  struct ChannelSamples {
    std::set<std::pair<std::string, std::string>> ends;   ///< device names; "" for staging
    std::map<std::int64_t, std::vector<double>> timings;  ///< by size [B]
  };
  struct KindSamples {
    DeviceKind kind;
    std::vector<double> gaps;  ///< [ns]
    /// How long the stream had been free, and the wait [ns]
    std::vector<std::pair<double, double>> waits;
    std::vector<double> starts;  ///< of first commands since the step's start [ns]
  };
  void AddBetween(const Problem& problem, const ExecutionPlan& plan, const StepRecord& trace);

  std::map<std::pair<std::string, std::string>, OpSamples> ops_;  // (device kind, signature)
  std::map<std::string, ChannelSamples> copies_;                  // by channel name
  std::map<std::string, KindSamples> kinds_;                      // by kind name
};

}  // namespace emplace

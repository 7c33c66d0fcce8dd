#pragma once

// Times of ops and copies in whole steps ("in situ"), with the caches, memory bandwidth and clocks
// that they have among their neighbours, and the times between commands.
//
// The plan gives the dependencies of each command: the command before it on its own stream, and
// commands of other streams. Two cases are measured:
//   gap   All that the command waits for on other streams had finished before its predecessor
//         started. Only its own stream delayed it: the time from the predecessor's finish to its
//         start is the gap of the device's stream.
//   wait  Its stream was free when the last command that it waits for finished. The time from that
//         finish to its start is the cost of waiting for another stream.

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
#include "profilers/measure/traced_steps.h"
#include "profilers/statistics/link_fit.h"

namespace emplace {

/// LinkMeasurement::memory of copies seen in whole steps.
inline constexpr const char* kInSituMemory = "in_situ";

/// Collects the traced steps of any number of placements, graphs and problems on one machine, and
/// writes the resulting costs into a cost table.
class InSituTimings {
 public:
  /// Adds the traced steps of one placement. Ops without work (storage, views) are left out: their
  /// simulated time is 0.
  /// @param device_of_op  [num_ops]    @param measurement  of Executor::Measure()
  void Add(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const StepMeasurement& measurement);
  /// Adds the steps of another collection from the same machine.
  void Add(const InSituTimings& other);
  /// Returns a copy that treats all reads as warm, for the ablation.
  InSituTimings WithoutColdReads() const;
  /// Writes ops, copies and, unless steps are dispatched eagerly, the times between commands.
  void Write(CostTable& table, DispatchMode mode) const;
  /// Writes the timings per (signature, device kind) into OpMeasurement::in_situ and adds ops that
  /// the table lacks. The times are for warm reads: the cost of cold reads, as found by
  /// WriteColdReads(), is subtracted. Calls WriteColdReads(). If devices have neighbours, also
  /// calls WriteStepInterference() and writes OpMeasurement::apart_ns.
  void WriteOps(CostTable& table) const;
  /// Writes DeviceKind::cold_read of each kind: the additional time of ops per byte that arrived
  /// from another device. For each signature seen with and without such bytes, the difference of
  /// the median times is divided by the difference of bytes; the result is the weighted median over
  /// the signatures. There is none if fewer than kMinSeen signatures have such runs, or if those
  /// are not slower.
  void WriteColdReads(CostTable& table) const;
  /// Writes the copies per channel into CostTable::links with memory kInSituMemory, as a point per
  /// size and the range of FitChannel(), in place of the table's earlier ones. Channels that only
  /// lead to or from the staging area are left out.
  void WriteCopies(CostTable& table) const;
  /// Writes times between commands per device kind: `gap` (LowerMean() after an op, which includes
  /// commands without work in between but no long interruptions), `launch` (median from the step's
  /// start to the start of the first command) and DispatchCosts::wait_ns (LowerMean(); a copy's
  /// wait counts for the kind of its source). A quantity seen fewer than kMinSeen times keeps the
  /// table's value. Only for steps that were submitted as a whole: with eager dispatch the delay
  /// may be the host's.
  void WriteGaps(CostTable& table) const;
  /// Returns sizes and times of the copies seen on a channel, weighted by how often each was seen.
  std::vector<LinkPoint> CopiesOn(const std::string& channel) const;

  static constexpr size_t kMinSeen = 5;

 private:
  struct OpSamples {
    OpMeasurement op;                                     ///< without timings
    std::map<std::int64_t, std::vector<double>> timings;  ///< by bytes read cold [B] -> [ns]
  };
  struct ChannelSamples {
    std::set<std::pair<std::string, std::string>> ends;   ///< device names; "" for staging
    std::map<std::int64_t, std::vector<double>> timings;  ///< by size [B]
  };
  struct KindSamples {
    DeviceKind kind;
    std::vector<double> gaps;  ///< [ns]
    /// Time for which the stream had been free, and the wait [ns]
    std::vector<std::pair<double, double>> waits;
    std::vector<double> starts;  ///< of first commands since the step's start [ns]
  };
  /// Returns the cold read cost of a kind [ns/B]; 0: none
  double ColdNanosPerByte(const std::string& kind) const;
  void AddBetween(const Problem& problem, const ExecutionPlan& plan, const StepRecord& trace);

  std::map<std::pair<std::string, std::string>, OpSamples> ops_;  // (device kind, signature)
  std::map<std::string, ChannelSamples> copies_;                  // by channel name
  std::map<std::string, KindSamples> kinds_;                      // by kind name
  TracedSteps steps_;                                             // where devices have neighbours
};

}  // namespace emplace

#pragma once

// Times of ops and copies as they are in whole steps ("in situ"), with the caches, memory bandwidth
// and clocks that they have among their neighbours, and the times between commands.
//
// The plan says what each command waits for: the command before it on its own stream, and commands
// of other streams. Two cases tell something:
//   gap   All that the command waits for on other streams had finished before its predecessor even
//         started. Only its stream held it up: the time from the predecessor's finish to its start
//         is the gap of the device's stream.
//   wait  Its stream was free when the last command that it waits for finished. The time from that
//         finish to its start is what waiting for another stream costs.

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

/// Collects traced steps of any number of placements, graphs and problems on one machine, and
/// writes what they say into a cost table.
class InSituTimings {
 public:
  /// Adds the traced steps of one placement. Ops without work (storage, views) are left out: the
  /// simulation takes no time for them.
  /// @param device_of_op  [num_ops]    @param measurement  of Executor::Measure()
  void Add(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const StepMeasurement& measurement);
  /// Adds all that another collection has seen on the same machine.
  void Add(const InSituTimings& other);
  /// The same as if all reads had been warm, for the ablation.
  InSituTimings WithoutColdReads() const;
  /// Writes ops, copies and, unless steps are dispatched eagerly, the times between commands.
  void Write(CostTable& table, DispatchMode mode) const;
  /// Timings per (signature, device kind) into OpMeasurement::in_situ; ops that the table does not
  /// know yet are added. They are those of warm reads: what cold ones cost by WriteColdReads(),
  /// which is called, too, is taken off. Where devices have neighbours, also what these cost
  /// (WriteStepInterference()), and OpMeasurement::apart_ns.
  void WriteOps(CostTable& table) const;
  /// DeviceKind::cold_read of each kind: how much longer ops take for a byte that arrived from
  /// another device. It is the weighted median over signatures that were seen with and without such
  /// bytes, of the difference of the medians over the difference of bytes. None where fewer than
  /// kMinSeen signatures tell, or they are not slower.
  void WriteColdReads(CostTable& table) const;
  /// Copies per channel into CostTable::links with memory kInSituMemory: a point per size and the
  /// range of FitChannel(), instead of those the table had. Channels that only lead to or from the
  /// staging area are left out.
  void WriteCopies(CostTable& table) const;
  /// Times between commands, per device kind: `gap` (LowerMean() after an op, which counts commands
  /// without work in between but no long interruptions), `launch` (median from the step's start to
  /// the first command's) and DispatchCosts::wait_ns (LowerMean(); a copy's wait counts under the
  /// kind of its source). A figure seen fewer than kMinSeen times stays as the table has it. Only
  /// for steps that were handed over whole: with eager dispatch the host may be what is late.
  void WriteGaps(CostTable& table) const;
  /// Sizes and times of the copies seen on a channel, weighted by how often each was seen.
  std::vector<LinkPoint> CopiesOn(const std::string& channel) const;

  static constexpr size_t kMinSeen = 5;

 private:
  struct OpSamples {
    OpMeasurement op;                                     ///< without timings
    std::map<std::int64_t, std::vector<double>> timings;  ///< by what it read cold [B] -> [ns]
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
  /// [ns/B] of a kind; 0: none
  double ColdNanosPerByte(const std::string& kind) const;
  void AddBetween(const Problem& problem, const ExecutionPlan& plan, const StepRecord& trace);

  std::map<std::pair<std::string, std::string>, OpSamples> ops_;  // (device kind, signature)
  std::map<std::string, ChannelSamples> copies_;                  // by channel name
  std::map<std::string, KindSamples> kinds_;                      // by kind name
  TracedSteps steps_;                                             // where devices have neighbours
};

}  // namespace emplace

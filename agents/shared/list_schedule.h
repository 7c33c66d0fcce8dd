#pragma once

// Building blocks of the list scheduling heuristics (HEFT, CPOP, PEFT, ETF): op ranks, arrival
// times of an op's inputs on a device, and a schedule to which ops are added one by one.
//
// Communication follows the classical papers: a message takes the time of its route without other
// traffic, and messages never wait for each other (in the simulator they do). All data that op u
// sends to op v is one message. Nothing is sent within a device.
//
// Two extensions of the classical papers:
// - Groups. Ops are scheduled one by one, and the first scheduled op of a group fixes the device of
//   the whole group. Dependencies between two groups may therefore go in both directions.
// - Free sources: ops without predecessors and without cost on any device (parameters, constants,
//   inputs). If scheduled like other ops, they would tie at time 0 on every device, go to the first
//   one, and pull their readers there. Instead they are ready at time 0 on all their allowed
//   devices, and are placed with their first scheduled reader.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "agents/shared/idle_times.h"
#include "framework/base/interrupt.h"
#include "framework/search/problem.h"

namespace emplace {

/// A dependency of an op on a predecessor.
struct OpInput {
  int op = 0;              ///< predecessor
  std::int64_t bytes = 0;  ///< size of the distinct tensors sent, 0 for control only [B]
};

/// The inputs of each op, `inputs[op]`, in ascending order of predecessors.
class OpInputs {
 public:
  explicit OpInputs(const Graph& graph);
  std::span<const OpInput> operator[](int op) const {
    return {inputs_.data() + offsets_[op], inputs_.data() + offsets_[op + 1]};
  }

 private:
  std::vector<int> offsets_;
  std::vector<OpInput> inputs_;
};

/// Mean time of a message over the ordered pairs of distinct devices of a mask that are connected
/// by a route: fixed + per_byte * bytes [ns]. 0 for fewer than two devices.
struct MeanCommunication {
  double fixed = 0, per_byte = 0;
  double operator()(std::int64_t bytes) const {
    return fixed + per_byte * static_cast<double>(bytes);
  }
};
MeanCommunication ComputeMeanCommunication(const Cluster& cluster, std::uint64_t devices);

/// Returns the mean cost of each op over the candidate devices of its group. @return [num_ops] [ns]
std::vector<double> MeanOpCosts(const Problem& problem, std::uint64_t preferred);

/// Returns rank_u(v) = w(v) + max over successors s of (c(v, s) + rank_u(s)), with mean costs w and
/// mean communication c, 0 within a group. @return [num_ops] [ns]
std::vector<double> UpwardRanks(const Problem& problem,
                                const OpInputs& inputs,
                                const std::vector<double>& cost,
                                const MeanCommunication& communication);

/// Returns rank_d(v) = max over predecessors p of (rank_d(p) + w(p) + c(p, v)), 0 without
/// predecessors. @return [num_ops] [ns]
std::vector<double> DownwardRanks(const Problem& problem,
                                  const OpInputs& inputs,
                                  const std::vector<double>& cost,
                                  const MeanCommunication& communication);

/// Returns the ops by descending rank. Ranks that are equal to a thousandth of a nanosecond keep
/// the topological order. For upward ranks the result is a topological order.
std::vector<int> OrderByRank(const Graph& graph, const std::vector<double>& rank);

class ListSchedule {
 public:
  /// @param preferred  devices to use; a group allowed on none of them may use all its devices
  ListSchedule(const Problem& problem, const OpInputs& inputs, std::uint64_t preferred);

  bool IsFreeSource(int op) const { return free_source_[op]; }
  bool IsScheduled(int op) const { return finish_[op] >= 0; }
  /// Returns the candidate devices of the op, or its group's device once that is fixed. Never 0.
  std::uint64_t CandidatesOf(int op) const;
  /// Returns the latest arrival of the op's inputs on a device. [ns]
  /// @pre all predecessors are scheduled or free sources
  Nanos DataReady(int op, int device) const;
  /// Returns the earliest start at or after `ready`: in any idle interval with `insertion`, else
  /// after the last op of a slot. With insertion, an op without cost starts at `ready` and occupies
  /// no time of the device. [ns]
  Nanos EarliestStart(int op, int device, Nanos ready, bool insertion) const;
  /// Sets the start and the device of an op, and the device of its group and of the free sources
  /// that it reads.
  void Place(int op, int device, Nanos start);
  /// Places an op, with insertion, on the device d that minimises its finish time plus `further` of
  /// (op, d); ties go to the least index. For the first op of a group, the cost of the group's
  /// other ops on d is added.
  /// @param further  [num_ops, num_devices] [ns]; empty: 0
  void PlaceEarliestFinish(int op, std::span<const Nanos> further = {});
  /// Returns the device of a group, -1 if it is not fixed yet.
  int device_of(int group) const { return device_[group]; }
  /// Returns the earliest time from which a slot of the device has no more work. [ns]
  Nanos Available(int device) const;

  Nanos makespan() const { return makespan_; }
  /// [num_ops], -1: not scheduled [ns]
  const std::vector<Nanos>& start() const { return start_; }
  const std::vector<Nanos>& finish() const { return finish_; }
  /// Returns the device of every group. A group without a scheduled op or reader goes to its first
  /// candidate device.
  Placement ToPlacement() const;

 private:
  Nanos Arrival(const OpInput& input, int device) const;
  void FixGroup(int group, int device);

  const Problem& problem_;
  const OpInputs& inputs_;
  std::uint64_t preferred_;
  std::vector<bool> free_source_;
  std::vector<int> device_;                   // [num_groups]
  std::vector<Nanos> start_, finish_;         // [num_ops]
  std::vector<std::vector<IdleTimes>> idle_;  // [num_devices][slots]
  Nanos makespan_ = 0;
};

/// Calls place(op) for every op that is not a free source: repeatedly for the op of highest
/// priority among those whose predecessors are placed.
/// @throws Interrupted
void ScheduleReadyOps(const Problem& problem,
                      const OpInputs& inputs,
                      const std::vector<double>& priority,
                      const ListSchedule& schedule,
                      const Interrupt& interrupt,
                      const std::function<void(int op)>& place);

}  // namespace emplace

#pragma once

// What the list scheduling heuristics (HEFT, CPOP, PEFT, ETF) share: op ranks, when an op's inputs
// reach a device, and a schedule that grows op by op.
//
// Communication is that of the classical papers: a message takes its route's time when alone on it,
// and messages never wait for each other (the simulator is where they do). All that op u sends op v
// is one message; nothing is sent within a device.
//
// Two things the classical papers do not have:
// - Groups. Ops are scheduled one by one, and the first op of a group that is scheduled fixes the
//   device of all. Dependencies between two groups may therefore go in both directions.
// - Free sources: ops without predecessors that cost nothing anywhere (parameters, constants,
//   inputs). They would tie at time 0 on every device and drag their readers to the first one.
//   Instead they are ready at time 0 wherever they may run, and are placed with their first
//   scheduled reader.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "agents/shared/idle_times.h"
#include "framework/base/interrupt.h"
#include "framework/search/problem.h"

namespace emplace {

/// What an op waits for.
struct OpInput {
  int op = 0;              ///< predecessor
  std::int64_t bytes = 0;  ///< distinct tensors it sends, 0 for control alone [B]
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

/// Mean time of a message over the ordered pairs of distinct devices of a mask that have a route:
/// fixed + per_byte * bytes [ns]. 0 for fewer than two devices.
struct MeanCommunication {
  double fixed = 0, per_byte = 0;
  double operator()(std::int64_t bytes) const {
    return fixed + per_byte * static_cast<double>(bytes);
  }
};
MeanCommunication ComputeMeanCommunication(const Cluster& cluster, std::uint64_t devices);

/// Mean cost of each op over the devices where its group may run. @return [num_ops] [ns]
std::vector<double> MeanOpCosts(const Problem& problem, std::uint64_t preferred);

/// rank_u(v) = w(v) + max over successors s of (c(v, s) + rank_u(s)), with mean costs w and mean
/// communication c, 0 within a group. @return [num_ops] [ns]
std::vector<double> UpwardRanks(const Problem& problem,
                                const OpInputs& inputs,
                                const std::vector<double>& cost,
                                const MeanCommunication& communication);

/// rank_d(v) = max over predecessors p of (rank_d(p) + w(p) + c(p, v)), 0 for an op without any.
/// @return [num_ops] [ns]
std::vector<double> DownwardRanks(const Problem& problem,
                                  const OpInputs& inputs,
                                  const std::vector<double>& cost,
                                  const MeanCommunication& communication);

/// Ops by descending rank, equals (to a thousandth of a nanosecond) in topological order: for
/// upward ranks a topological order itself.
std::vector<int> OrderByRank(const Graph& graph, const std::vector<double>& rank);

class ListSchedule {
 public:
  /// @param preferred  devices to use; groups that may run on none of them use all they may run on
  ListSchedule(const Problem& problem, const OpInputs& inputs, std::uint64_t preferred);

  bool IsFreeSource(int op) const { return free_source_[op]; }
  bool IsScheduled(int op) const { return finish_[op] >= 0; }
  /// Devices the op may go to: its group's, once that is fixed. Never 0.
  std::uint64_t CandidatesOf(int op) const;
  /// Latest arrival of the op's inputs on a device; all its predecessors are scheduled or free.
  /// [ns]
  Nanos DataReady(int op, int device) const;
  /// Earliest start at or after `ready`: in any idle interval (insertion), or only behind the last
  /// op. An op without cost takes no time of the device, and starts at `ready` if inserted.
  Nanos EarliestStart(int op, int device, Nanos ready, bool insertion) const;
  /// Fixes start and device of an op, of its group, and of the free sources it reads.
  void Place(int op, int device, Nanos start);
  /// Places an op, with insertion, on the device d where its finish plus `further` of (op, d) is
  /// least, of equals the one of least index. The first op of a group decides for all: what the
  /// others cost on d counts, too.
  /// @param further  [num_ops, num_devices] [ns]; empty: 0
  void PlaceEarliestFinish(int op, std::span<const Nanos> further = {});
  /// Device of a group or -1.
  int device_of(int group) const { return device_[group]; }
  /// Earliest time at which a slot has nothing more to do. [ns]
  Nanos Available(int device) const;

  Nanos makespan() const { return makespan_; }
  /// [num_ops], -1: not scheduled [ns]
  const std::vector<Nanos>& start() const { return start_; }
  const std::vector<Nanos>& finish() const { return finish_; }
  /// The device of every group. One without a scheduled op or reader goes to its first allowed one.
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

/// Calls place(op) for every op that is no free source: repeatedly for the op of highest priority
/// among those whose predecessors are placed.
/// @throws Interrupted
void ScheduleReadyOps(const Problem& problem,
                      const OpInputs& inputs,
                      const std::vector<double>& priority,
                      const ListSchedule& schedule,
                      const Interrupt& interrupt,
                      const std::function<void(int op)>& place);

}  // namespace emplace

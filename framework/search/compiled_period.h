#pragma once

// The period objective (simulator/README.md, "The second objective: pipelined steps") in flat
// arrays, and the loads of a placement, updated incrementally with each move. The simulator shares
// them with the searches and bounds that know this objective.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// The data of a problem on which the period depends, by group. It is read-only after its
/// construction, so that engines of several threads can share one object.
///
/// An *item* is a tensor, or the control edges of one op, that is read by a group other than its
/// own; all other tensors never cross. Items are in the order of the groups that make them. They
/// are followed by the *inputs*: the graph inputs that some op reads. An input crosses nothing, and
/// takes memory on each device where it is read.
struct CompiledPeriod {
  /// @param problem  outlives this
  explicit CompiledPeriod(const Problem& problem);

  std::span<const int> readers_of(int item) const {
    return {readers.data() + reader_begin[item], readers.data() + reader_begin[item + 1]};
  }
  std::span<const int> read_by(int group) const {
    return {reads.data() + read_begin[group], reads.data() + read_begin[group + 1]};
  }
  /// Returns the number of items that the group makes, plus that of the items and inputs it reads.
  int degree(int group) const {
    return made_begin[group + 1] - made_begin[group] + read_begin[group + 1] - read_begin[group];
  }

  const Problem& problem;
  int num_groups = 0, num_devices = 0;
  int num_items = 0, num_inputs = 0;

  // Groups.
  std::vector<std::int64_t> bytes;  ///< [num_groups] of its tensors that are not aliases [B]
  std::vector<int> made_begin;      ///< [num_groups + 1] into the items
  std::vector<int> read_begin;      ///< [num_groups + 1] into `reads`
  std::vector<int> reads;           ///< items and inputs that the group reads
  std::int64_t total_degree = 0;

  // Items, followed by inputs.
  std::vector<int> reader_begin;  ///< [num_items + num_inputs + 1] into `readers`
  std::vector<int> readers;       ///< distinct groups, without the maker

  // Items.
  std::vector<int> maker;          ///< [num_items] group
  std::vector<std::size_t> times;  ///< [num_items] begin of the item's row in `transfer_time`
  /// [distinct sizes of items, num_paths] T(from, to, bytes) [ns]
  std::vector<Nanos> transfer_time;
  int num_paths = 0;  ///< number of classes of routes with equal transfer times

  // Inputs.
  std::vector<std::int64_t> input_bytes;  ///< [num_inputs] [B]

  // Devices.
  std::vector<int> path;             ///< [num_devices, num_devices] column of `transfer_time`
  std::vector<Nanos> pays;           ///< [num_devices] all bits set if its transfers count, else 0
  std::vector<std::int64_t> memory;  ///< [num_devices] [B]
};

/// Returns the problem in which all groups of equal label are merged into one. It refers to the
/// graph and cluster of `problem` and owns neither: the owner of both must outlive the result.
/// @param label  [num_groups] any integers; groups of one label must share an allowed device
std::shared_ptr<const Problem> MergeGroups(const Problem& problem, std::span<const int> label);

/// The totals of a placement, per device.
struct PeriodTotals {
  std::vector<Nanos> load, busy;    ///< [num_devices] with and without transfers [ns]
  std::vector<std::int64_t> bytes;  ///< [num_devices] [B]

  Nanos period() const;
};

/// A placement with its totals and the number of readers of each item on each device. Trying moves
/// costs O(degree of the groups that move) and allocates nothing.
class PeriodState {
 public:
  /// @param problem  outlives this
  explicit PeriodState(const CompiledPeriod& problem);

  /// Computes the totals of any placement. Leaves the state unchanged.
  /// @param device  [num_groups] allowed devices; every route that they need must exist
  void SumUp(const DeviceIndex* device, PeriodTotals& totals) const;
  /// Sets the placement. Updates only the groups that changed if they are few. @pre no trial
  /// @param device  [num_groups] as in SumUp
  void SetTo(const std::vector<DeviceIndex>& device);
  const std::vector<DeviceIndex>& device() const { return device_; }
  const PeriodTotals& totals() const { return totals_; }
  /// Returns a mask; bit d is set if the item or input has a reader on device d.
  std::uint64_t readers(int item) const { return readers_[item]; }

  /// Applies moves one after another as a trial. device() includes them at once. Call Keep() or
  /// Undo() before the next trial. @pre no trial
  /// @return the totals with these moves
  const PeriodTotals& Try(std::span<const Move> moves);
  void Keep();
  void Undo();

 private:
  template <int kSign>
  void AddGroup(int group, int device, PeriodTotals& totals) const;
  template <int kSign>
  void AddItem(int item, int source, std::uint64_t readers, PeriodTotals& totals) const;
  template <int kSign>
  void AddInput(int item, std::uint64_t readers, PeriodTotals& totals) const;
  template <int kSign>
  void AddKept(int item, PeriodTotals& totals) const;
  void Change(int group, DeviceIndex device, PeriodTotals& totals);
  void AddTouched(PeriodTotals& totals);
  void Recount(int group, int from, int to);

  const CompiledPeriod& p_;
  std::vector<DeviceIndex> device_;     // [num_groups]; empty: no placement yet
  std::vector<std::int32_t> count_;     // [num_items + num_inputs, num_devices] readers
  std::vector<std::uint64_t> readers_;  // [num_items + num_inputs] bit d: a reader is on device d
  PeriodTotals totals_, trial_;
  std::vector<int> touched_;              // items and inputs that are subtracted from the totals
  std::vector<std::uint8_t> is_touched_;  // [num_items + num_inputs]
  std::vector<Move> undo_;                // of the trial
};

}  // namespace emplace

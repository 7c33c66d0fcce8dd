#pragma once

// The period objective (simulator/README.md, "The second objective: pipelined steps") in flat
// arrays, and the loads of a placement kept up to date move by move: what the simulator and the
// searches and bounds that know this objective share.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// What the period needs of a problem, by group. Only read after its construction: engines of
/// several threads share one.
///
/// An *item* is a tensor or the control edges of one op, if another group than its own reads it;
/// all others never cross. Items are in the order of the groups that make them. The graph inputs
/// that some op reads follow them: they cross nothing, and take memory where they are read.
struct CompiledPeriod {
  /// @param problem  outlives this
  explicit CompiledPeriod(const Problem& problem);

  std::span<const int> readers_of(int item) const {
    return {readers.data() + reader_begin[item], readers.data() + reader_begin[item + 1]};
  }
  std::span<const int> read_by(int group) const {
    return {reads.data() + read_begin[group], reads.data() + read_begin[group + 1]};
  }
  /// Items that it makes, and reads.
  int degree(int group) const {
    return made_begin[group + 1] - made_begin[group] + read_begin[group + 1] - read_begin[group];
  }

  const Problem& problem;
  int num_groups = 0, num_devices = 0;
  int num_items = 0, num_inputs = 0;

  // Groups.
  std::vector<std::int64_t> bytes;  ///< [num_groups] of its tensors that are no aliases [B]
  std::vector<int> made_begin;      ///< [num_groups + 1] into the items
  std::vector<int> read_begin;      ///< [num_groups + 1] into `reads`
  std::vector<int> reads;           ///< items and inputs that the group reads
  std::int64_t total_degree = 0;

  // Items and, behind them, inputs.
  std::vector<int> reader_begin;  ///< [num_items + num_inputs + 1] into `readers`
  std::vector<int> readers;       ///< distinct groups, the maker left out

  // Items.
  std::vector<int> maker;          ///< [num_items] group
  std::vector<std::size_t> times;  ///< [num_items] where its row in `transfer_time` begins
  /// [distinct sizes of items, num_paths] T(from, to, bytes) [ns]
  std::vector<Nanos> transfer_time;
  int num_paths = 0;  ///< routes that differ in the sum of latencies or in bandwidths

  // Inputs.
  std::vector<std::int64_t> input_bytes;  ///< [num_inputs] [B]

  // Devices.
  std::vector<int> path;             ///< [num_devices, num_devices] column of `transfer_time`
  std::vector<Nanos> pays;           ///< [num_devices] all bits set: its transfers count; else 0
  std::vector<std::int64_t> memory;  ///< [num_devices] [B]
};

/// The problem in which groups of equal label are one. Its graph and cluster are those of
/// `problem`, which must outlive it, or whose own graph and cluster must, if they are another
/// problem's.
/// @param label  [num_groups] any integers; groups of one label share an allowed device
std::shared_ptr<const Problem> MergeGroups(const Problem& problem, std::span<const int> label);

/// What a placement puts on each device.
struct PeriodTotals {
  std::vector<Nanos> load, busy;    ///< [num_devices] with and without transfers [ns]
  std::vector<std::int64_t> bytes;  ///< [num_devices] [B]

  Nanos period() const;
};

/// A placement with its totals and, per item, how many of its readers are on each device. Trying
/// moves costs O(degree of the groups that move) and allocates nothing.
class PeriodState {
 public:
  /// @param problem  outlives this
  explicit PeriodState(const CompiledPeriod& problem);

  /// Totals of any placement, which changes nothing here.
  /// @param device  [num_groups] all allowed, every route that they need present
  void SumUp(const DeviceIndex* device, PeriodTotals& totals) const;
  /// Makes this the placement; what little differs from the one before is moved. @pre no trial
  /// @param device  [num_groups] as in SumUp
  void SetTo(const std::vector<DeviceIndex>& device);
  const std::vector<DeviceIndex>& device() const { return device_; }
  const PeriodTotals& totals() const { return totals_; }
  /// Bit d: a reader of the item, or input, is on device d.
  std::uint64_t readers(int item) const { return readers_[item]; }

  /// Makes moves one after another, to be kept or undone before the next trial; device() has them
  /// already. @pre no trial
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
  std::vector<std::int32_t> count_;     // [num_items + num_inputs, num_devices] readers there
  std::vector<std::uint64_t> readers_;  // [num_items + num_inputs] bit d: some reader is there
  PeriodTotals totals_, trial_;
  std::vector<int> touched_;              // items and inputs taken out of the totals
  std::vector<std::uint8_t> is_touched_;  // [num_items + num_inputs]
  std::vector<Move> undo_;                // of the trial
};

}  // namespace emplace

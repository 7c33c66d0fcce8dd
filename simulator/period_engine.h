#pragma once

// The fast implementation of the period objective (README.md, "The second objective: pipelined
// steps"). Loads and bytes are sums over groups and items, so that a neighbour of a placement is
// evaluated by the items of the groups that move. period.h has the plain implementation.
//
// Internal to the simulator: others ask MakeSimulator() (simulator.h), which checks placements and
// shares a batch among the threads.

#include <cstddef>
#include <cstdint>
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

/// One per thread. An evaluation of rows and neighbours allocates nothing.
///
/// A base is kept from call to call: per item how many of its readers are on each device. The
/// neighbours of one base cost O(degree of the groups that move), and so does a new base that is
/// near the old one.
class PeriodEngine {
 public:
  /// @param problem  outlives the engine
  explicit PeriodEngine(const CompiledPeriod& problem);

  /// Evaluates one placement. Every field of `outcome` is set, whatever it held before; there are
  /// no op times.
  /// @param device  [num_groups] all allowed, every route that they need present
  void Run(const DeviceIndex* device, const OutcomeDetail& detail, Outcome& outcome);
  /// Writes row `i` of the columns.
  void RunRow(const DeviceIndex* device, std::size_t i, const OutcomeColumns& columns);
  /// Writes the rows `begin` .. `end - 1` of the columns for these neighbours.
  /// @param neighbors  as in Run, all of them
  void RunNeighbors(const Neighbors& neighbors,
                    std::size_t begin,
                    std::size_t end,
                    const OutcomeColumns& columns);

 private:
  /// What is summed up per device.
  struct Totals {
    std::vector<Nanos> load, busy;    // [num_devices] [ns]
    std::vector<std::int64_t> bytes;  // [num_devices] [B]
  };

  void SumUp(const DeviceIndex* device, Totals& totals) const;
  template <int kSign>
  void AddGroup(int group, int device, Totals& totals) const;
  template <int kSign>
  void AddItem(int item, int source, std::uint64_t readers, Totals& totals) const;
  template <int kSign>
  void AddInput(int item, std::uint64_t readers, Totals& totals) const;
  template <int kSign>
  void AddKept(int item, Totals& totals) const;
  void SetBase(const Placement& base);
  void Change(int group, DeviceIndex device, Totals& totals);
  void AddTouched(Totals& totals);
  void Recount(int group, int from, int to);
  void Write(const Totals& totals, std::size_t i, const OutcomeColumns& columns) const;

  const CompiledPeriod& p_;
  // The base, or on the way the neighbour that is evaluated.
  std::vector<DeviceIndex> device_;     // [num_groups]; empty: no base yet
  std::vector<std::int32_t> count_;     // [num_items + num_inputs, num_devices] readers there
  std::vector<std::uint64_t> readers_;  // [num_items + num_inputs] bit d: some reader is there
  Totals base_totals_;
  // Of one evaluation.
  Totals totals_;
  std::vector<DeviceIndex> moved_device_;  // [num_groups]
  std::vector<int> touched_;               // items and inputs taken out of the totals
  std::vector<std::uint8_t> is_touched_;   // [num_items + num_inputs]
  struct Undo {
    int group;
    DeviceIndex device;
  };
  std::vector<Undo> undo_;
};

}  // namespace emplace

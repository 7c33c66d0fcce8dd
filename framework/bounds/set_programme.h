#pragma once

// The set of groups of largest value that one device can have within a period (device_sets.h), by
// dynamic programming along an order of the groups. A state has, for each item with groups on both
// sides of the place in the order, the side of the set on which all its groups before are, or that
// the item is paid, or that it will be paid when its maker is known. Graphs of networks have orders
// in which few items are open. A label of a state is a pair of load and value. Labels that are
// worse in both are dropped, and those that reach no better value by the Lagrangian relaxation of
// the load.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/equal_devices.h"

namespace emplace {

using SetValue = std::int64_t;  ///< sums of magnitudes stay below 2^60
/// A decision on two groups, in all sets of a part of the search.
struct PairDecision {
  int first, second;  ///< groups
  bool together;      ///< each set has both or none; else at most one
};

/// The states and transitions of the dynamic program of one class of devices.
class SetProgramme {
 public:
  /// @param devices  outlives this
  /// @param most     loads from here on are not wanted [ns]
  /// @param pairs    sets obey them
  /// @param order    of the groups; empty: one is made
  SetProgramme(const EqualDevices& devices,
               Nanos most,
               std::span<const PairDecision> pairs = {},
               std::vector<int> order = {});
  /// Returns whether the states are few enough for Find().
  bool usable() const { return usable_; }
  const std::vector<int>& order() const { return order_; }

  struct Best {
    SetValue value = 0;          ///< no set within the period has a larger value
    std::vector<GroupSet> sets;  ///< of more than the threshold, the largest first
  };

  /// Searches for sets within the period whose value is above the threshold by more than a share of
  /// it. Keeps few labels at first, more if it finds none.
  /// @param quick  keeps few labels: it can miss sets
  /// @return nothing if `stop`
  std::optional<Best> Find(std::span<const SetValue> value,
                           Nanos period,
                           SetValue threshold,
                           bool quick,
                           const std::function<bool()>& stop);

 private:
  struct Arc {
    int to = -1;       // state of the next stage; -1: none
    Nanos charge = 0;  // of items that are now known to cross
  };
  struct Pin {  // of a group in an item, or in a pair
    int slot;
    bool first, last, maker, maker_seen;
    Nanos in, out;
    bool apart = false;  // of a pair that is apart
  };

  struct Label {
    Nanos load;
    SetValue value;
    SetValue reach;  // no set that continues it has a larger value
    int node;
    bool taken;
  };

  // @param most  labels that a stage keeps, those of largest reach
  std::optional<Best> Search(std::span<const SetValue> value,
                             Nanos period,
                             SetValue threshold,
                             SetValue price,
                             std::size_t most,
                             const std::function<bool()>& stop);

  // Sorts labels of one state by load, and keeps those whose value is larger than all before.
  static void DropWorse(std::vector<Label>& list);

  // Makes the states and arcs. Returns false if they are too many.
  bool Build(Nanos most, std::span<const PairDecision> pairs);

  // Puts a group of an item on a side. Returns the cost of the item if it crosses from now on, else
  // 0.
  static Nanos Enter(const Pin& pin, bool in, std::uint64_t& key);

  // Computes for every state the largest value minus price times load that the groups after it add.
  // @return that of the first state
  SetValue Relax(std::span<const SetValue> value, SetValue price);

  // Returns about the price of load for which Relax() bounds the value of a set best.
  SetValue LeastPrice(std::span<const SetValue> value, Nanos period);

  static constexpr SetValue kNothing =
      -(SetValue{1} << 61);  // less than any value that can be reached

  const EqualDevices* devices_;
  std::vector<int> order_;
  bool usable_ = false;
  std::vector<std::size_t> begin_;          // [num_groups + 2] first state of a stage
  std::vector<std::array<Arc, 2>> arcs_;    // [states but the last] group out, in
  std::vector<SetValue> relaxed_;           // [states]
  std::vector<std::pair<int, int>> nodes_;  // of labels: node before, group
};

}  // namespace emplace

#pragma once

// The costs of sets of groups on one device (device_sets.h), by classes of interchangeable devices.

#include <vector>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"

namespace emplace {

using GroupSet = std::vector<int>;  ///< groups

/// An item whose transfer takes time of a device of the class.
struct PaidItem {
  int maker;
  std::vector<int> pins;  ///< groups, the maker included
  Nanos in, out;          ///< least time as the receiver and as the sender [ns]
};

/// The devices of a class, and the costs of their sets.
struct EqualDevices {
  std::vector<int> devices;
  std::vector<Nanos> cost;  ///< [num_groups]; kMaxNanos: not allowed [ns]
  std::vector<PaidItem> items;

  int count() const { return static_cast<int>(devices.size()); }
  /// Leaves out the cheapest fifth of the items, which makes loads smaller.
  void DropCheapest();
  /// Returns the load of a set: its costs, and the items with groups on both sides of it. [ns]
  /// @param within  [num_groups] is not 0 for the groups of the set
  Nanos Load(const std::vector<char>& within) const;
};

/// Returns the classes, each with its devices. Items with equal groups and maker are one.
/// @param most  costs and times from here on are alike [ns]
std::vector<EqualDevices> ClassesOfDevices(const CompiledPeriod& problem, Nanos most);

}  // namespace emplace

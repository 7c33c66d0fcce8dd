#pragma once

// The devices that an op may run on, by its keys `device_kinds` and `devices`.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"

namespace emplace {

/// Returns whether an op may run on devices of a kind, if their names match Op::devices: its
/// device_kinds are empty or name the kind or its class. On a kind of class network, also one of
/// device_kinds and devices must not be empty: such devices run only the ops that ask for them.
bool MayRunOn(const Op& op, const DeviceKind& kind);

/// Finds the devices of a cluster that the ops of a graph may run on: those of a kind that the op
/// MayRunOn() and, if the op has `devices`, of a name that one of them matches.
class AllowedDevices {
 public:
  /// @param graph, cluster  outlive this object
  /// @param where           prefix of error messages
  AllowedDevices(const Graph& graph, const Cluster& cluster, std::string where)
      : graph_(graph), cluster_(cluster), where_(std::move(where)) {}

  /// Returns a bit for each device; at least one is set.
  /// @throws InputError naming the op: allowed on no device of the cluster (with the kinds and
  ///   devices that it allows and those of the cluster); one of its `devices` matches no device
  ///   (with graph and choices)
  std::uint64_t Of(const Op& op);

 private:
  std::uint64_t Find(const Op& op) const;

  const Graph& graph_;
  const Cluster& cluster_;
  std::string where_;
  // By device_kinds and devices of an op.
  std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::uint64_t> found_;
};

}  // namespace emplace

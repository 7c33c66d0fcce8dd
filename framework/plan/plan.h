#pragma once

// A plan says how several devices share one training step: data parallel replicas, micro-batches,
// and recomputation of activations. Which device of a replica runs which layer, the stages of a
// pipeline, is the placement of the planned graph.
//
//   replicas: 2
//   micro_batches: 4
//   recompute: ["*layer1/*", "*layer2/*"]
//   bucket: 25MB
//   groups: [["gpu:0", "gpu:1"], ["gpu:2", "gpu:3"]]
//
// apply_plan.h applies a plan to the graph of a step.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/config/fields.h"

namespace emplace {

struct Plan {
  int replicas = 1;
  int micro_batches = 1;                ///< per replica
  std::vector<std::string> recompute;   ///< of each layer, a pattern of the names of its ops
  std::string bucket = "25MB";          ///< largest gradients of one all-reduce; 0: one per tensor
  std::string collectives = "network";  ///< or "tree": sums in ops (ReplicateByTree())
  std::string states = "replicated";    ///< or "zero1": ShardUpdate()
  ConfigNode groups;                    ///< [replicas] patterns of device names; see DeviceGroups()
  void Visit(FieldVisitor& v);
  /// Returns true for a plan that leaves every step as it is: one replica on all devices, one
  /// micro-batch, no recomputation.
  bool IsIdentity() const;
};

/// Returns the devices of each replica. [replicas] ascending
///
/// Without `groups`, the GPUs are divided evenly in their order: with 4 GPUs and 2 replicas, the
/// first has gpu:0 and gpu:1. A cluster without GPUs divides its CPUs; one with GPUs adds all CPUs
/// to each group, for ops without a GPU kernel. Devices of class network belong to no group.
/// @throws SettingError for key "replicas" if the GPUs do not divide evenly (with their number and
///   its divisors). InputError with the place of `groups`: not a list of lists of patterns, of
///   another number than `replicas`, an empty group, a pattern that matches no device (with the
///   choices), a device that another group has, too (CPUs beside GPUs excepted)
std::vector<std::vector<int>> DeviceGroups(const Plan& plan, const Cluster& cluster);

/// Returns Plan::bucket in bytes. @throws SettingError for key "bucket"
std::int64_t BucketBytes(const Plan& plan);

}  // namespace emplace

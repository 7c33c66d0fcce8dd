#include "framework/plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/cluster/device_classes.h"
#include "framework/config/setting_error.h"
#include "framework/config/units.h"

namespace emplace {
namespace {

std::vector<std::vector<int>> EvenGroups(int replicas, const Cluster& cluster) {
  const std::vector<int> gpus = DevicesOfClass(cluster, DeviceClass::kGpu);
  const std::vector<int> cpus = DevicesOfClass(cluster, DeviceClass::kCpu);
  const std::vector<int>& divided = gpus.empty() ? cpus : gpus;
  const int count = static_cast<int>(divided.size());
  if (count == 0 || count % replicas != 0) {
    std::vector<int> divisors;
    for (int i = 1; i <= count; ++i) {
      if (count % i == 0) divisors.push_back(i);
    }
    throw SettingError("replicas",
                       fmt::format("the {} {}s of cluster \"{}\" do not divide among {} replicas; "
                                   "choices: {}",
                                   count,
                                   gpus.empty() ? "CPU" : "GPU",
                                   cluster.name(),
                                   replicas,
                                   fmt::join(divisors, ", ")));
  }
  std::vector<std::vector<int>> groups(replicas);
  for (int i = 0; i < count; ++i) groups[i / (count / replicas)].push_back(divided[i]);
  for (std::vector<int>& group : groups) {
    if (!gpus.empty()) group.insert(group.end(), cpus.begin(), cpus.end());
    std::ranges::sort(group);
  }
  return groups;
}

/// Returns the devices that a pattern matches.
/// @throws InputError naming the choices
std::vector<int> NamedDevices(const Cluster& cluster, const ConfigNode& pattern) {
  std::vector<int> devices;
  std::vector<std::string> choices;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) continue;
    choices.push_back(cluster.device(d).name);
    if (MatchesGlob(pattern.AsString(), choices.back())) devices.push_back(d);
  }
  if (!devices.empty()) return devices;
  pattern.Fail(fmt::format("no device of cluster \"{}\" is called {}; choices: {}",
                           cluster.name(),
                           pattern.AsString(),
                           JoinChoices(choices)));
}

/// Returns true for a CPU of a cluster with GPUs.
bool IsShared(const Cluster& cluster, int device) {
  return cluster.kind_of(device).device_class == DeviceClass::kCpu &&
         !DevicesOfClass(cluster, DeviceClass::kGpu).empty();
}

}  // namespace

void Plan::Visit(FieldVisitor& v) {
  v.Field("replicas",
          replicas,
          Between(1, kMaxDevices),
          "copies of the step that work on different data; their gradients are reduced");
  v.Field("micro_batches",
          micro_batches,
          Between(1, 65536),
          "parts of a replica's batch that pass the stages one after another; the graph is that of "
          "one");
  v.Field(
      "recompute",
      recompute,
      "layers whose activations are computed again before the backward pass reads them: of each "
      "a pattern of op names with * and ?");
  v.Field(
      "bucket", bucket, "largest gradients that are reduced together, as in 25MB; 0: each alone");
  v.Field(
      "collectives",
      collectives,
      "network (an all-reduce is an op on a network device) or tree (sums of single gradients on "
      "the replicas' devices, sent over the cluster's channels; bucket has no effect)");
  v.Field("states",
          states,
          "replicated (each replica updates all parameters) or zero1 (each updates a part, has the "
          "optimizer states of it alone, and sends it to the others)");
  v.Field("groups",
          groups,
          "devices of each replica, as in [[gpu:0, gpu:1], [gpu:2, gpu:3]]; none: GPUs in their "
          "order, evenly");
}

bool Plan::IsIdentity() const {
  return replicas == 1 && micro_batches == 1 && recompute.empty() && !groups.IsSequence();
}

std::vector<std::vector<int>> DeviceGroups(const Plan& plan, const Cluster& cluster) {
  if (!plan.groups.IsSequence()) return EvenGroups(plan.replicas, cluster);
  std::vector<std::vector<int>> groups;
  std::vector<int> group_of(cluster.num_devices(), -1);
  for (const ConfigNode& list : plan.groups.Elements()) {
    const int number = static_cast<int>(groups.size());
    std::vector<int>& group = groups.emplace_back();
    for (const ConfigNode& pattern : list.Elements()) {
      for (int device : NamedDevices(cluster, pattern)) {
        if (std::ranges::find(group, device) != group.end()) continue;
        if (group_of[device] >= 0 && !IsShared(cluster, device)) {
          pattern.Fail(
              fmt::format("device {} is also in group {}; only CPUs beside GPUs may be in "
                          "several",
                          cluster.device(device).name,
                          group_of[device]));
        }
        group_of[device] = number;
        group.push_back(device);
      }
    }
    if (group.empty()) list.Fail("expected the names of devices, got none");
    std::ranges::sort(group);
  }
  if (std::ssize(groups) != plan.replicas) {
    plan.groups.Fail(fmt::format(
        "expected {} groups, one for each replica, got {}", plan.replicas, groups.size()));
  }
  return groups;
}

std::int64_t BucketBytes(const Plan& plan) {
  try {
    return ParseBytes(plan.bucket);
  } catch (const InputError& error) {
    throw SettingError("bucket", error.what());
  }
}

}  // namespace emplace

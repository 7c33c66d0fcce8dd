#include "simulator/engine/placement_check.h"

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/schedule/transfer_plan.h"

namespace emplace {
namespace {

bool HasAllRoutes(const Cluster& cluster) {
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from != to && cluster.route(from, to).empty()) return false;
    }
  }
  return true;
}

[[noreturn]] void RefuseDevice(const Problem& problem, int group, int d) {
  const Op& op = problem.graph().op(problem.grouping().members(group)[0]);
  throw InputError(fmt::format("placement: group {} (op \"{}\", {}) may not run on device {}",
                               group,
                               op.name,
                               op.kind,
                               d < problem.num_devices()
                                   ? "\"" + problem.cluster().device(d).name + "\""
                                   : fmt::format("{}: there are {}", d, problem.num_devices())));
}

}  // namespace

PlacementCheck::PlacementCheck(const Problem& problem)
    : problem_(problem), all_routes_(HasAllRoutes(problem.cluster())) {
}

void PlacementCheck::Size(std::size_t num_groups) const {
  if (static_cast<int>(num_groups) == problem_.num_groups()) return;
  throw InputError(fmt::format(
      "placement: has {} groups, but the problem has {}", num_groups, problem_.num_groups()));
}

void PlacementCheck::operator()(const DeviceIndex* device) const {
  const int num_groups = problem_.num_groups();
  std::uint64_t allowed = 1, bits = 0;
  for (int group = 0; group < num_groups; ++group) {
    bits |= device[group];
    allowed &= problem_.allowed_devices(group) >> device[group] % kMaxDevices;
  }
  if (allowed == 0 || bits >= kMaxDevices) {  // finds the first wrong one
    for (int group = 0; group < num_groups; ++group) Device(group, device[group]);
  }
  if (all_routes_) return;
  const Placement placement{{device, device + problem_.num_groups()}};
  const auto device_of_op = ExpandPlacement(placement, problem_.grouping());
  for (int v = 0; v < problem_.num_ops(); ++v) {
    CopiesOf(problem_.graph(), problem_.cluster(), device_of_op, v);  // throws on a missing route
  }
}

void PlacementCheck::Base(const Neighbors& neighbors) {
  Size(neighbors.base.device.size());
  if (neighbors.size() == 0) return;
  if (neighbors.base != valid_base_) {
    (*this)(neighbors.base.device.data());
    valid_base_ = neighbors.base;
  }
  const int begin = neighbors.begin.front(), end = neighbors.begin.back();
  for (const Move& move : neighbors.moves.subspan(begin, end - begin)) {
    if (move.group < 0 || move.group >= problem_.num_groups()) {
      throw InputError(fmt::format("move: group {} does not exist; the problem has {} groups",
                                   move.group,
                                   problem_.num_groups()));
    }
    Device(move.group, move.device);
  }
}

void PlacementCheck::Device(int group, int d) const {
  if (d >= problem_.num_devices() || !problem_.allowed(group, d)) RefuseDevice(problem_, group, d);
}

}  // namespace emplace

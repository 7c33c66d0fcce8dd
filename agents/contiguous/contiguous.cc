#include "agents/contiguous/contiguous.h"

#include <cstdlib>
#include <utility>

#include "agents/shared/devices.h"

namespace emplace {
namespace {

constexpr int kUnplaced = -1;

/// Places the groups without a device with the placed neighbour that shares the most bytes with
/// them (ties go to the least index), round by round from the placed groups until nothing changes.
void FollowNeighbors(const Problem& problem, std::vector<int>& device) {
  std::vector<int> placed;  // in the last round; earlier ones have no more groups to attract
  for (int group : problem.group_order()) {
    if (device[group] != kUnplaced) placed.push_back(group);
  }
  std::vector<Problem::Edge> strongest(problem.num_groups(), {kUnplaced, -1});
  while (!placed.empty()) {
    std::vector<int> drawn;
    for (int source : placed) {
      for (const auto& [group, bytes] : problem.neighbors(source)) {
        if (device[group] != kUnplaced || !problem.allowed(group, device[source])) continue;
        Problem::Edge& best = strongest[group];
        if (best.neighbor == kUnplaced) drawn.push_back(group);
        if (bytes > best.bytes || (bytes == best.bytes && source < best.neighbor)) {
          best = {source, bytes};
        }
      }
    }
    for (int group : drawn) device[group] = device[strongest[group].neighbor];
    placed = std::move(drawn);
  }
}

}  // namespace

Placement ContiguousPlacement(const Problem& problem, const std::vector<int>& devices) {
  const std::uint64_t mask = MaskOf(devices);
  const std::vector<double> speeds = DeviceSpeeds(problem, devices);
  const int count = static_cast<int>(devices.size());
  std::vector<int> device(problem.num_groups(), kUnplaced);

  double total = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    if (problem.allowed_devices(group) & mask) total += MeanCost(problem, group, mask);
  }
  double running = 0, block_end = total * speeds[0] / count;
  int block = 0;
  for (int group : problem.group_order()) {
    if (!(problem.allowed_devices(group) & mask)) continue;
    const double weight = MeanCost(problem, group, mask);
    if (weight == 0) continue;
    const double middle = running + weight / 2;
    running += weight;
    while (block + 1 < count && middle >= block_end) block_end += total * speeds[++block] / count;
    int nearest = kUnplaced;
    for (int b = 0; b < count; ++b) {
      if (!problem.allowed(group, devices[b])) continue;
      if (nearest == kUnplaced || std::abs(b - block) < std::abs(nearest - block)) nearest = b;
    }
    device[group] = devices[nearest];
  }
  FollowNeighbors(problem, device);

  Placement placement;
  for (int group = 0; group < problem.num_groups(); ++group) {
    const int d =
        device[group] != kUnplaced ? device[group] : FirstDevice(Candidates(problem, group, mask));
    placement.device.push_back(static_cast<DeviceIndex>(d));
  }
  return placement;
}

ContiguousAgent::ContiguousAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("contiguous", context),
      devices_(SelectDevices(context.problem->cluster(), "devices", config.devices)),
      sweep_devices_(config.sweep_devices) {
}

std::vector<Placement> ContiguousAgent::Construct() const {
  std::vector<Placement> placements;
  for (std::size_t count = sweep_devices_ ? 1 : devices_.size(); count <= devices_.size();
       ++count) {
    interrupt().Check();
    placements.push_back(
        ContiguousPlacement(problem(), {devices_.begin(), devices_.begin() + count}));
  }
  return placements;
}

}  // namespace emplace

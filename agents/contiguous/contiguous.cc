#include "agents/contiguous/contiguous.h"

#include <algorithm>
#include <cstdint>
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

// Returns the devices in sets that no group connects: a group that may run on one of a set may run
// on no other set. Sets and their devices are in the order of `devices`.
std::vector<std::vector<int>> SeparateDevices(const Problem& problem,
                                              const std::vector<int>& devices) {
  std::vector<std::uint64_t> masks;  // of the sets so far
  for (const int device : devices) masks.push_back(std::uint64_t{1} << device);
  for (int group = 0; group < problem.num_groups(); ++group) {
    std::uint64_t joined = problem.allowed_devices(group) & MaskOf(devices);
    const auto touched = [&](std::uint64_t mask) { return (mask & joined) != 0; };
    if (std::ranges::count_if(masks, touched) < 2) continue;
    for (const std::uint64_t mask : masks) joined |= touched(mask) ? mask : 0;
    std::erase_if(masks, touched);
    masks.push_back(joined);
  }
  std::vector<std::vector<int>> sets;
  std::uint64_t known = 0;
  for (const int first : devices) {
    if (known >> first & 1) continue;
    const std::uint64_t mask =
        *std::ranges::find_if(masks, [&](std::uint64_t each) { return each >> first & 1; });
    known |= mask;
    sets.emplace_back();
    for (const int device : devices) {
      if (mask >> device & 1) sets.back().push_back(device);
    }
  }
  return sets;
}

// Cuts the groups that may run on the devices into blocks.
void PlaceBlocks(const Problem& problem,
                 const std::vector<int>& devices,
                 std::span<const int> order,
                 std::vector<int>& device) {
  const std::uint64_t mask = MaskOf(devices);
  const std::vector<double> speeds = DeviceSpeeds(problem, devices);
  const int count = static_cast<int>(devices.size());
  double total = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    if (problem.allowed_devices(group) & mask) total += MeanCost(problem, group, mask);
  }
  double running = 0, block_end = total * speeds[0] / count;
  int block = 0;
  for (const int group : order) {
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
}

}  // namespace

Placement ContiguousPlacement(const Problem& problem,
                              const std::vector<int>& devices,
                              std::span<const int> order) {
  if (order.empty()) order = problem.group_order();
  const std::uint64_t mask = MaskOf(devices);
  std::vector<int> device(problem.num_groups(), kUnplaced);
  for (const std::vector<int>& set : SeparateDevices(problem, devices)) {
    PlaceBlocks(problem, set, order, device);
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
  const std::vector<std::vector<int>> sets = SeparateDevices(problem(), devices_);
  const std::size_t most = std::ranges::max(sets, {}, &std::vector<int>::size).size();
  std::vector<Placement> placements;
  for (std::size_t count = sweep_devices_ ? 1 : most; count <= most; ++count) {
    interrupt().Check();
    std::vector<int> used;
    for (const std::vector<int>& set : sets) {
      used.insert(used.end(), set.begin(), set.begin() + std::min(count, set.size()));
    }
    std::ranges::sort(used, {}, [&](int d) { return std::ranges::find(devices_, d); });
    placements.push_back(ContiguousPlacement(problem(), used));
  }
  return placements;
}

}  // namespace emplace

#include "agents/shared/moves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "agents/shared/devices.h"
#include "agents/shared/merged_groups.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kSwapTries = 8;
constexpr int kMaxFollowers = 8;

}  // namespace

void MoveLists::Clear() {
  begin_.resize(1);
  moves_.clear();
}

void MoveLists::Apply(std::size_t i, std::span<DeviceIndex> device) const {
  for (int m = begin_[i]; m < begin_[i + 1]; ++m) device[moves_[m].group] = moves_[m].device;
}

std::uint64_t HashOf(const Move& move) {
  std::uint64_t x = std::uint64_t(move.group) * kMaxDevices + move.device + 1;
  x *= 0x9E3779B97F4A7C15U;  // finaliser of SplitMix64 (Steele et al. 2014)
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

void RequireMoves(const MoveConfig& config, const std::string& key) {
  if (config.single + config.swap + config.neighbors + config.block > 0) return;
  throw SettingError(key,
                     "expected a weight above 0 of single, swap, neighbors or block, all are 0");
}

MoveProposer::MoveProposer(const Problem& problem, const MoveConfig& config, const std::string& key)
    : problem_(problem),
      toward_neighbors_(config.toward_neighbors),
      position_(problem.num_groups()) {
  RequireMoves(config, key);
  cumulative_ = {config.single, config.swap, config.neighbors, config.block, 0};
  if (config.part > 0) {
    for (int num_parts = 8; num_parts * 4 <= problem.num_groups(); num_parts *= 4) {
      Partition& partition = partitions_.emplace_back();
      partition.part = MergedGroups(problem, num_parts);
      partition.members.resize(num_parts);
      for (int group = 0; group < problem.num_groups(); ++group) {
        partition.members[partition.part[group]].push_back(group);
      }
    }
    if (!partitions_.empty()) cumulative_.back() = config.part;
  }
  for (std::size_t i = 1; i < cumulative_.size(); ++i) cumulative_[i] += cumulative_[i - 1];
  for (int group = 0; group < problem.num_groups(); ++group) {
    const int choices = std::popcount(problem.allowed_devices(group));
    if (choices > 1) movable_.push_back(group);
    num_single_moves_ += choices - 1;
    position_[problem.group_order()[group]] = group;
  }
}

int MoveProposer::DrawOther(Rng& rng, int group, int device) const {
  std::uint64_t mask = problem_.allowed_devices(group) & ~(std::uint64_t{1} << device);
  for (int skip = UniformInt(rng, std::popcount(mask)); skip > 0; --skip) mask &= mask - 1;
  return FirstDevice(mask);
}

int MoveProposer::DrawAim(Rng& rng, int group, const Placement& base) const {
  const auto neighbors = problem_.neighbors(group);
  if (!neighbors.empty() && Uniform01(rng) < toward_neighbors_) {
    const int neighbor = neighbors[UniformInt(rng, static_cast<int>(neighbors.size()))].neighbor;
    const int device = base.device[neighbor];
    if (device != base.device[group] && problem_.allowed(group, device)) return device;
  }
  return DrawOther(rng, group, base.device[group]);
}

bool MoveProposer::Swap(Rng& rng, int pivot, const Placement& base, MoveLists& lists) const {
  for (int i = 0; i < kSwapTries; ++i) {
    const int other = movable_[UniformInt(rng, static_cast<int>(movable_.size()))];
    const DeviceIndex a = base.device[pivot], b = base.device[other];
    if (a == b || !problem_.allowed(pivot, b) || !problem_.allowed(other, a)) continue;
    lists.Add(pivot, b);
    lists.Add(other, a);
    return true;
  }
  return false;
}

void MoveProposer::Propose(Rng& rng, const Placement& base, MoveLists& lists) const {
  const int pivot = movable_[UniformInt(rng, static_cast<int>(movable_.size()))];
  const double drawn = Uniform01(rng) * cumulative_.back();
  if (drawn >= cumulative_[0] && drawn < cumulative_[1] && Swap(rng, pivot, base, lists)) {
    lists.End();
    return;
  }
  const int aim = DrawAim(rng, pivot, base);
  const auto move = [&](int group) {
    if (base.device[group] != aim && problem_.allowed(group, aim)) lists.Add(group, aim);
  };
  move(pivot);
  if (drawn >= cumulative_[1] && drawn < cumulative_[2]) {
    const auto neighbors = problem_.neighbors(pivot);
    const int count = static_cast<int>(neighbors.size());
    for (int i = 0; i < std::min(count, kMaxFollowers); ++i) {
      const int chosen = count <= kMaxFollowers ? i : UniformInt(rng, count);
      if (Uniform01(rng) < 0.5) move(neighbors[chosen].neighbor);
    }
  } else if (drawn >= cumulative_[3]) {
    const Partition& partition = partitions_[UniformInt(rng, static_cast<int>(partitions_.size()))];
    for (int group : partition.members[partition.part[pivot]]) {
      if (group != pivot) move(group);
    }
  } else if (drawn >= cumulative_[2]) {
    const auto order = problem_.group_order();
    const int count = problem_.num_groups();
    const double half = std::log2(std::max(2.0, count / 2.0));
    const int length = static_cast<int>(std::exp2(Uniform01(rng) * half));
    const int first = std::max(0, position_[pivot] - UniformInt(rng, length + 1));
    for (int i = first; i < std::min(count, first + length + 1); ++i) {
      if (order[i] != pivot) move(order[i]);
    }
  }
  lists.End();
}

void MoveProposer::Perturb(Rng& rng, double share, const Placement& base, MoveLists& lists) const {
  const int certain = movable_[UniformInt(rng, static_cast<int>(movable_.size()))];
  for (int group : movable_) {
    if (group != certain && Uniform01(rng) >= share) continue;
    lists.Add(group, DrawOther(rng, group, base.device[group]));
  }
  lists.End();
}

void Shuffle(std::vector<int>& order, Rng& rng) {
  for (auto i = std::ssize(order); i > 1; --i) {
    std::swap(order[i - 1], order[UniformInt(rng, static_cast<int>(i))]);
  }
}

std::vector<int> RandomOrder(int n, Rng& rng) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  Shuffle(order, rng);
  return order;
}

}  // namespace emplace

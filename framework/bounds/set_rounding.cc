#include "framework/bounds/set_rounding.h"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

constexpr double kLeastSplit = 0.01;  // of a pair
constexpr DeviceIndex kNone = kMaxDevices;

// Returns the pairs of groups of which one makes an item that the other reads, in ascending order.
std::vector<std::pair<int, int>> LinkedPairs(const std::vector<EqualDevices>& classes) {
  std::vector<std::pair<int, int>> linked;
  for (const EqualDevices& one : classes) {
    for (const PaidItem& item : one.items) {
      for (const int g : item.pins) {
        if (g != item.maker) linked.emplace_back(std::minmax(g, item.maker));
      }
    }
  }
  std::ranges::sort(linked);
  linked.erase(std::ranges::unique(linked).begin(), linked.end());
  return linked;
}

}  // namespace

std::optional<PairDecision> PairToDecide(std::span<const WeightedSet> sets,
                                         const std::vector<EqualDevices>& classes) {
  const std::size_t num_groups = classes.front().cost.size();
  std::vector<double> cover(num_groups, 0);
  std::vector<int> count(num_groups, 0), several;  // sets; groups of several sets
  for (const WeightedSet& set : sets) {
    for (const int g : set.groups) {
      cover[g] += set.weight;
      if (++count[g] == 2) several.push_back(g);
    }
  }
  std::ranges::sort(several);
  std::optional<PairDecision> best;
  double least = kLeastSplit;
  const auto consider = [&](int a, int b) {
    double both = 0;
    for (const WeightedSet& set : sets) {
      if (std::ranges::binary_search(set.groups, a) && std::ranges::binary_search(set.groups, b)) {
        both += set.weight;
      }
    }
    const double share = both / std::min(cover[a], cover[b]);
    if (std::min(share, 1 - share) > least) {
      least = std::min(share, 1 - share);
      best = {a, b, share > 0.5};
    }
  };
  for (const auto& [a, b] : LinkedPairs(classes)) {
    if (count[a] > 1 && count[b] > 1) consider(a, b);
  }
  if (best) return best;
  for (const int a : several) {
    for (const int b : several) {
      if (a < b) consider(a, b);
    }
  }
  return best;
}

std::vector<DeviceIndex> RoundSets(std::span<const WeightedSet> sets,
                                   const std::vector<EqualDevices>& classes) {
  struct Place {
    std::size_t of_class;
    DeviceIndex device;
    bool used = false;
    std::vector<char> within;  // [num_groups]
  };
  const std::size_t num_groups = classes.front().cost.size();
  std::vector<Place> places;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    for (const int d : classes[k].devices) {
      places.push_back({k, static_cast<DeviceIndex>(d), false, std::vector<char>(num_groups, 0)});
    }
  }
  std::vector<DeviceIndex> device(num_groups, kNone);
  const auto put = [&](std::size_t g, Place& place) {
    device[g] = place.device;
    place.within[g] = 1;
  };
  for (;;) {
    double most = 0;
    const WeightedSet* best = nullptr;
    Place* to = nullptr;
    for (const WeightedSet& set : sets) {
      const auto fresh =
          std::ranges::count_if(set.groups, [&](int g) { return device[g] == kNone; });
      const double gain = set.weight * static_cast<double>(fresh);
      if (gain <= most) continue;
      const auto place = std::ranges::find_if(
          places, [&](const Place& at) { return !at.used && at.of_class == set.of_class; });
      if (place == places.end()) continue;
      most = gain;
      best = &set;
      to = &*place;
    }
    if (best == nullptr) break;
    to->used = true;
    for (const int g : best->groups) {
      if (device[g] == kNone) put(g, *to);
    }
  }
  for (std::size_t g = 0; g < num_groups; ++g) {
    if (device[g] != kNone) continue;
    Nanos least = kMaxNanos;
    Place* to = nullptr;
    for (Place& place : places) {
      if (classes[place.of_class].cost[g] >= kMaxNanos) continue;
      place.within[g] = 1;
      const Nanos load = classes[place.of_class].Load(place.within);
      place.within[g] = 0;
      if (load < least) {
        least = load;
        to = &place;
      }
    }
    if (to == nullptr) return {};
    put(g, *to);
  }
  return device;
}

}  // namespace emplace

#include "agents/max_load_dp/lattice.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "agents/shared/devices.h"

namespace emplace {
namespace {

constexpr int kMostCuts = 1000;

struct HashBits {
  std::size_t operator()(const std::vector<std::uint64_t>& bits) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : bits) hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 29);
    return hash;
  }
};

}  // namespace

std::uint64_t SharedDevices(const Problem& problem) {
  std::uint64_t best = 0;
  double most = -1;
  std::map<std::uint64_t, double> sets;
  for (int g = 0; g < problem.num_groups(); ++g) sets.try_emplace(problem.allowed_devices(g), 0);
  for (auto& [mask, worth] : sets) {
    for (int g = 0; g < problem.num_groups(); ++g) {
      if ((mask & ~problem.allowed_devices(g)) == 0) worth += 1 + MeanCost(problem, g, mask);
    }
    worth *= std::popcount(mask);
    if (worth > most) {
      best = mask;
      most = worth;
    }
  }
  return best;
}

std::vector<int> OrderByPlace(const Problem& problem, std::uint64_t devices) {
  const Graph& graph = problem.graph();
  const int num_groups = problem.num_groups();
  constexpr int kNowhere = std::numeric_limits<int>::max();
  std::vector<int> place(num_groups, kNowhere), rank(num_groups);
  for (int i = 0; i < num_groups; ++i) rank[problem.group_order()[i]] = i;
  const std::span<const int> ops = graph.topological_order();
  for (int i = 0; i < graph.num_ops(); ++i) {
    if (graph.op(ops[i]).phase != Phase::kForward) continue;
    int& first = place[problem.grouping().group_of(ops[i])];
    first = std::min(first, i);
  }
  std::vector<int> placed;
  for (const int group : problem.group_order()) {
    if (place[group] != kNowhere) placed.push_back(group);
  }
  while (!placed.empty()) {  // in rounds, starting from the groups with a position
    std::vector<int> drawn;
    std::map<int, std::pair<std::int64_t, int>> strongest;  // bytes, -place
    for (const int source : placed) {
      for (const auto& [group, bytes] : problem.neighbors(source)) {
        if (place[group] != kNowhere) continue;
        const auto [entry, added] = strongest.try_emplace(group, bytes, -place[source]);
        if (added) drawn.push_back(group);
        entry->second = std::max(entry->second, std::pair{bytes, -place[source]});
      }
    }
    for (const int group : drawn) place[group] = -strongest[group].second;
    placed = std::move(drawn);
  }
  std::vector<int> order;
  for (int group = 0; group < num_groups; ++group) {
    if ((devices & ~problem.allowed_devices(group)) == 0) order.push_back(group);
  }
  std::ranges::sort(order, {}, [&](int g) { return std::pair{place[g], rank[g]}; });
  return order;
}

Lattice ChainLattice(const Problem& problem, const std::vector<int>& order) {
  double total = 0;
  for (const int group : order) total += MeanCost(problem, group, ~std::uint64_t{0});
  const bool cut_anywhere = std::ssize(order) <= kMostCuts;
  const double part = total / kMostCuts;
  Lattice lattice;
  lattice.below.emplace_back();
  double running = 0;
  for (const int group : order) {
    if (cut_anywhere || lattice.elements.empty() || running >= part) {
      const int ideal = static_cast<int>(lattice.elements.size());
      lattice.elements.emplace_back();
      lattice.below.push_back({{ideal, ideal}});
      running = 0;
    }
    lattice.elements.back().push_back(group);
    running += MeanCost(problem, group, ~std::uint64_t{0});
  }
  return lattice;
}

std::optional<Lattice> IdealLattice(const CompiledPeriod& p,
                                    const std::vector<int>& order,
                                    int max_ideals,
                                    const Interrupt& interrupt) {
  const int n = static_cast<int>(order.size());
  std::vector<int> rank(p.num_groups, -1);
  for (int i = 0; i < n; ++i) rank[order[i]] = i;
  std::vector<std::vector<int>> before(n), after(n);  // by rank
  for (int item = 0; item < p.num_items; ++item) {
    for (const int reader : p.readers_of(item)) {
      const int low = std::min(rank[p.maker[item]], rank[reader]);
      const int high = std::max(rank[p.maker[item]], rank[reader]);
      if (low < 0) continue;
      before[high].push_back(low);
      after[low].push_back(high);
    }
  }
  for (auto* const lists : {&before, &after}) {
    for (std::vector<int>& list : *lists) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  using Bits = std::vector<std::uint64_t>;
  const auto has = [](const Bits& bits, int i) { return bits[i / 64] >> (i % 64) & 1; };
  Lattice lattice;
  for (const int group : order) lattice.elements.push_back({group});
  lattice.below.emplace_back();
  // An ideal of the current size, and the elements that can be added to it.
  struct Ideal {
    int index;
    std::vector<int> next;
  };
  std::unordered_map<Bits, Ideal, HashBits> layer, above;
  Ideal& empty = layer[Bits((n + 63) / 64, 0)];
  empty.index = 0;
  for (int i = 0; i < n; ++i) {
    if (before[i].empty()) empty.next.push_back(i);
  }
  for (int size = 0; size < n; ++size) {
    interrupt.Check();
    above.clear();
    for (const auto& [bits, ideal] : layer) {
      for (const int element : ideal.next) {
        Bits larger = bits;
        larger[element / 64] |= std::uint64_t{1} << (element % 64);
        const auto [entry, added] = above.try_emplace(larger);
        if (added) {
          if (std::ssize(lattice.below) == max_ideals) return std::nullopt;
          entry->second.index = static_cast<int>(lattice.below.size());
          lattice.below.emplace_back();
          std::vector<int>& next = entry->second.next;
          for (const int other : ideal.next) {
            if (other != element) next.push_back(other);
          }
          for (const int other : after[element]) {
            if (std::ranges::all_of(before[other], [&](int b) { return has(larger, b); })) {
              next.push_back(other);
            }
          }
        }
        lattice.below[entry->second.index].push_back({element, ideal.index});
      }
    }
    std::swap(layer, above);
  }
  return lattice;
}

}  // namespace emplace

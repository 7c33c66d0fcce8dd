#include "agents/branch_and_bound/partial_load.h"

#include <algorithm>
#include <bit>

namespace emplace {

std::vector<GroupItem> GroupItems(const Problem& problem) {
  const Graph& graph = problem.graph();
  std::vector<GroupItem> items;
  const auto add = [&](int op, std::int64_t bytes, std::span<const int> readers) {
    const int maker = problem.grouping().group_of(op);
    GroupItem item{maker, bytes, {}};
    for (int reader : readers) {
      const int group = problem.grouping().group_of(reader);
      if (group != maker) item.readers.push_back(group);
    }
    std::ranges::sort(item.readers);
    const auto repeated = std::ranges::unique(item.readers);
    item.readers.erase(repeated.begin(), repeated.end());
    if (!item.readers.empty()) items.push_back(std::move(item));
  };
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (int t : graph.op(v).outputs) add(v, graph.tensor(t).bytes, graph.readers(t));
    add(v, 0, graph.control_readers(v));
  }
  return items;
}

PartialLoad::PartialLoad(const Problem& problem)
    : problem_(problem), items_(GroupItems(problem)), load_(problem.num_devices()) {
}

Nanos PartialLoad::operator()(std::span<const std::uint64_t> masks) {
  const Cluster& cluster = problem_.cluster();
  std::ranges::fill(load_, 0);
  Nanos work = 0;
  for (int g = 0; g < problem_.num_groups(); ++g) {
    Nanos least = kMaxNanos;
    for (std::uint64_t rest = masks[g]; rest; rest &= rest - 1) {
      least = std::min(least, problem_.group_cost(g, std::countr_zero(rest)));
    }
    work += least;
    if (std::has_single_bit(masks[g])) load_[std::countr_zero(masks[g])] += least;
  }
  for (const GroupItem& item : items_) {
    if (!std::has_single_bit(masks[item.maker])) continue;
    const int from = std::countr_zero(masks[item.maker]);
    std::uint64_t to = 0;
    for (int group : item.readers) {
      if (std::has_single_bit(masks[group])) to |= masks[group];
    }
    to &= ~masks[item.maker];
    Nanos dearest = 0;
    for (; to; to &= to - 1) {
      const int d = std::countr_zero(to);
      const Nanos time = cluster.TransferTime(from, d, item.bytes);
      if (cluster.kind_of(d).pays_transfers) load_[d] += time;
      dearest = std::max(dearest, time);
    }
    if (cluster.kind_of(from).pays_transfers) load_[from] += dearest;
  }
  const int num_devices = problem_.num_devices();
  return std::max(*std::ranges::max_element(load_), (work + num_devices - 1) / num_devices);
}

}  // namespace emplace

#include "framework/schedule/upward_rank.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "framework/base/error.h"

namespace emplace {
namespace {

__extension__ using WideSum = __int128;

// Rounds a mean to the nearest integer, halves up; at most kMaxNanos.
Nanos RoundedMean(WideSum sum, std::int64_t count) {
  if (count == 0) return 0;
  return static_cast<Nanos>(std::min<WideSum>((2 * sum + count) / (2 * count), kMaxNanos));
}

// Computes mean transfer times. Channels of equal bandwidth and setup share their wire time, so
// that a mean over many pairs of devices takes few divisions.
class MeanTransfer {
  struct Rate {
    const Channel* channel = nullptr;  // one of this bandwidth and setup
    std::int64_t hops = 0;
  };

 public:
  explicit MeanTransfer(const Cluster& cluster) {
    std::map<std::tuple<std::int64_t, std::int64_t, Nanos>, Rate> rates;  // by bandwidth, setup
    for (int from = 0; from < cluster.num_devices(); ++from) {
      for (int to = 0; to < cluster.num_devices(); ++to) {
        if (from == to || cluster.route(from, to).empty()) continue;
        ++pairs_;
        for (const int k : cluster.route(from, to)) {
          const Channel& channel = cluster.channel(k);
          latency_ += channel.latency;
          Rate& rate =
              rates[{channel.bandwidth.bytes, channel.bandwidth.per_seconds, channel.setup}];
          rate.channel = &channel;
          ++rate.hops;
        }
      }
    }
    for (const auto& [key, rate] : rates) rates_.push_back(rate);
  }

  Nanos Of(std::int64_t bytes) const {
    WideSum sum = latency_;
    for (const Rate& rate : rates_) sum += WideSum(rate.hops) * WireTime(bytes, *rate.channel);
    return RoundedMean(sum, pairs_);
  }

 private:
  std::int64_t pairs_ = 0;
  WideSum latency_ = 0;
  std::vector<Rate> rates_;
};

Nanos MeanCost(const Costs& costs, int op) {
  WideSum sum = 0;
  int count = 0;
  for (int d = 0; d < costs.num_devices; ++d) {
    if (!costs.allowed(op, d)) continue;
    sum += costs.at(op, d);
    ++count;
  }
  return RoundedMean(sum, count);
}

}  // namespace

std::vector<Nanos> IntegerUpwardRanks(const Graph& graph,
                                      const Cluster& cluster,
                                      const Costs& costs) {
  EMPLACE_CHECK(costs.num_ops == graph.num_ops() && costs.num_devices == cluster.num_devices());
  const MeanTransfer transfer(cluster);
  std::vector<Nanos> rank(graph.num_ops(), 0);
  for (const int v : std::views::reverse(graph.topological_order())) {
    Nanos behind = 0;
    const auto add_item = [&](std::int64_t bytes, std::span<const int> readers) {
      if (readers.empty()) return;
      Nanos latest = 0;
      for (const int reader : readers) latest = std::max(latest, rank[reader]);
      behind = std::max(behind, transfer.Of(bytes) + latest);
    };
    for (const int t : graph.op(v).outputs) add_item(graph.tensor(t).bytes, graph.readers(t));
    add_item(0, graph.control_readers(v));
    rank[v] = std::min(MeanCost(costs, v) + behind, kMaxNanos);
  }
  return rank;
}

}  // namespace emplace

#include "tests/benchmarks/plain_pass.h"

#include <algorithm>
#include <bit>
#include <span>

#include "framework/base/error.h"
#include "framework/schedule/issue_order.h"

namespace emplace::testing {

PlainPass::PlainPass(const Problem& problem)
    : num_ops_(problem.num_ops()),
      num_devices_(problem.num_devices()),
      order_(IssueOrder(problem.graph())),
      cost_(problem.costs().time),
      arrival_(size_t(problem.graph().num_tensors() + num_ops_) * problem.num_devices()),
      device_free_(problem.num_devices()),
      channel_free_(size_t(problem.num_devices()) * problem.num_devices()) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  EMPLACE_CHECK(problem.num_groups() == num_ops_);
  EMPLACE_CHECK(cluster.num_channels() == num_devices_ * (num_devices_ - 1));
  const Channel& any = cluster.channel(0);
  latency_ = any.latency;
  std::vector<bool> used(cluster.num_channels());
  for (int d = 0; d < num_devices_; ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    EMPLACE_CHECK(cluster.device(d).slots == 1 && kind.gap + kind.issue + kind.launch == 0);
    for (int e = 0; e < num_devices_; ++e) {
      if (e == d) continue;
      EMPLACE_CHECK(cluster.route(d, e).size() == 1 && !used[cluster.route(d, e)[0]]);
      used[cluster.route(d, e)[0]] = true;
    }
  }
  for (int k = 0; k < cluster.num_channels(); ++k) {
    const Channel& channel = cluster.channel(k);
    EMPLACE_CHECK(channel.latency == latency_ && channel.bandwidth == any.bandwidth &&
                  channel.setup == any.setup && channel.gap == 0 && !channel.broadcast &&
                  channel.occupies == Occupies::kNone);
  }

  const int num_tensors = graph.num_tensors();
  for (int v = 0; v < num_ops_; ++v) {
    for (const int tensor : graph.reads(v)) {
      if (graph.tensor(tensor).producer >= 0) reads_.push_back(tensor);
    }
    std::vector<int> controls = graph.op(v).control_inputs;
    std::sort(controls.begin(), controls.end());
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
    for (const int u : controls) reads_.push_back(num_tensors + u);
    read_begin_.push_back(static_cast<int>(reads_.size()));
    const std::vector<int>& outputs = graph.op(v).outputs;
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
    std::sort(outputs_.begin() + output_begin_.back(), outputs_.end());
    if (!graph.control_readers(v).empty()) outputs_.push_back(num_tensors + v);
    output_begin_.push_back(static_cast<int>(outputs_.size()));
  }
  const auto add_item = [&](std::span<const int> readers, std::int64_t bytes) {
    readers_.insert(readers_.end(), readers.begin(), readers.end());
    reader_begin_.push_back(static_cast<int>(readers_.size()));
    wire_.push_back(WireTime(bytes, any));
  };
  for (int t = 0; t < num_tensors; ++t) add_item(graph.readers(t), graph.tensor(t).bytes);
  for (int v = 0; v < num_ops_; ++v) add_item(graph.control_readers(v), 0);
}

Nanos PlainPass::StepTime(const Placement& placement) {
  std::fill(device_free_.begin(), device_free_.end(), 0);
  std::fill(channel_free_.begin(), channel_free_.end(), 0);
  Nanos latest = 0;
  for (const int v : order_) {
    const int d = placement.device[v];
    Nanos ready = 0;
    for (int r = read_begin_[v]; r < read_begin_[v + 1]; ++r) {
      ready = std::max(ready, arrival_[size_t(reads_[r]) * num_devices_ + d]);
    }
    const Nanos start = std::max(device_free_[d], ready);
    const Nanos finish = start + cost_[size_t(v) * num_devices_ + d];
    device_free_[d] = finish;
    latest = std::max(latest, finish);
    for (int o = output_begin_[v]; o < output_begin_[v + 1]; ++o) {
      const int item = outputs_[o];
      Nanos* const arrival = &arrival_[size_t(item) * num_devices_];
      arrival[d] = finish;
      std::uint64_t remote = 0;  // devices that read the item, as bits
      for (int r = reader_begin_[item]; r < reader_begin_[item + 1]; ++r) {
        remote |= std::uint64_t{1} << placement.device[readers_[r]];
      }
      remote &= ~(std::uint64_t{1} << d);
      for (; remote != 0; remote &= remote - 1) {
        const int e = std::countr_zero(remote);
        Nanos& free = channel_free_[d * num_devices_ + e];
        free = std::max(free, finish) + wire_[item];
        arrival[e] = free + latency_;
        latest = std::max(latest, arrival[e]);
      }
    }
  }
  return latest;
}

}  // namespace emplace::testing

#include "framework/bounds/transfer_jobs.h"

#include <algorithm>
#include <tuple>

namespace emplace {

TransferJobs::TransferJobs(const Cluster& cluster)
    : cluster_(cluster), jobs_(cluster.num_channels()), occupying_(cluster.num_devices()) {
}

void TransferJobs::Clear() {
  for (auto& jobs : jobs_) jobs.clear();
  for (auto& jobs : occupying_) jobs.clear();
}

void TransferJobs::Add(int channel, int from, int to, const Job& hop) {
  const Channel& over = cluster_.channel(channel);
  if (over.broadcast) return;
  jobs_[channel].push_back({hop.head, hop.time + over.gap, hop.tail - over.gap});
  if (OccupiesSource(over.occupies)) occupying_[from].push_back(hop);
  if (OccupiesDestination(over.occupies)) occupying_[to].push_back(hop);
}

Nanos TransferJobs::Bound() {
  Nanos bound = 0;
  for (auto& jobs : jobs_) {
    if (jobs.size() > 1) bound = std::max(bound, OneMachineBound(jobs));
  }
  return bound;
}

void SetTransfers(const Cluster& cluster, std::vector<SentItem>& sent, TransferJobs& jobs) {
  std::sort(sent.begin(), sent.end(), [](const SentItem& a, const SentItem& b) {
    return std::tie(a.maker, a.to, b.bytes, b.tail) < std::tie(b.maker, b.to, a.bytes, a.tail);
  });
  jobs.Clear();
  const SentItem* last = nullptr;
  for (const SentItem& item : sent) {
    if (last && last->maker == item.maker && last->to == item.to) continue;
    last = &item;
    Nanos head = item.head;
    Nanos tail = cluster.TransferTime(item.from, item.to, item.bytes) + item.tail;
    for (int k : cluster.route(item.from, item.to)) {
      const Nanos wire = WireTime(item.bytes, cluster.channel(k)),
                  latency = cluster.channel(k).latency;
      tail -= wire;
      jobs.Add(k, item.from, item.to, {head, wire, tail});
      head += wire + latency;
      tail -= latency;
    }
  }
}

}  // namespace emplace

#include <algorithm>
#include <tuple>

#include "framework/bounds/one_machine.h"

namespace emplace {

ChannelBound::ChannelBound(const Cluster& cluster)
    : cluster_(cluster), jobs_(cluster.num_channels()), occupying_(cluster.num_devices()) {
}

Nanos ChannelBound::operator()(std::vector<SentItem>& sent) {
  std::sort(sent.begin(), sent.end(), [](const SentItem& a, const SentItem& b) {
    return std::tie(a.maker, a.to, b.bytes, b.tail) < std::tie(b.maker, b.to, a.bytes, a.tail);
  });
  for (auto& jobs : jobs_) jobs.clear();
  for (auto& jobs : occupying_) jobs.clear();
  const SentItem* last = nullptr;
  for (const SentItem& item : sent) {
    if (last && last->maker == item.maker && last->to == item.to) continue;
    last = &item;
    Nanos head = item.head;
    Nanos tail = cluster_.TransferTime(item.from, item.to, item.bytes) + item.tail;
    for (int k : cluster_.route(item.from, item.to)) {
      const Channel& channel = cluster_.channel(k);
      const Nanos wire = WireTime(item.bytes, channel);
      tail -= wire;
      if (!channel.broadcast) {
        const Job job{head, wire, tail};
        jobs_[k].push_back({head, wire + channel.gap, tail - channel.gap});
        if (OccupiesSource(channel.occupies)) occupying_[item.from].push_back(job);
        if (OccupiesDestination(channel.occupies)) occupying_[item.to].push_back(job);
      }
      head += wire + channel.latency;
      tail -= channel.latency;
    }
  }
  Nanos bound = 0;
  for (auto& jobs : jobs_) {
    if (jobs.size() > 1) bound = std::max(bound, OneMachineBound(jobs));
  }
  return bound;
}

}  // namespace emplace

// In queue semantics a first hop is taken out of the queue when its producer finishes. Nothing
// comes between the first hops of one op, since their keys differ only after time and producer; so
// they have one place in the queue. On machines on which several devices send over one channel
// (Senders::kSeveral) this is the only simplification. On other machines the hops are served even
// earlier, together with the producer, so that only ops are queued. This changes no time:
//
// - Only hops from one device d meet on a channel, and d finishes its ops in the order in which it
//   serves them. So hops become ready in this order, and channels serve them in this order, too.
// - Ties: two ops of d finish at the same time f, and the later one has the lower id. (It costs
//   nothing, and d has no gap.) If the later op was taken out of the queue before f, then the hops
//   of both were in the queue at f, and its own went first. Reorder() serves the hops after it
//   again. Nothing has followed from their times so far: their arrivals make ops ready at f or
//   later, and no key of f or later has been taken out. Reordering only delays arrivals. An op that
//   was queued too early is recognised when it is taken out, since its ready time is no longer that
//   of its key; it is then put back. If the later op was taken out at f, the hops of the other had
//   already gone, since transfers come before ops; then nothing has to change.
// - An op that a hop makes ready is put into the queue earlier than in README.md, but with the same
//   key, which is not below f. All keys that are taken out before f are less. So ops are taken out
//   in the same order.
//
// The first point does not hold with several hops, several slots (which do not finish in order), a
// host, or channels that occupy devices.

#include "simulator/queue/queue_direct.h"

#include <algorithm>
#include <array>
#include <bit>

namespace emplace {

bool DirectQueueRun::Fits(const CompiledProblem& p, const EngineOptions& options) {
  if (p.has_slots || p.has_host || p.has_occupies || p.has_cold || !options.channel_contention) {
    return false;
  }
  for (int from = 0; from < p.num_devices; ++from) {
    for (int to = 0; to < p.num_devices; ++to) {
      if (p.route(from, to).size() > 1) return false;
    }
  }
  return true;
}

DirectQueueRun::DirectQueueRun(const CompiledProblem& problem)
    : p_(problem),
      link_of_(size_t(problem.num_devices) * problem.num_devices, 0),
      together_(link_of_.size(), 0),
      ops_(problem.num_ops),
      devices_(problem.num_devices),
      links_(link_of_.size()),
      before_(problem.readers.size() + 1) {
  MakeLinks();
  rank_bits_ = std::bit_width(static_cast<unsigned>(problem.num_ops));
  op_bit_ = 0;
  if (senders_ == Senders::kSeveral) op_bit_ = EventBacklog::Key{1} << rank_bits_++;
  for (int position = 0; position < p_.num_ops; ++position) {
    ops_[position].edge_begin = static_cast<unsigned>(edges_.size());
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
        edges_.push_back(
            {unsigned(p_.readers[r]), unsigned(item), p_.num_rates == 1 ? p_.wire[item] : 0});
      }
    }
    ops_[position].edge_end = static_cast<unsigned>(edges_.size());
    awaits_.push_back(p_.read_begin[position + 1] - p_.read_begin[position]);
    if (awaits_.back() == 0) initial_.push_back(op_bit_ | position);
  }
  initial_.push_back(EventQueue::kNone);
  for (int d = 0; d < p_.num_devices; ++d) devices_[d].gap = p_.gap[d];
}

void DirectQueueRun::MakeLinks() {
  std::vector<int> first_pair(p_.num_channels, -1);
  const int num_devices = p_.num_devices;
  for (int pair = 0; pair < num_devices * num_devices; ++pair) {
    link_of_[pair] = pair;
    if (p_.route_begin[pair] == p_.route_begin[pair + 1]) continue;
    const int k = p_.routes[p_.route_begin[pair]], from = pair / num_devices;
    if (first_pair[k] < 0) {
      first_pair[k] = pair;
      links_[pair].latency = p_.latency[k];
      links_[pair].gap = p_.channel_gap[k];
      links_[pair].column = p_.rate[k];
      links_[pair].channel = k;
    } else {
      const bool one_device = first_pair[k] / num_devices == from;
      senders_ = std::max(senders_, one_device ? Senders::kDevice : Senders::kSeveral);
    }
    link_of_[pair] = first_pair[k];
    together_[pair] = std::uint64_t{1} << pair % num_devices;
    if (!p_.broadcast[k]) continue;
    broadcast_ = true;
    senders_ = std::max(senders_, Senders::kDevice);
    for (int other = from * num_devices; other < pair; ++other) {
      if (link_of_[other] != first_pair[k]) continue;
      together_[other] |= std::uint64_t{1} << pair % num_devices;
      together_[pair] |= std::uint64_t{1} << other % num_devices;
    }
  }
}

bool DirectQueueRun::Run(const std::uint8_t* device,
                         ServerState& servers,
                         QueueTimes& times,
                         ChannelOutcome* channels) {
  Start(device, times);
  return Serve(p_.num_ops, times) && End(device, servers, times, channels);
}

void DirectQueueRun::Start(const std::uint8_t* device, QueueTimes& times) {
  moves_left_ = 16 * std::int64_t{p_.num_ops};  // a higher limit would not be linear
  for (Link& link : links_) {
    link.free = link.last_key = 0;
    link.last = -1;
  }
  for (DeviceState& d : devices_) d.free = d.finish = d.busy = 0;
  for (int position = 0; position < p_.num_ops; ++position) {
    ForgetArrivals(position);
    Place(position, device[position]);
  }
  backlog_.Reset(initial_);
  served_ = 0;
  times.num_copies = 0;
}

void DirectQueueRun::Place(int position, int device) {
  ops_[position].device = device;
  ops_[position].cost = p_.cost[size_t(position) * p_.num_devices + device];
}

bool DirectQueueRun::Serve(int end, QueueTimes& times) {
  const bool one_rate = p_.num_rates <= 1;
  switch (senders_) {
    case Senders::kPair:
      return one_rate ? ServeOps<Senders::kPair, true>(end, times)
                      : ServeOps<Senders::kPair, false>(end, times);
    case Senders::kDevice:
      return ServeOps<Senders::kDevice, false>(end, times);
    default:
      return ServeOps<Senders::kSeveral, false>(end, times);
  }
}

size_t DirectQueueRun::most_snapshot_bytes() const {
  return ops_.size() * (sizeof(Waiting) + sizeof(EventBacklog::Key)) +
         devices_.size() * sizeof(DeviceState) + links_.size() * sizeof(Link) +
         before_.size() * (sizeof(QueueTimes::Copy) + sizeof(int));
}

void DirectQueueRun::Save(const QueueTimes& times, Snapshot& snapshot) {
  const auto num_copies = static_cast<std::ptrdiff_t>(times.num_copies);
  snapshot.served = served_;
  snapshot.moves_left = moves_left_;
  snapshot.devices = devices_;
  snapshot.links = links_;
  snapshot.copies.assign(times.copies.begin(), times.copies.begin() + num_copies);
  snapshot.before.assign(before_.begin(), before_.begin() + num_copies);
  snapshot.waiting.clear();
  snapshot.first = 0;
  while (snapshot.first < p_.num_ops && ops_[snapshot.first].missing < 0) ++snapshot.first;
  for (int position = snapshot.first; position < p_.num_ops; ++position) {
    const OpState& op = ops_[position];
    if (op.missing >= 0 && op.missing < awaits_[position]) {
      snapshot.waiting.push_back({op.ready, op.missing, position});
    }
  }
  snapshot.queued.clear();
  EventQueue queue(backlog_);
  for (auto key = queue.Pop(); key != EventQueue::kNone; key = queue.Pop()) {
    snapshot.queued.push_back(key);
    if ((key & op_bit_) != op_bit_) {  // transfers of a served op
      const auto position = static_cast<int>(key & ((EventQueue::Key{1} << rank_bits_) - 1));
      snapshot.waiting.push_back({ops_[position].ready, ops_[position].missing, position});
    }
  }
  snapshot.queued.push_back(EventQueue::kNone);
  backlog_.Reset(snapshot.queued);
}

void DirectQueueRun::Load(const Snapshot& snapshot, bool with_copies, QueueTimes& times) {
  served_ = snapshot.served;
  moves_left_ = snapshot.moves_left;
  for (int position = snapshot.first; position < p_.num_ops; ++position) ForgetArrivals(position);
  for (const Waiting& op : snapshot.waiting) {
    ops_[op.position].ready = op.ready;
    ops_[op.position].missing = op.missing;
  }
  devices_ = snapshot.devices;
  links_ = snapshot.links;
  backlog_.Reset(snapshot.queued);
  if (with_copies) {
    std::copy(snapshot.copies.begin(), snapshot.copies.end(), times.copies.begin());
    std::copy(snapshot.before.begin(), snapshot.before.end(), before_.begin());
  }
  times.num_copies = snapshot.copies.size();
}

bool DirectQueueRun::End(const std::uint8_t* device,
                         ServerState& servers,
                         QueueTimes& times,
                         ChannelOutcome* channels) const {
  Finish(servers, times);
  // A time beyond the bits of a key has made the order wrong.
  if (times.latest >> (EventQueue::kKeyBits - rank_bits_) != 0) return false;
  if (channels != nullptr) AddChannels(device, times, channels);
  if (broadcast_) AddSharedCopies(device, times);
  return true;
}

template <DirectQueueRun::Senders kSenders, bool kOneRate>
bool DirectQueueRun::ServeOps(int end, QueueTimes& times) {
  using Key = EventQueue::Key;
  constexpr bool kQueued = kSenders == Senders::kSeveral;  // whether transfers are queued
  // Members are copied to locals, so that the compiler does not read them again after stores.
  const int num_devices = p_.num_devices, num_rates = p_.num_rates, rank_bits = rank_bits_;
  const Key op_bit = kQueued ? op_bit_ : 0;
  const Key position_mask = (Key{1} << (kQueued ? rank_bits - 1 : rank_bits)) - 1;
  const Nanos* const wires = p_.wire.data();
  const Edge* const edges = edges_.data();
  const int* const link_of = link_of_.data();
  const std::uint64_t* const together = together_.data();
  OpState* const ops = ops_.data();
  Link* const links = links_.data();
  DeviceState* const devices = devices_.data();
  Nanos *const starts = times.start.data(), *const finishes = times.finish.data();
  QueueTimes::Copy* const copies = times.copies.data();
  int* const before = before_.data();

  EventQueue queue(backlog_);
  size_t num_copies = times.num_copies;
  std::array<Nanos, 64> arrivals;  // [num_devices] arrivals of an item

  const auto arrive = [&](unsigned reader, Nanos time) __attribute__((always_inline)) {
    OpState& op = ops[reader];
    const Nanos latest = std::max(op.ready, time);
    op.ready = latest;
    if (--op.missing == 0) queue.Push(latest << rank_bits | op_bit | reader);
  };

  for (int served = served_; served < end;) {  // until then the queue is not empty
    const Key key = queue.Pop();
    const auto position = static_cast<size_t>(key & position_mask);
    const auto [ready, cost, missing, d, edge_begin, edge_end] = ops[position];
    const Edge *edge = edges + edge_begin, *const last_edge = edges + edge_end;
    const bool is_op = !kQueued || (key & op_bit) != 0;
    Nanos finish = key >> rank_bits;
    if (is_op) {
      if (!kQueued && ready != finish) [[unlikely]] {
        if (ready >> (EventQueue::kKeyBits - rank_bits) != 0) return false;
        queue.Push(ready << rank_bits | static_cast<Key>(position));
        continue;
      }
      ops[position].missing = ~served++;
      DeviceState& source = devices[d];
      const Nanos start = std::max(source.free, ready);
      finish = start + cost;
      source.free = finish + (cost > 0 ? source.gap : 0);
      source.finish = finish;
      source.busy += cost;
      starts[position] = start;
      finishes[position] = finish;
    }
    const Key copy_key = finish << rank_bits | static_cast<Key>(position);

    // Serves a copy of an item to `e` over links_[at]. @return its arrival
    const auto send = [&](int at, const Edge& edge, unsigned e) __attribute__((always_inline)) {
      Link& link = links[at];
      const Nanos wire = kOneRate ? edge.wire : wires[size_t{edge.item} * num_rates + link.column];
      const Nanos begin = std::max(link.free, finish), sent = begin + wire;
      Nanos arrival = sent + link.latency;
      copies[num_copies] = {begin, arrival, static_cast<int>(edge.item), static_cast<int>(e)};
      if constexpr (!kQueued) before[num_copies] = link.last;
      link.free = sent + link.gap;
      link.last = static_cast<int>(num_copies);
      if constexpr (!kQueued) {
        if (copy_key < link.last_key && ready < finish) [[unlikely]] {
          arrival = Reorder(link, finish, times);
        } else {
          link.last_key = copy_key;
        }
      }
      ++num_copies;
      return arrival;
    };

    const std::uint64_t here = std::uint64_t{1} << d;
    if constexpr (kSenders == Senders::kPair) {
      // Destinations are independent, so they may be served in the order of readers.
      arrivals[d] = finish;
      std::uint64_t served = here;
      unsigned last_item = -1;
      for (; edge != last_edge; ++edge) {
        const unsigned e = ops[edge->reader].device;
        served = edge->item == last_item ? served : here;
        last_item = edge->item;
        if ((served >> e & 1) == 0) {
          arrivals[e] = send(d * num_devices + e, *edge, e);
        }
        served |= std::uint64_t{1} << e;
        arrive(edge->reader, arrivals[e]);
      }
    } else if (kQueued && is_op) {
      std::uint64_t remote = 0;
      for (; edge != last_edge; ++edge) {
        const unsigned e = ops[edge->reader].device;
        if (e == d) {
          arrive(edge->reader, finish);
        } else {
          remote |= std::uint64_t{1} << e;
        }
      }
      if (remote != 0) {
        ops[position].ready = static_cast<Nanos>(remote);
        queue.Push(copy_key);
      }
    } else {
      arrivals[d] = finish;
      if constexpr (kQueued) {
        const auto remote = static_cast<std::uint64_t>(ready);
        if ((remote & (remote - 1)) == 0) {  // one destination, the usual case
          const unsigned e = std::countr_zero(remote);
          const int at = link_of[d * num_devices + e];
          Nanos arrival = 0;
          unsigned last_item = -1;
          for (; edge != last_edge; ++edge) {
            if (ops[edge->reader].device != e) continue;
            if (edge->item != last_item) arrival = send(at, *edge, e);
            last_item = edge->item;
            arrive(edge->reader, arrival);
          }
          continue;
        }
      }
      while (edge != last_edge) {
        const Edge* const first = edge;
        std::uint64_t remote = 0;
        for (; edge != last_edge && edge->item == first->item; ++edge) {
          remote |= std::uint64_t{1} << ops[edge->reader].device;
        }
        remote &= ~here;
        while (remote != 0) {
          const int e = std::countr_zero(remote), pair = d * num_devices + e;
          const Nanos arrival = send(link_of[pair], *first, e);
          std::uint64_t served = together[pair] & remote;
          remote &= ~served;
          for (; served != 0; served &= served - 1) arrivals[std::countr_zero(served)] = arrival;
        }
        for (const Edge* to = first; to != edge; ++to) {
          const unsigned e = ops[to->reader].device;
          if (!kQueued || e != d) arrive(to->reader, arrivals[e]);
        }
      }
    }
    if (!kQueued && moves_left_ < 0) return false;
  }
  if (end < p_.num_ops) queue.HandBack();
  served_ = end;
  times.num_copies = num_copies;
  return true;
}

// Serves the last copy of the link, ready at `ready`, before the copies that became ready at the
// same time and have higher ids. The copies swap: an index keeps its turn on the link.
// @return arrival of the copy that was the last
Nanos DirectQueueRun::Reorder(Link& link, Nanos ready, QueueTimes& times) {
  moved_.clear();
  int at = link.last;
  for (;;) {
    const int other = before_[at];
    if (other < 0 || times.copies[other].item <= times.copies[at].item) break;
    if (times.finish[p_.items[times.copies[other].item].producer] != ready) break;
    std::swap(times.copies[at], times.copies[other]);
    moved_.push_back(at);
    at = other;
  }
  moves_left_ -= static_cast<std::int64_t>(moved_.size());
  link.free = 0;
  if (const int other = before_[at]; other >= 0) {
    link.free = times.copies[other].start + Wire(times.copies[other].item, link) + link.gap;
  }
  const auto serve = [&](QueueTimes::Copy& copy) {
    copy.start = std::max(link.free, ready);
    link.free = copy.start + Wire(copy.item, link) + link.gap;
    copy.left = copy.start + Wire(copy.item, link) + link.latency;
  };
  serve(times.copies[at]);
  for (; !moved_.empty(); moved_.pop_back()) {
    QueueTimes::Copy& copy = times.copies[moved_.back()];
    serve(copy);
    const int source = ops_[p_.items[copy.item].producer].device;
    const std::uint64_t served = together_[source * p_.num_devices + copy.device];
    for (int r = p_.reader_begin[copy.item]; r < p_.reader_begin[copy.item + 1]; ++r) {
      OpState& op = ops_[p_.readers[r]];
      if (served >> op.device & 1) op.ready = std::max(op.ready, copy.left);
    }
  }
  return times.copies[at].left;
}

void DirectQueueRun::Finish(ServerState& servers, QueueTimes& times) const {
  times.latest = 0;
  for (int d = 0; d < p_.num_devices; ++d) {
    servers.slot_free[servers.slot_begin[d]] = devices_[d].free;
    servers.busy[d] = devices_[d].busy;
    times.latest = std::max(times.latest, devices_[d].finish);
  }
  for (const Link& link : links_) {
    if (link.last < 0) continue;
    servers.channel_free[link.channel] = link.free;
    times.latest = std::max(times.latest, times.copies[link.last].left);
  }
}

void DirectQueueRun::AddChannels(const std::uint8_t* device,
                                 const QueueTimes& times,
                                 ChannelOutcome* channels) const {
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    const Link& link = links_[link_of_[PairOf(device, copy)]];
    channels[link.channel].busy += Wire(copy.item, link);
    channels[link.channel].bytes += p_.items[copy.item].bytes;
    ++channels[link.channel].transfers;
  }
}

void DirectQueueRun::AddSharedCopies(const std::uint8_t* device, QueueTimes& times) const {
  const size_t num_sent = times.num_copies;
  for (size_t i = 0; i < num_sent; ++i) {
    QueueTimes::Copy copy = times.copies[i];
    std::uint64_t others = together_[PairOf(device, copy)];
    others &= p_.ReaderDevices(copy.item, device) & ~(std::uint64_t{1} << copy.device);
    for (; others != 0; others &= others - 1) {
      copy.device = std::countr_zero(others);
      times.copies[times.num_copies++] = copy;
    }
  }
}

}  // namespace emplace

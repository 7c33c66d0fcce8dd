// In queue semantics a first hop is taken out of the queue when its producer finishes. Here it is
// served earlier, together with its producer, so that only ops are queued. On machines that Fits()
// accepts this changes no time:
//
// - Only hops from one device d meet on a channel, and d finishes its ops in the order in which it
//   serves them. So hops become ready in this order, and channels serve them in it, too.
// - Ties: two ops of d finish at the same instant f, and the later one has the lower id. (It costs
//   nothing, and d has no gap.) If it was taken out of the queue before f, then both hops stood in
//   the queue at f, and its own went first. Reorder() serves the hops behind it anew. Nothing has
//   followed from their times so far: whatever their arrival makes ready is ready at f or later,
//   and what is taken out of the queue has not come to f. Arrivals only become later by it; an op
//   queued too early is recognised when it is taken out, since its ready time is no longer that of
//   its key, and is put back. If the later op was taken out at f, the hops of the other had already
//   gone, as transfers come before ops; then there is nothing to change.
// - An op that a hop makes ready is put into the queue earlier than it would be, but with the same
//   key, which is not below f. All that is taken out before f is less. So ops are taken out in the
//   same order.
//
// Several hops, a channel from several devices, several slots (which do not finish in order), the
// host and occupied devices break the first point.

#include "simulator/queue_direct.h"

#include <algorithm>
#include <array>
#include <bit>

namespace emplace {

bool DirectQueueRun::Fits(const CompiledProblem& p, const EngineOptions& options) {
  if (p.has_slots || p.has_host || p.has_occupies || !options.channel_contention) return false;
  std::vector<int> source(p.num_channels, -1);
  for (int from = 0; from < p.num_devices; ++from) {
    for (int to = 0; to < p.num_devices; ++to) {
      const auto route = p.route(from, to);
      if (route.empty()) continue;
      if (route.size() > 1) return false;
      if (source[route[0]] >= 0 && source[route[0]] != from) return false;
      source[route[0]] = from;
    }
  }
  return true;
}

DirectQueueRun::DirectQueueRun(const CompiledProblem& problem)
    : p_(problem),
      rank_bits_(std::bit_width(static_cast<unsigned>(problem.num_ops))),
      lane_of_(size_t(problem.num_devices) * problem.num_devices, 0),
      ops_(problem.num_ops),
      devices_(problem.num_devices),
      before_(problem.readers.size() + 1) {
  for (int position = 0; position < p_.num_ops; ++position) {
    ops_[position].edge_begin = static_cast<int>(edges_.size());
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
        edges_.push_back({p_.readers[r], item, p_.num_rates == 1 ? p_.wire[item] : 0});
      }
    }
    ops_[position].edge_end = static_cast<int>(edges_.size());
    awaits_.push_back(p_.read_begin[position + 1] - p_.read_begin[position]);
    if (awaits_.back() == 0) initial_.push_back(position);
  }
  std::vector<int> lane_of_channel(p_.num_channels, -1);
  for (int from = 0; from < p_.num_devices; ++from) {
    for (int to = 0; to < p_.num_devices; ++to) {
      const auto route = p_.route(from, to);
      if (!route.empty() && (lane_of_channel[route[0]] >= 0 || p_.broadcast[route[0]])) {
        private_ = false;
      }
      if (!route.empty()) lane_of_channel[route[0]] = 0;
    }
  }
  if (private_) lanes_.resize(size_t(p_.num_devices) * p_.num_devices);
  std::fill(lane_of_channel.begin(), lane_of_channel.end(), -1);
  for (int pair = 0; pair < p_.num_devices * p_.num_devices; ++pair) {
    const int k =
        p_.route_begin[pair] < p_.route_begin[pair + 1] ? p_.routes[p_.route_begin[pair]] : -1;
    if (k < 0) {
      lane_of_[pair] = private_ ? pair : 0;
      continue;
    }
    if (lane_of_channel[k] < 0) {
      lane_of_channel[k] = private_ ? pair : static_cast<int>(lanes_.size());
      if (!private_) lanes_.emplace_back();
      Lane& lane = lanes_[lane_of_channel[k]];
      lane.latency = p_.latency[k];
      lane.gap = p_.channel_gap[k];
      lane.column = p_.rate[k];
      lane.channel = k;
    }
    lane_of_[pair] = lane_of_channel[k];
    if (p_.broadcast[k]) {
      lanes_[lane_of_[pair]].together |= std::uint64_t{1} << pair % p_.num_devices;
      broadcast_ = true;
    }
  }
  for (int d = 0; d < p_.num_devices; ++d) devices_[d].gap = p_.gap[d];
}

bool DirectQueueRun::Run(const std::uint8_t* device,
                         ServerState& servers,
                         QueueTimes& times,
                         ChannelOutcome* channels) {
  moves_left_ = 16 * std::int64_t{p_.num_ops};  // more would not be linear
  for (Lane& lane : lanes_) {
    lane.free = lane.last_key = 0;
    lane.last = -1;
  }
  for (DeviceState& d : devices_) d.free = d.finish = d.busy = 0;
  backlog_.Reset(initial_);
  if (!(private_ ? Simulate<true>(device, times) : Simulate<false>(device, times))) return false;
  Finish(servers, times);
  // A time beyond the bits of a key has spoilt the order.
  if (times.latest >> (63 - rank_bits_) != 0) return false;
  if (channels != nullptr) AddChannels(device, times, channels);
  if (broadcast_) AddSharedCopies(device, times);
  return true;
}

template <bool kPrivate>
bool DirectQueueRun::Simulate(const std::uint8_t* device, QueueTimes& times) {
  using Key = EventQueue::Key;
  // Copies of members: stores through pointers must not make the compiler read them again.
  const int num_devices = p_.num_devices, num_rates = p_.num_rates, rank_bits = rank_bits_;
  const Key rank_mask = (Key{1} << rank_bits) - 1;
  const bool one_rate = num_rates <= 1;
  const Nanos *const costs = p_.cost.data(), *const wires = p_.wire.data();
  const Edge* const edges = edges_.data();
  const int *const lane_of = lane_of_.data(), *const awaits = awaits_.data();
  OpState* const ops = ops_.data();
  Lane* const lanes = lanes_.data();
  DeviceState* const devices = devices_.data();
  Nanos *const starts = times.start.data(), *const finishes = times.finish.data();
  QueueTimes::Copy* const copies = times.copies.data();
  int* const before = before_.data();

  for (int position = 0; position < p_.num_ops; ++position) {
    OpState& op = ops[position];
    op.ready = 0;
    op.device = device[position];
    op.cost = costs[size_t(position) * num_devices + op.device];
    op.missing = awaits[position];
  }

  EventQueue queue(backlog_);
  size_t num_copies = 0;
  std::array<Nanos, 64> arrivals;  // [num_devices] of an item
  for (;;) {
    const Key key = queue.Pop();
    if (key == EventQueue::kNone) break;
    const auto position = static_cast<size_t>(key & rank_mask);
    const auto [ready, cost, missing, d, edge_begin, edge_end] = ops[position];
    if (ready != key >> rank_bits) [[unlikely]] {
      if (ready >> (63 - rank_bits) != 0) return false;
      queue.Push(ready << rank_bits | static_cast<Key>(position));
      continue;
    }
    DeviceState& source = devices[d];
    const Nanos start = std::max(source.free, ready), finish = start + cost;
    source.free = finish + (cost > 0 ? source.gap : 0);
    source.finish = finish;
    source.busy += cost;
    starts[position] = start;
    finishes[position] = finish;
    const Key copy_key = finish << rank_bits | static_cast<Key>(position);

    // Serves the item's copy to `e`, or not; without a branch. @return its arrival
    const auto send = [&](Lane& lane, const Edge& edge, int e, bool wanted) {
      const int item = edge.item;
      const Nanos wire = one_rate ? edge.wire : wires[size_t(item) * num_rates + lane.column];
      const Nanos sent = std::max(lane.free, finish) + wire;
      Nanos arrival = sent + lane.latency, free = sent + lane.gap;
      copies[num_copies] = {sent - wire, arrival, item, e};
      before[num_copies] = lane.last;
      Key last_key = copy_key;
      if (wanted && copy_key < lane.last_key && ready < finish) [[unlikely]] {
        last_key = lane.last_key;
        arrival = Reorder(lane, static_cast<int>(num_copies), finish, times);
        free = lane.free;
      }
      lane.free = wanted ? free : lane.free;
      lane.last_key = wanted ? last_key : lane.last_key;
      lane.last = wanted ? static_cast<int>(num_copies) : lane.last;
      num_copies += wanted;
      return arrival;
    };
    const auto arrive = [&](int reader, Nanos time) {
      OpState& op = ops[reader];
      const Nanos latest = std::max(op.ready, time);
      op.ready = latest;
      const bool complete = --op.missing == 0;
      queue.Push(complete ? latest << rank_bits | reader : EventQueue::kNone);
    };

    const std::uint64_t here = std::uint64_t{1} << d;
    arrivals[d] = finish;
    if constexpr (kPrivate) {
      // Destinations do not meet, so that they may be served as the readers come.
      std::uint64_t there = here;
      int last_item = -1;
      for (int i = edge_begin; i < edge_end; ++i) {
        const Edge& edge = edges[i];
        const int reader = edge.reader, e = ops[reader].device;
        there = edge.item == last_item ? there : here;
        last_item = edge.item;
        const bool wanted = (there >> e & 1) == 0;
        const Nanos sent = send(lanes[d * num_devices + e], edge, e, wanted);
        const Nanos arrival = wanted ? sent : arrivals[e];
        arrivals[e] = arrival;
        there |= std::uint64_t{1} << e;
        arrive(reader, arrival);
      }
    } else {
      for (int i = edge_begin; i < edge_end;) {
        const Edge& edge = edges[i];
        std::uint64_t remote = 0;
        int next = i;
        for (; next < edge_end && edges[next].item == edge.item; ++next) {
          remote |= std::uint64_t{1} << ops[edges[next].reader].device;
        }
        remote &= ~here;
        while (remote != 0) {
          const int e = std::countr_zero(remote);
          Lane& lane = lanes[lane_of[d * num_devices + e]];
          const Nanos arrival = send(lane, edge, e, true);
          std::uint64_t served = lane.together != 0 ? lane.together & remote : remote & -remote;
          remote &= ~served;
          for (; served != 0; served &= served - 1) arrivals[std::countr_zero(served)] = arrival;
        }
        for (; i < next; ++i) {
          const int reader = edges[i].reader;
          arrive(reader, arrivals[ops[reader].device]);
        }
      }
    }
    if (moves_left_ < 0) [[unlikely]]
      return false;
  }
  times.num_copies = num_copies;
  return true;
}

// The copy `added`, the last one of its lane and ready at `ready`, goes before those that became
// ready at the same time and have higher ids. Copies on the way change places: an index stays where
// it is on the lane. @return arrival of the copy added, which lies elsewhere now
Nanos DirectQueueRun::Reorder(Lane& lane, int added, Nanos ready, QueueTimes& times) {
  moved_.clear();
  int at = added;
  for (;;) {
    const int other = before_[at];
    if (other < 0 || times.copies[other].item <= times.copies[at].item) break;
    if (times.finish[p_.items[times.copies[other].item].producer] != ready) break;
    std::swap(times.copies[at], times.copies[other]);
    moved_.push_back(at);
    at = other;
  }
  moves_left_ -= static_cast<std::int64_t>(moved_.size());
  lane.free = 0;
  if (const int other = before_[at]; other >= 0) {
    lane.free = times.copies[other].start + Wire(times.copies[other].item, lane) + lane.gap;
  }
  const auto serve = [&](QueueTimes::Copy& copy) {
    copy.start = std::max(lane.free, ready);
    lane.free = copy.start + Wire(copy.item, lane) + lane.gap;
    copy.left = copy.start + Wire(copy.item, lane) + lane.latency;
  };
  serve(times.copies[at]);
  for (; !moved_.empty(); moved_.pop_back()) {
    QueueTimes::Copy& copy = times.copies[moved_.back()];
    serve(copy);
    const std::uint64_t served =
        lane.together != 0 ? lane.together : std::uint64_t{1} << copy.device;
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
  for (const Lane& lane : lanes_) {
    if (lane.last < 0) continue;
    servers.channel_free[lane.channel] = lane.free;
    times.latest = std::max(times.latest, times.copies[lane.last].left);
  }
}

void DirectQueueRun::AddChannels(const std::uint8_t* device,
                                 const QueueTimes& times,
                                 ChannelOutcome* channels) const {
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    const Lane& lane = LaneOf(device, copy);
    channels[lane.channel].busy += Wire(copy.item, lane);
    channels[lane.channel].bytes += p_.items[copy.item].bytes;
    ++channels[lane.channel].transfers;
  }
}

void DirectQueueRun::AddSharedCopies(const std::uint8_t* device, QueueTimes& times) const {
  const size_t num_sent = times.num_copies;
  for (size_t i = 0; i < num_sent; ++i) {
    QueueTimes::Copy copy = times.copies[i];
    std::uint64_t others = LaneOf(device, copy).together;
    if (others == 0) continue;
    others &= p_.ReaderDevices(copy.item, device) & ~(std::uint64_t{1} << copy.device);
    for (; others != 0; others &= others - 1) {
      copy.device = std::countr_zero(others);
      times.copies[times.num_copies++] = copy;
    }
  }
}

}  // namespace emplace

#include "simulator/queue/queue_general.h"

#include <algorithm>
#include <bit>

namespace emplace {
namespace {

int BitsBelow(size_t count) {
  return std::bit_width(count - 1);
}

}  // namespace

template <class Queue>
GeneralQueueRun<Queue>::GeneralQueueRun(const CompiledProblem& problem,
                                        const EngineOptions& options)
    : p_(problem),
      contention_(options.channel_contention),
      destination_bits_(BitsBelow(problem.num_devices)),
      ops_(problem.num_ops),
      remote_(problem.num_items, 0),
      left_(problem.num_items, 0) {
  size_t most_hops = 1;
  for (int from = 0; from < p_.num_devices; ++from) {
    for (int to = 0; to < p_.num_devices; ++to) {
      most_hops = std::max(most_hops, p_.route(from, to).size());
    }
  }
  hop_bits_ = BitsBelow(most_hops);
  const int item_bits = BitsBelow(static_cast<size_t>(p_.num_items) + 1);
  rank_bits_ = 1 + std::max(BitsBelow(p_.num_ops), item_bits + destination_bits_ + hop_bits_);
  op_bit_ = std::uint64_t{1} << (rank_bits_ - 1);
  for (int position = 0; position < p_.num_ops; ++position) {
    if (p_.read_begin[position] < p_.read_begin[position + 1]) continue;
    initial_.push_back(static_cast<EventBacklog::Key>(op_bit_) | position);
  }
  initial_.push_back(EventBacklog::kNone);
}

template <class Queue>
bool GeneralQueueRun<Queue>::Run(const std::uint8_t* device,
                                 ServerState& servers,
                                 QueueTimes& times,
                                 ChannelOutcome* channels) {
  device_ = device;
  servers_ = &servers;
  times_ = &times;
  channels_ = channels;
  times.num_copies = 0;
  times.latest = 0;
  host_ = 0;
  backlog_.Reset(initial_);
  queue_ = Queue(backlog_);
  for (int position = 0; position < p_.num_ops; ++position) {
    ops_[position] = {
        0, 0, p_.read_begin[position + 1] - p_.read_begin[position], device[position]};
  }

  for (;;) {
    const Key key = queue_.Pop();
    if (key == Queue::kNone) break;
    const auto ready = static_cast<Nanos>(key >> rank_bits_);
    const std::uint64_t rank = static_cast<std::uint64_t>(key) & (2 * op_bit_ - 1);
    if (rank & op_bit_) {
      ServeOp(static_cast<int>(rank ^ op_bit_), ready);
    } else {
      ServeHop(rank, ready);
    }
  }
  // A time beyond the bits of a key has made the order wrong, though all ops have been served.
  return static_cast<Key>(times.latest) >> (Queue::kKeyBits - rank_bits_) == 0;
}

template <class Queue>
void GeneralQueueRun<Queue>::ServeOp(int position, Nanos ready) {
  ServerState& servers = *servers_;
  const int d = ops_[position].device;
  const Nanos cost = p_.cost[size_t(position) * p_.num_devices + d] + ops_[position].cold;
  const int slot = p_.has_slots ? servers.PickSlot(d) : servers.slot_begin[d];
  const Nanos issued = p_.has_host ? Issue(d, ready) : ready;
  const Nanos start = std::max(servers.slot_free[slot], issued);
  const Nanos finish = start + cost;
  servers.slot_free[slot] = finish + (cost > 0 ? p_.gap[d] : 0);
  servers.busy[d] += cost;
  times_->latest = std::max(times_->latest, finish);
  times_->start[position] = start;
  times_->finish[position] = finish;
  for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
    std::uint64_t mask = 0;
    for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
      const int reader = p_.readers[r], e = ops_[reader].device;
      mask |= std::uint64_t{1} << e;
      if (e == d) Arrive(reader, finish);
    }
    mask &= ~(std::uint64_t{1} << d);
    remote_[item] = mask;
    if (mask != 0) QueueCopies(item, d, mask, finish);
  }
}

template <class Queue>
void GeneralQueueRun<Queue>::QueueCopies(int item, int source, std::uint64_t remote, Nanos time) {
  left_[item] = 0;
  while (remote != 0) {
    const int e = std::countr_zero(remote), channel = FirstChannel(source, e);
    queue_.Push(KeyOf(time, HopRank(item, e, 0)));
    remote &= p_.broadcast[channel] ? ~ServedTogether(source, remote, channel) : remote - 1;
  }
}

// Returns the destinations in `mask` whose route from `source` begins with the broadcasting
// `channel`.
template <class Queue>
std::uint64_t GeneralQueueRun<Queue>::ServedTogether(int source,
                                                     std::uint64_t mask,
                                                     int channel) const {
  std::uint64_t together = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int e = std::countr_zero(mask);
    if (FirstChannel(source, e) == channel) together |= std::uint64_t{1} << e;
  }
  return together;
}

template <class Queue>
void GeneralQueueRun<Queue>::ServeHop(std::uint64_t rank, Nanos ready) {
  const int hop = static_cast<int>(rank & ((1 << hop_bits_) - 1));
  const int destination = static_cast<int>(rank >> hop_bits_ & ((1 << destination_bits_) - 1));
  const int item = static_cast<int>(rank >> hop_bits_ >> destination_bits_);
  const int source = ops_[p_.items[item].producer].device;
  const int channel = p_.route(source, destination)[hop];
  const Nanos wire = p_.wire[size_t(item) * p_.num_rates + p_.rate[channel]];
  Nanos& free = servers_->channel_free[channel];
  Nanos start = hop == 0 && p_.has_host ? Issue(source, ready) : ready;
  if (contention_) start = std::max(start, free);
  if (p_.has_occupies) start = servers_->Occupy(p_, channel, source, destination, start, wire);
  const Nanos arrival = start + p_.latency[channel] + wire;
  free = std::max(free, start + wire + p_.channel_gap[channel]);
  times_->latest = std::max(times_->latest, arrival);
  if (channels_ != nullptr) {
    channels_[channel].busy += wire;
    channels_[channel].bytes += p_.items[item].bytes;
    ++channels_[channel].transfers;
  }
  if (hop == 0) left_[item] = std::max(left_[item], arrival);
  if (hop == 0 && p_.broadcast[channel]) {
    std::uint64_t served = ServedTogether(source, remote_[item], channel);
    for (; served != 0; served &= served - 1) {
      FinishHop(item, source, std::countr_zero(served), hop, start, arrival);
    }
  } else {
    FinishHop(item, source, destination, hop, start, arrival);
  }
}

template <class Queue>
void GeneralQueueRun<Queue>::FinishHop(int item,
                                       int source,
                                       int destination,
                                       int hop,
                                       Nanos start,
                                       Nanos arrival) {
  if (hop + 1 < static_cast<int>(p_.route(source, destination).size())) {
    queue_.Push(KeyOf(arrival, HopRank(item, destination, hop + 1)));
    return;
  }
  times_->copies[times_->num_copies++] = {start, left_[item], item, destination};
  if (p_.has_cold) {
    const int first =
        p_.ColdReader(item, destination, [&](int position) { return ops_[position].device; });
    ops_[first].cold += p_.cold[size_t(item) * p_.num_devices + destination];
  }
  for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
    if (ops_[p_.readers[r]].device == destination) Arrive(p_.readers[r], arrival);
  }
}

template <class Queue>
void GeneralQueueRun<Queue>::Arrive(int reader, Nanos time) {
  OpState& op = ops_[reader];
  op.ready = std::max(op.ready, time);
  if (--op.missing == 0) {
    queue_.Push(KeyOf(op.ready, op_bit_ | static_cast<std::uint64_t>(reader)));
  }
}

template class GeneralQueueRun<EventQueue>;
template class GeneralQueueRun<WideEventQueue>;

}  // namespace emplace

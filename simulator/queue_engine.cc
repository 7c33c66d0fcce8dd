// The fast engine of queue semantics (README.md, "Queue semantics"). An event is 16 bytes: its
// time, and a rank that says what it is and sorts, at equal times, by the rest of README.md's key:
//
//   transfer   item << 12 | destination << 6 | hop       (items are numbered by producer, tensor)
//   op         1 << 63 | position
//
// Ops that wait for nothing are never queued: they stand sorted in a list that is merged with the
// heap.

#include <algorithm>
#include <bit>

#include "simulator/engine.h"
#include "simulator/event_heap.h"
#include "simulator/memory_events.h"

namespace emplace {
namespace {

constexpr std::uint64_t kOpBit = std::uint64_t{1} << 63;

class QueueEngine final : public Engine {
 public:
  QueueEngine(const CompiledProblem& problem, const EngineOptions& options)
      : p_(problem),
        options_(options),
        servers_(problem),
        ready_(problem.num_ops, 0),
        start_(problem.num_ops, 0),
        finish_(problem.num_ops, 0),
        remote_(problem.num_items, 0),
        first_hop_arrival_(problem.num_items, 0),
        copy_start_(size_t(problem.num_items) * problem.num_devices, 0),
        root_end_(problem.alias_classes.size() * problem.num_devices, 0),
        reader_end_(problem.num_devices, 0),
        used_(problem.num_devices, 0),
        peak_(problem.num_devices, 0) {
    for (int position = 0; position < p_.num_ops; ++position) {
      waits_for_.push_back(p_.read_begin[position + 1] - p_.read_begin[position]);
      if (waits_for_.back() == 0) initial_.push_back(position);
    }
  }

  void Run(const std::uint8_t* device, const OutcomeDetail& detail, Outcome& outcome) override {
    PrepareOutcome(p_, detail, outcome);
    device_ = device;
    channels_ = detail.channels ? outcome.channels.data() : nullptr;
    servers_.Reset();
    heap_.clear();
    std::fill(ready_.begin(), ready_.end(), 0);
    missing_ = waits_for_;
    latest_ = 0;

    size_t next_initial = 0;
    for (;;) {
      const bool initial_left = next_initial < initial_.size();
      if (initial_left) {
        const EventHeap::Entry entry{0,
                                     kOpBit | static_cast<std::uint64_t>(initial_[next_initial])};
        if (heap_.empty() || EventHeap::Less(entry, heap_.top())) {
          ServeOp(initial_[next_initial++], 0);
          continue;
        }
      } else if (heap_.empty()) {
        break;
      }
      const EventHeap::Entry entry = heap_.Pop();
      if (entry.rank & kOpBit) {
        ServeOp(static_cast<int>(entry.rank & ~kOpBit), entry.time);
      } else {
        ServeTransfer(entry.rank, entry.time);
      }
    }

    outcome.step_time = options_.count_gaps ? std::max(latest_, servers_.LatestFree()) : latest_;
    if (options_.memory) CountMemory();
    FinishOutcome(p_, servers_, peak_, outcome);
    if (detail.op_times) {
      for (int position = 0; position < p_.num_ops; ++position) {
        outcome.start[p_.op_at[position]] = start_[position];
        outcome.finish[p_.op_at[position]] = finish_[position];
      }
    }
  }

 private:
  void ServeOp(int position, Nanos ready) {
    const int d = device_[position];
    const Nanos cost = p_.cost[size_t(position) * p_.num_devices + d];
    const int slot = p_.has_slots ? servers_.PickSlot(d) : servers_.slot_begin[d];
    const Nanos start = std::max(servers_.slot_free[slot], ready);
    const Nanos finish = start + cost;
    servers_.slot_free[slot] = finish + (cost > 0 ? p_.gap[d] : 0);
    servers_.busy[d] += cost;
    latest_ = std::max(latest_, finish);
    start_[position] = start;
    finish_[position] = finish;
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      std::uint64_t mask = 0;
      for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
        const int reader = p_.readers[r], e = device_[reader];
        mask |= std::uint64_t{1} << e;
        if (e == d) Arrive(reader, finish);
      }
      mask &= ~(std::uint64_t{1} << d);
      remote_[item] = mask;
      if (mask != 0) QueueCopies(item, d, mask, finish);
    }
  }

  void QueueCopies(int item, int d, std::uint64_t mask, Nanos time) {
    first_hop_arrival_[item] = 0;
    while (mask != 0) {
      const int e = std::countr_zero(mask);
      heap_.Push(
          {time, static_cast<std::uint64_t>(item) << 12 | static_cast<std::uint64_t>(e) << 6});
      const int channel = FirstChannel(d, e);
      mask &= p_.broadcast[channel] ? ~ServedTogether(d, mask, channel) : mask - 1;
    }
  }

  int FirstChannel(int from, int to) const {
    return p_.routes[p_.route_begin[from * p_.num_devices + to]];
  }

  // Destinations in `mask` whose route from `source` begins with the broadcasting `channel`.
  std::uint64_t ServedTogether(int source, std::uint64_t mask, int channel) const {
    std::uint64_t together = 0;
    for (; mask != 0; mask &= mask - 1) {
      const int e = std::countr_zero(mask);
      if (FirstChannel(source, e) == channel) together |= std::uint64_t{1} << e;
    }
    return together;
  }

  void ServeTransfer(std::uint64_t rank, Nanos ready) {
    const int item = static_cast<int>(rank >> 12), hop = static_cast<int>(rank & 63);
    const int destination = static_cast<int>(rank >> 6 & 63);
    const int source = device_[p_.items[item].producer];
    const int channel = p_.route(source, destination)[hop];
    const Nanos wire = p_.wire[size_t(item) * p_.num_rates + p_.rate[channel]];
    Nanos& free = servers_.channel_free[channel];
    const Nanos start = options_.channel_contention ? std::max(free, ready) : ready;
    const Nanos arrival = start + p_.latency[channel] + wire;
    free = std::max(free, start + wire + p_.channel_gap[channel]);
    latest_ = std::max(latest_, arrival);
    if (channels_ != nullptr) {
      channels_[channel].busy += wire;
      channels_[channel].bytes += p_.items[item].bytes;
      ++channels_[channel].transfers;
    }
    if (hop == 0) first_hop_arrival_[item] = std::max(first_hop_arrival_[item], arrival);
    if (hop == 0 && p_.broadcast[channel]) {
      std::uint64_t served = ServedTogether(source, remote_[item], channel);
      for (; served != 0; served &= served - 1) {
        FinishHop(item, source, std::countr_zero(served), hop, start, arrival);
      }
    } else {
      FinishHop(item, source, destination, hop, start, arrival);
    }
  }

  void FinishHop(int item, int source, int destination, int hop, Nanos start, Nanos arrival) {
    if (hop + 1 < static_cast<int>(p_.route(source, destination).size())) {
      heap_.Push({arrival,
                  static_cast<std::uint64_t>(item) << 12 |
                      static_cast<std::uint64_t>(destination) << 6 |
                      static_cast<std::uint64_t>(hop + 1)});
      return;
    }
    copy_start_[size_t(item) * p_.num_devices + destination] = start;
    for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
      if (device_[p_.readers[r]] == destination) Arrive(p_.readers[r], arrival);
    }
  }

  void Arrive(int reader, Nanos time) {
    ready_[reader] = std::max(ready_[reader], time);
    if (--missing_[reader] == 0) {
      heap_.Push({ready_[reader], kOpBit | static_cast<std::uint64_t>(reader)});
    }
  }

  // Peaks, from the times that the run left in start_, finish_ and so on.
  void CountMemory() {
    std::fill(used_.begin(), used_.end(), 0);
    p_.AddResidentBytes(device_, used_.data());
    memory_.clear();
    ExtendByAliases();
    for (int position = 0; position < p_.num_ops; ++position) {
      const int d = device_[position];
      const std::int64_t workspace = p_.workspace[position];
      memory_.Allocate(start_[position], d, p_.own_bytes[position] + workspace);
      memory_.Release(finish_[position], d, workspace);
      for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
        if (p_.items[item].bytes > 0) CountItem(item, d);
      }
    }
    memory_.Sweep(used_, peak_);
  }

  void CountItem(int item, int d) {
    std::uint64_t remote = remote_[item];
    if (remote == 0 && p_.items[item].held == 0) return;
    const Nanos* alias_end = nullptr;  // [num_devices] what aliases add to the root's buffers
    const int c = p_.items[item].alias_class;
    if (c >= 0 && p_.alias_classes[c].root == item)
      alias_end = &root_end_[size_t(c) * p_.num_devices];

    const Nanos own_end = LatestReaders(item, d);
    for (; remote != 0; remote &= remote - 1) {
      const int e = std::countr_zero(remote);
      memory_.Allocate(copy_start_[size_t(item) * p_.num_devices + e], e, p_.items[item].bytes);
      Nanos end = reader_end_[e];
      if (alias_end != nullptr) end = std::max(end, alias_end[e]);
      if (end < kMaxNanos) memory_.Release(end, e, p_.items[item].bytes);
    }
    if (p_.items[item].released_bytes == 0) return;
    const Nanos end = alias_end != nullptr ? std::max(own_end, alias_end[d]) : own_end;
    if (end < kMaxNanos) memory_.Release(end, d, p_.items[item].held);
  }

  // End of an item's own buffer: its producer, its local readers, its first hops. Leaves the latest
  // finish of its readers on every device that has one in reader_end_.
  Nanos LatestReaders(int item, int d) {
    reader_end_[d] = finish_[p_.items[item].producer];
    const std::uint64_t remote = remote_[item];
    for (std::uint64_t m = remote; m != 0; m &= m - 1) reader_end_[std::countr_zero(m)] = 0;
    for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
      const int e = device_[p_.readers[r]];
      reader_end_[e] = std::max(reader_end_[e], finish_[p_.readers[r]]);
    }
    return remote != 0 ? std::max(reader_end_[d], first_hop_arrival_[item]) : reader_end_[d];
  }

  void ExtendByAliases() {
    for (size_t c = 0; c < p_.alias_classes.size(); ++c) {
      const auto& shared = p_.alias_classes[c];
      if (shared.root < 0) continue;  // a graph input: resident
      Nanos* end = &root_end_[c * p_.num_devices];
      std::fill(end, end + p_.num_devices, 0);
      const std::uint64_t pinned = p_.PlaceAliases(shared, device_, storage_);
      for (size_t i = 0; i < shared.members.size(); ++i) {
        const int item = shared.members[i];
        Nanos& extended = end[storage_[i]];
        extended = std::max(extended, LatestReaders(item, device_[p_.items[item].producer]));
      }
      for (std::uint64_t m = pinned; m != 0; m &= m - 1) end[std::countr_zero(m)] = kMaxNanos;
    }
  }

  const CompiledProblem& p_;
  const EngineOptions options_;
  ServerState servers_;
  std::vector<int> waits_for_, initial_;
  // State of a run.
  const std::uint8_t* device_ = nullptr;
  ChannelOutcome* channels_ = nullptr;
  std::vector<int> missing_;
  std::vector<Nanos> ready_, start_, finish_;  // [num_ops]
  std::vector<std::uint64_t> remote_;          // [num_items] devices that read it elsewhere
  std::vector<Nanos> first_hop_arrival_;       // [num_items] latest
  std::vector<Nanos> copy_start_;              // [num_items, num_devices] start of the last hop
  std::vector<Nanos> root_end_;                // [alias classes, num_devices] latest use by aliases
  std::vector<Nanos> reader_end_;              // [num_devices]
  std::vector<int> storage_;
  std::vector<std::int64_t> used_, peak_;
  EventHeap heap_;
  MemoryEvents memory_;
  Nanos latest_ = 0;
};

}  // namespace

std::unique_ptr<Engine> MakeQueueEngine(const CompiledProblem& problem,
                                        const EngineOptions& options) {
  return std::make_unique<QueueEngine>(problem, options);
}

}  // namespace emplace

// The fast engine of stream semantics (README.md, "Stream semantics"): one pass over the ops in
// issue order, which also counts memory (framework/schedule/stream_memory.h).

#include <algorithm>
#include <bit>

#include "framework/schedule/stream_memory.h"
#include "simulator/engine/engine.h"

namespace emplace {
namespace {

class StreamEngine final : public Engine {
 public:
  StreamEngine(const CompiledProblem& problem, const EngineOptions& options)
      : p_(problem),
        options_(options),
        servers_(problem),
        memory_(problem, problem.num_devices),
        arrival_(size_t(problem.num_items) * problem.num_devices),
        cold_(problem.has_cold ? problem.num_ops : 0),
        broadcast_stamp_(problem.num_channels, 0),
        broadcast_arrival_(problem.num_channels, 0) {}

  void Run(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) override {
    PrepareOutcome(p_, detail, outcome);
    if (p_.has_occupies) {
      options_.memory ? Simulate<true, true>(device, detail, outcome)
                      : Simulate<false, true>(device, detail, outcome);
    } else {
      options_.memory ? Simulate<true, false>(device, detail, outcome)
                      : Simulate<false, false>(device, detail, outcome);
    }
  }

 private:
  template <bool kMemory, bool kOccupies>
  void Simulate(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) {
    const int num_devices = p_.num_devices;
    servers_.Reset();
    if (kMemory) memory_.Begin(p_, device);
    host_ = 0;
    latest_ = 0;
    std::fill(cold_.begin(), cold_.end(), 0);

    for (int position = 0; position < p_.num_ops; ++position) {
      const int d = device[position];
      const Nanos cost =
          p_.cost[size_t(position) * num_devices + d] + (p_.has_cold ? cold_[position] : 0);
      Nanos ready = p_.has_host ? Issue(d) : 0;
      for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) {
        ready = std::max(ready, arrival_[size_t(p_.reads[r]) * num_devices + d]);
      }
      const int slot = p_.has_slots ? servers_.PickSlot(d) : servers_.slot_begin[d];
      const Nanos start = std::max(servers_.slot_free[slot], ready);
      const Nanos finish = start + cost;
      servers_.slot_free[slot] = finish + (cost > 0 ? p_.gap[d] : 0);
      servers_.busy[d] += cost;
      latest_ = std::max(latest_, finish);
      if (detail.op_times) {
        outcome.start[p_.op_at[position]] = start;
        outcome.finish[p_.op_at[position]] = finish;
      }
      if (kMemory) memory_.Allocate(p_, position);
      for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
        arrival_[size_t(item) * num_devices + d] = finish;
        const std::uint64_t mask =
            (kMemory ? memory_.Make(p_, item, position) : p_.ReaderDevices(item, device)) &
            ~(std::uint64_t{1} << d);
        if (mask == 0) continue;
        if (p_.has_cold) AddColdReads(item, device, mask);
        SendCopies<kMemory, kOccupies>(item, d, finish, mask, detail, outcome);
      }
      if (kMemory) memory_.Release(p_, position);
    }
    outcome.step_time = options_.count_gaps ? std::max(latest_, servers_.LatestFree()) : latest_;
    FinishOutcome(p_, servers_, memory_.peak(), outcome);
  }

  // Issues a command of the host for a device. @return its earliest start [ns]
  Nanos Issue(int d) {
    host_ += p_.issue[d];
    return host_ + p_.launch[d];
  }

  // Adds the cold read of an item to its first reader on each device of `mask`.
  void AddColdReads(int item, const std::uint8_t* device, std::uint64_t mask) {
    for (; mask != 0; mask &= mask - 1) {
      const int e = std::countr_zero(mask);
      const Nanos cold = p_.cold[size_t(item) * p_.num_devices + e];
      if (cold == 0) continue;
      cold_[p_.ColdReader(item, e, [&](int position) { return device[position]; })] += cold;
    }
  }

  // Makes one transfer from device d to device e. @return arrival [ns]
  template <bool kOccupies>
  Nanos Hop(int item, int k, int d, int e, Nanos ready, const RunDetail& detail, Outcome& outcome) {
    const Nanos wire = p_.wire[size_t(item) * p_.num_rates + p_.rate[k]];
    Nanos& free = servers_.channel_free[k];
    Nanos start = options_.channel_contention ? std::max(free, ready) : ready;
    if (kOccupies) start = servers_.Occupy(p_, k, d, e, start, wire);
    free = std::max(free, start + wire + p_.channel_gap[k]);
    if (detail.channels) {
      ChannelOutcome& channel = outcome.channels[k];
      channel.busy += wire;
      channel.bytes += p_.items[item].bytes;
      ++channel.transfers;
    }
    return start + p_.latency[k] + wire;
  }

  // Sends an item hop by hop. A first hop that broadcasts serves all its destinations at once.
  template <bool kOccupies>
  Nanos TakeRoute(int item, int d, int e, Nanos finish, const RunDetail& detail, Outcome& outcome) {
    const auto route = p_.route(d, e);
    const int first = route[0];
    Nanos at = 0;
    if (p_.broadcast[first] && broadcast_stamp_[first] == stamp_) {
      at = broadcast_arrival_[first];
    } else {
      at = Hop<kOccupies>(
          item, first, d, e, p_.has_host ? std::max(finish, Issue(d)) : finish, detail, outcome);
      broadcast_stamp_[first] = stamp_;
      broadcast_arrival_[first] = at;
    }
    for (size_t hop = 1; hop < route.size(); ++hop) {
      at = Hop<kOccupies>(item, route[hop], d, e, at, detail, outcome);
    }
    return at;
  }

  template <bool kMemory, bool kOccupies>
  void SendCopies(int item,
                  int d,
                  Nanos finish,
                  std::uint64_t mask,
                  const RunDetail& detail,
                  Outcome& outcome) {
    ++stamp_;
    for (; mask != 0; mask &= mask - 1) {
      const int e = std::countr_zero(mask);
      const int direct = p_.direct_channel[d * p_.num_devices + e];
      Nanos at = 0;
      if (direct >= 0) {
        at = Hop<kOccupies>(
            item, direct, d, e, p_.has_host ? std::max(finish, Issue(d)) : finish, detail, outcome);
      } else {
        at = TakeRoute<kOccupies>(item, d, e, finish, detail, outcome);
      }
      latest_ = std::max(latest_, at);
      arrival_[size_t(item) * p_.num_devices + e] = at;
      if (kMemory) memory_.Receive(p_, item, e);
    }
  }

  const CompiledProblem& p_;
  const EngineOptions options_;
  ServerState servers_;
  StreamMemory memory_;
  std::vector<Nanos> arrival_;  // [num_items, num_devices]
  std::vector<Nanos> cold_;     // [num_ops] cold reads so far; empty if no kind has any
  std::vector<std::int64_t> broadcast_stamp_;
  std::vector<Nanos> broadcast_arrival_;
  std::int64_t stamp_ = 0;
  Nanos host_ = 0, latest_ = 0;
};

}  // namespace

std::unique_ptr<Engine> MakeStreamEngine(const CompiledProblem& problem,
                                         const EngineOptions& options) {
  return std::make_unique<StreamEngine>(problem, options);
}

}  // namespace emplace

// S semantics, fast: one pass over the ops in issue order. Memory is counted on the way: when an
// item is made, walking over its readers in issue order leaves on each device the position behind
// which the item (or the copy received there) is released.

#include <algorithm>
#include <bit>

#include "framework/base/error.h"
#include "simulator/engine.h"

namespace emplace {
namespace {

class StreamEngine final : public Engine {
 public:
  StreamEngine(const CompiledProblem& problem, const EngineOptions& options)
      : p_(problem),
        options_(options),
        servers_(problem),
        cells_(size_t(problem.num_items) * problem.num_devices),
        buffer_(problem.num_items, -1),
        buffers_(problem.alias_classes.size() * problem.num_devices),
        broadcast_stamp_(problem.num_channels, 0),
        broadcast_arrival_(problem.num_channels, 0),
        used_(problem.num_devices, 0),
        peak_(problem.num_devices, 0) {}

  void Run(const std::uint8_t* device, const OutcomeDetail& detail, Outcome& outcome) override {
    PrepareOutcome(p_, detail, outcome);
    options_.memory ? Simulate<true>(device, detail, outcome)
                    : Simulate<false>(device, detail, outcome);
  }

 private:
  // An item on a device.
  struct Cell {
    Nanos arrival = 0;
    int last_use = 0;  // position of the last reader there, or of the producer
  };

  template <bool kMemory>
  void Simulate(const std::uint8_t* device, const OutcomeDetail& detail, Outcome& outcome) {
    const int num_devices = p_.num_devices;
    servers_.Reset();
    std::fill(used_.begin(), used_.end(), 0);
    if (kMemory) {
      p_.AddResidentBytes(device, used_.data());
      PrepareAliases(device);
    }
    std::copy(used_.begin(), used_.end(), peak_.begin());
    host_ = 0;
    latest_ = 0;

    for (int position = 0; position < p_.num_ops; ++position) {
      const int d = device[position];
      const Nanos cost = p_.cost[size_t(position) * num_devices + d];
      Nanos ready = p_.has_host ? Issue(d) : 0;
      for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) {
        ready = std::max(ready, cells_[size_t(p_.reads[r]) * num_devices + d].arrival);
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
      if (kMemory) {
        used_[d] += p_.own_bytes[position];
        peak_[d] = std::max(peak_[d], used_[d] + p_.workspace[position]);
      }
      for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
        Deliver<kMemory>(item, position, d, finish, device, detail, outcome);
      }
      if (kMemory) {
        Release(position, d, device);
      }
    }
    outcome.step_time = options_.count_gaps ? std::max(latest_, servers_.LatestFree()) : latest_;
    FinishOutcome(p_, servers_, peak_, outcome);
  }

  // The host issues a command for a device. @return when it may start at the earliest [ns]
  Nanos Issue(int d) {
    host_ += p_.issue[d];
    return host_ + p_.launch[d];
  }

  template <bool kMemory>
  void Deliver(int item,
               int position,
               int d,
               Nanos finish,
               const std::uint8_t* device,
               const OutcomeDetail& detail,
               Outcome& outcome) {
    Cell* cells = &cells_[size_t(item) * p_.num_devices];
    cells[d] = {finish, position};
    std::uint64_t mask = 0;
    for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
      const int reader = p_.readers[r], e = device[reader];
      mask |= std::uint64_t{1} << e;
      if (kMemory) cells[e].last_use = reader;  // readers ascend: the last one stays
    }
    mask &= ~(std::uint64_t{1} << d);
    if (mask != 0) SendCopies<kMemory>(item, d, finish, mask, detail, outcome);
  }

  // One transfer. @return arrival [ns]
  Nanos Hop(int item, int k, Nanos ready, const OutcomeDetail& detail, Outcome& outcome) {
    const Nanos wire = p_.wire[size_t(item) * p_.num_rates + p_.rate[k]];
    Nanos& free = servers_.channel_free[k];
    const Nanos start = options_.channel_contention ? std::max(free, ready) : ready;
    free = std::max(free, start + wire + p_.channel_gap[k]);
    if (detail.channels) {
      ChannelOutcome& channel = outcome.channels[k];
      channel.busy += wire;
      channel.bytes += p_.items[item].bytes;
      ++channel.transfers;
    }
    return start + p_.latency[k] + wire;
  }

  // Hop after hop; a broadcasting first channel serves all destinations behind it at once.
  Nanos TakeRoute(int item,
                  int d,
                  int e,
                  Nanos finish,
                  const OutcomeDetail& detail,
                  Outcome& outcome) {
    const auto route = p_.route(d, e);
    const int first = route[0];
    Nanos at = 0;
    if (p_.broadcast[first] && broadcast_stamp_[first] == stamp_) {
      at = broadcast_arrival_[first];
    } else {
      at = Hop(item, first, p_.has_host ? std::max(finish, Issue(d)) : finish, detail, outcome);
      broadcast_stamp_[first] = stamp_;
      broadcast_arrival_[first] = at;
    }
    for (size_t hop = 1; hop < route.size(); ++hop) at = Hop(item, route[hop], at, detail, outcome);
    return at;
  }

  template <bool kMemory>
  void SendCopies(int item,
                  int d,
                  Nanos finish,
                  std::uint64_t mask,
                  const OutcomeDetail& detail,
                  Outcome& outcome) {
    ++stamp_;
    for (; mask != 0; mask &= mask - 1) {
      const int e = std::countr_zero(mask);
      const int direct = p_.direct_channel[d * p_.num_devices + e];
      Nanos at = 0;
      if (direct >= 0) {
        at = Hop(item, direct, p_.has_host ? std::max(finish, Issue(d)) : finish, detail, outcome);
      } else {
        at = TakeRoute(item, d, e, finish, detail, outcome);
      }
      latest_ = std::max(latest_, at);
      cells_[size_t(item) * p_.num_devices + e].arrival = at;
      if (kMemory) {
        used_[e] += p_.items[item].bytes;
        peak_[e] = std::max(peak_[e], used_[e]);
      }
    }
  }

  // Behind an op: the inputs that no later op on its device reads, then its outputs that none does.
  // Free of branches on the placement, which no predictor could guess.
  void Release(int position, int d, const std::uint8_t* device) {
    std::int64_t released = 0;
    for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) {
      const int item = p_.reads[r];
      if (p_.items[item].alias_class >= 0) {
        ReleaseShared(item, position, d, device);
        continue;
      }
      const std::int64_t local = -std::int64_t{device[p_.items[item].producer] == d};
      const std::int64_t last =
          -std::int64_t{cells_[size_t(item) * p_.num_devices + d].last_use == position};
      const std::int64_t copy_bytes = p_.items[item].bytes;
      released += last & (copy_bytes ^ (local & (copy_bytes ^ p_.items[item].released_bytes)));
    }
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      if (p_.items[item].alias_class >= 0) {
        ReleaseShared(item, position, d, device);
        continue;
      }
      const std::int64_t last =
          -std::int64_t{cells_[size_t(item) * p_.num_devices + d].last_use == position};
      released += last & p_.items[item].released_bytes;
    }
    used_[d] -= released;
  }

  // A buffer that aliases share: what a class of aliases has on one device.
  struct Buffer {
    int last_use = -1;  // position; -1: never released, or released already
    std::int64_t bytes = 0;
  };

  // Finds, before the run, where the aliases live and behind which op each buffer is released: the
  // last that makes or reads something in it.
  void PrepareAliases(const std::uint8_t* device) {
    for (size_t c = 0; c < p_.alias_classes.size(); ++c) {
      const auto& shared = p_.alias_classes[c];
      if (shared.root < 0) continue;  // a graph input: resident
      const std::uint64_t pinned = PlaceAliases(p_, shared, device, storage_);
      const int row = static_cast<int>(c) * p_.num_devices;
      const int home = device[p_.items[shared.root].producer];
      for (int e = 0; e < p_.num_devices; ++e) {
        buffers_[row + e] = {-1,
                             e == home ? p_.items[shared.root].held : p_.items[shared.root].bytes};
      }
      buffer_[shared.root] = row + home;
      Extend(buffers_[row + home], p_.items[shared.root].producer);
      for (int r = p_.reader_begin[shared.root]; r < p_.reader_begin[shared.root + 1]; ++r) {
        Extend(buffers_[row + device[p_.readers[r]]], p_.readers[r]);
      }
      for (size_t i = 0; i < shared.members.size(); ++i) {
        const int item = shared.members[i];
        buffer_[item] = row + storage_[i];
        Buffer& buffer = buffers_[buffer_[item]];
        Extend(buffer, p_.items[item].producer);
        for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
          if (device[p_.readers[r]] == device[p_.items[item].producer])
            Extend(buffer, p_.readers[r]);
        }
      }
      for (std::uint64_t m = pinned; m != 0; m &= m - 1) {
        buffers_[row + std::countr_zero(m)].last_use = -1;
      }
    }
  }

  static void Extend(Buffer& buffer, int position) {
    buffer.last_use = std::max(buffer.last_use, position);
  }

  void ReleaseShared(int item, int position, int d, const std::uint8_t* device) {
    const int c = p_.items[item].alias_class;
    const bool local = device[p_.items[item].producer] == d;
    if (!local &&
        p_.alias_classes[c].root != item) {  // the copy of an alias is a buffer of its own
      if (cells_[size_t(item) * p_.num_devices + d].last_use == position)
        used_[d] -= p_.items[item].bytes;
      return;
    }
    if (p_.alias_classes[c].root < 0) return;
    const int index = local ? buffer_[item] : c * p_.num_devices + d;
    Buffer& buffer = buffers_[index];
    if (buffer.last_use != position) return;
    buffer.last_use = -1;
    used_[index % p_.num_devices] -= buffer.bytes;
  }

  const CompiledProblem& p_;
  const EngineOptions options_;
  ServerState servers_;
  std::vector<Cell> cells_;      // [num_items, num_devices]
  std::vector<int> buffer_;      // [num_items] index into buffers_, for items that share memory
  std::vector<Buffer> buffers_;  // [alias classes, num_devices]
  std::vector<int> storage_;
  std::vector<std::int64_t> broadcast_stamp_;
  std::vector<Nanos> broadcast_arrival_;
  std::vector<std::int64_t> used_, peak_;
  std::int64_t stamp_ = 0;
  Nanos host_ = 0, latest_ = 0;
};

}  // namespace

std::unique_ptr<Engine> MakeStreamEngine(const CompiledProblem& problem,
                                         const EngineOptions& options) {
  return std::make_unique<StreamEngine>(problem, options);
}

}  // namespace emplace

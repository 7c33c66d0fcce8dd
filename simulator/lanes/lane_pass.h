#pragma once

// The pass of lane_kernel.h, for any instruction set: stream semantics and its memory as
// simulator/README.md defines them, with a placement per lane. There is no branch on a lane: what
// happens in some lanes only is computed in all and kept in those (MaxIf, AddIf, Select). So the
// time of a pass hardly depends on the placements.
//
// An op's device differs from lane to lane; so whatever belongs to a device is done for each device
// in turn, in the lanes in which the op is there. Included by the sources of the kernels alone,
// below their target pragma.

#include <cstdint>
#include <span>

#include "simulator/lanes/lane_kernel.h"

namespace emplace {

/// How bytes are counted: not at all, in 32 bits, or in 64.
template <class I>
struct NoBytes {
  static constexpr bool kCounts = false;
  struct B {};
};
template <class I>
struct Bytes32 {
  static constexpr bool kCounts = true;
  using Number = std::uint32_t;
  using B = typename I::V;
  static B Set(std::int64_t x) { return I::Set(static_cast<std::uint32_t>(x)); }
  static B Load(const Number* at) { return I::Load(at); }
  static void Store(Number* at, B x) { I::Store(at, x); }
};
template <class I>
struct Bytes64 {
  static constexpr bool kCounts = true;
  using Number = std::uint64_t;
  using B = typename I::Wide;
  static B Set(std::int64_t x) { return I::SetWide(static_cast<std::uint64_t>(x)); }
  static B Load(const Number* at) { return {I::Load(at), I::Load(at + I::kLanes / 2)}; }
  static void Store(Number* at, B x) {
    I::Store(at, x.low);
    I::Store(at + I::kLanes / 2, x.high);
  }
};

/// Rows of words, packed into chunks of 64 bits: what holds in which lanes, for each device.
/// @tparam kDevices  their number, or 0: any
template <class Word, int kDevices>
struct WordRows {
  static constexpr int kPerChunk = sizeof(std::uint64_t) / sizeof(Word);
  static constexpr int Chunks(int num_devices) { return (num_devices + kPerChunk - 1) / kPerChunk; }
  static constexpr int kMostChunks = Chunks(kDevices > 0 ? kDevices : kMaxDevices);
  static constexpr int kBits = 8 * sizeof(Word);

  WordRows(int num_devices, const void* rows)
      : num_chunks(Chunks(num_devices)), on_device(static_cast<const std::uint64_t*>(rows)) {}

  int NumChunks() const { return kDevices > 0 ? kMostChunks : num_chunks; }
  const std::uint64_t* OnDevice(int group) const { return on_device + group * NumChunks(); }
  static Word WordOf(const std::uint64_t* row, int d) {
    return static_cast<Word>(row[d / kPerChunk] >> (d % kPerChunk * kBits % 64));
  }
  /// The word for every device of a chunk.
  static std::uint64_t InEveryPlace(Word word) {
    std::uint64_t chunk = word;
    for (int bits = kBits; bits < 64; bits *= 2) chunk |= chunk << bits;
    return chunk;
  }
  /// The lanes in which two rows have their bits for the same device.
  Word Both(const std::uint64_t* x, const std::uint64_t* y) const {
    std::uint64_t both = 0;
    for (int c = 0; c < NumChunks(); ++c) both |= x[c] & y[c];
    for (int bits = 32; bits >= kBits; bits /= 2) both |= both >> bits;
    return static_cast<Word>(both);
  }

  const int num_chunks;
  const std::uint64_t* const on_device;
};

/// @tparam I         Avx2Lanes or Avx512Lanes
/// @tparam BytesOf   NoBytes, Bytes32 or Bytes64
/// @tparam kGeneral  LaneProgram::general, or too many devices for I::Lookup()
/// @tparam kDevices  the number of devices, or 0: any
/// @tparam kMatrix   LaneProgram::matrix; with kDevices channels stay in registers
template <class I, template <class> class BytesOf, bool kGeneral, int kDevices, bool kMatrix>
class LanePass {
  using V = typename I::V;
  using M = typename I::M;
  using Word = typename I::Word;
  using Bytes = BytesOf<I>;
  static constexpr int kLanes = I::kLanes;
  static constexpr bool kInRegisters = kDevices > 0, kChannelsInRegisters = kDevices > 0 && kMatrix;
  static constexpr int kMostDevices = kInRegisters ? kDevices : kMaxDevices;
  using Rows = WordRows<Word, kDevices>;
  static constexpr int kMostChunks = Rows::kMostChunks;
  static constexpr Word kAllLanes = static_cast<Word>(~Word{0});

 public:
  LanePass(const LaneProgram& program, const LaneRun& run)
      : p_(program),
        run_(run),
        num_devices_(program.num_devices),
        rows_(program.num_devices, run.on_device),
        later_(static_cast<std::uint64_t*>(run.later)),
        cost_(program.cost.data()),
        occupancy_(program.occupancy.data()),
        issue_(program.issue.data()),
        launch_(program.launch.data()),
        wire_(program.wire.data()),
        reader_group_(program.entry_group.data()),
        channel_row_(program.channel_row.data()),
        own_bytes_(program.own_bytes.data()),
        workspace_(program.workspace.data()),
        items_(program.items.data()),
        releases_(program.releases.data()),
        touched_(program.touched.data()),
        num_rates_(program.num_rates),
        has_host_(program.has_host),
        has_gaps_(program.has_gaps),
        has_channel_gaps_(program.has_channel_gaps),
        one_speed_(program.one_speed),
        has_aliases_(program.has_aliases),
        rebased_(run.any_rebased),
        speed_(program.speed) {}

  void Run() {
    const int n = NumDevices();
    if (run_.begin == 0) Clear();
    LoadServers();
    const LaneProgram::Op* op = p_.ops.data() + run_.begin;
    const std::int32_t *singles = p_.singles.data(), *blocks = p_.blocks.data();
    const int end = run_.end;
    for (int position = run_.begin; position < end; ++position, ++op) {
      own_ = OnDevice(op->group);
      for (int d = 0; d < n; ++d) here_[d] = I::ToMask(WordOf(own_, d));
      device_ = I::FromBytes(run_.devices + op->group * kLanes);

      V start = I::Zero();
      if (has_host_) {
        host_ = I::Add(host_, OfDevice(issue_));
        start = I::Add(host_, OfDevice(launch_));
      }
      for (int r = op->single_begin; r < op[1].single_begin; ++r) {
        start = I::Max(start, Row(singles[r]));
      }
      for (int r = op->block_begin; r < op[1].block_begin; ++r) {
        const std::uint32_t* arrivals = run_.rows + blocks[r] * kLanes;
        for (int d = 0; d < n; ++d) {
          start = I::MaxIf(start, here_[d], I::Load(arrivals + d * kLanes));
        }
      }
      const V cost = OfDevice(cost_ + position * n);
      const V occupied = has_gaps_ ? OfDevice(occupancy_ + position * n) : cost;
      if constexpr (kGeneral) {
        V slot[kMostDevices];
        for (int d = 0; d < n; ++d) start = I::MaxIf(start, here_[d], FirstFree(d, slot[d]));
        for (int d = 0; d < n; ++d) Occupy(d, slot[d], here_[d], I::Add(start, occupied));
      } else {
        for (int d = 0; d < n; ++d) start = I::MaxIf(start, here_[d], SlotFree(d));
        const V free = I::Add(start, occupied);
        for (int d = 0; d < n; ++d) SetSlotFree(d, I::Select(here_[d], free, SlotFree(d)));
      }
      if (rebased_) NoteStart(start, cost);
      finish_ = I::Add(start, cost);
      latest_ = I::Max(latest_, finish_);
      if (run_.busy_wanted) {
        for (int d = 0; d < n; ++d) {
          Store(run_.busy, d, I::AddIf(Load(run_.busy, d), here_[d], cost));
        }
      }
      if (op->finish_row >= 0) I::Store(run_.rows + op->finish_row * kLanes, finish_);
      if constexpr (Bytes::kCounts) Allocate(position);
      for (int i = op->item_begin; i < op[1].item_begin; ++i) Make(items_[i]);
      if constexpr (Bytes::kCounts) Release(op[0], op[1], position);
    }
    StoreServers();
  }

 private:
  // Most placements leave out some devices: the processor learns quickly that they need no look.
  bool InUse(int d) const { return run_.in_use >> d & 1; }
  int NumDevices() const { return kInRegisters ? kDevices : num_devices_; }
  int NumChunks() const { return rows_.NumChunks(); }

  V Row(int row) const { return I::Load(run_.rows + row * kLanes); }
  static V Load(const std::uint32_t* rows, int row) { return I::Load(rows + row * kLanes); }
  static void Store(std::uint32_t* rows, int row, V x) { I::Store(rows + row * kLanes, x); }

  const std::uint64_t* OnDevice(int group) const { return rows_.OnDevice(group); }
  static Word WordOf(const std::uint64_t* row, int d) { return Rows::WordOf(row, d); }
  Word Both(const std::uint64_t* x, const std::uint64_t* y) const { return rows_.Both(x, y); }

  // In a lane with lost times something starts. A 0 stands for any time up to what was taken: it
  // does no harm unless something that takes time starts there.
  void NoteStart(V start, V takes_time) const {
    const V lost = I::Select(I::Equal(takes_time, I::Zero()), I::Zero(), I::Load(run_.rebased));
    const V wrong = I::Load(run_.wrong);
    I::Store(run_.wrong, I::MaxIf(wrong, I::Equal(start, I::Zero()), lost));
  }

  // An entry of a table by device, in every lane that of the op's device.
  V OfDevice(const std::uint32_t* table) const {
    if constexpr (!kGeneral) {
      return I::Lookup(table, device_);
    } else {
      V entry = I::Zero();
      for (int d = 0; d < NumDevices(); ++d) entry = I::AddIf(entry, here_[d], I::Set(table[d]));
      return entry;
    }
  }

  V SlotFree(int d) const {
    if constexpr (kInRegisters) return slot_free_[d];
    return Load(run_.slot_free, d);
  }
  void SetSlotFree(int d, V free) {
    if constexpr (kInRegisters)
      slot_free_[d] = free;
    else
      Store(run_.slot_free, d, free);
  }
  V ChannelFree(int row) const {
    if constexpr (kChannelsInRegisters) return channel_free_[row];
    return Load(run_.channel_free, row);
  }
  void SetChannelFree(int row, V free) {
    if constexpr (kChannelsInRegisters) {
      channel_free_[row] = free;
    } else {
      Store(run_.channel_free, row, free);
    }
  }
  int ChannelRow(int from, int to) const {
    const int pair = to * NumDevices() + from;
    return kMatrix ? pair : channel_row_[pair];
  }

  void LoadServers() {
    host_ = I::Load(run_.host);
    latest_ = I::Load(run_.latest);
    if constexpr (kInRegisters) {
      for (int d = 0; d < kDevices; ++d) slot_free_[d] = Load(run_.slot_free, d);
    }
    if constexpr (kChannelsInRegisters) {
      for (int k = 0; k < kDevices * kDevices; ++k) channel_free_[k] = Load(run_.channel_free, k);
    }
  }

  void StoreServers() {
    if constexpr (kInRegisters) {
      for (int d = 0; d < kDevices; ++d) Store(run_.slot_free, d, slot_free_[d]);
    }
    if constexpr (kChannelsInRegisters) {
      for (int k = 0; k < kDevices * kDevices; ++k) Store(run_.channel_free, k, channel_free_[k]);
    }
    if (p_.count_gaps && run_.end == p_.num_ops) {
      for (int s = 0; s < p_.num_slots; ++s) latest_ = I::Max(latest_, Load(run_.slot_free, s));
      for (int row = 0; row < p_.num_channel_rows; ++row) {
        latest_ = I::Max(latest_, Load(run_.channel_free, row));
      }
    }
    I::Store(run_.host, host_);
    I::Store(run_.latest, latest_);
  }

  void Clear() {
    const auto clear = [](std::uint32_t* rows, int count) {
      for (int row = 0; row < count; ++row) Store(rows, row, I::Zero());
    };
    clear(run_.slot_free, p_.num_slots);
    clear(run_.channel_free, p_.num_channel_rows);
    clear(run_.host, 1);
    clear(run_.latest, 1);
    clear(run_.rebased, 1);
    clear(run_.wrong, 1);
    if (run_.busy_wanted) clear(run_.busy, NumDevices());
    if constexpr (Bytes::kCounts) {
      for (int d = 0; d < NumDevices(); ++d) {
        Bytes::Store(Used() + d * kLanes, Bytes::Set(0));
        Bytes::Store(Peak() + d * kLanes, Bytes::Set(0));
      }
    }
  }

  // When the first slot of a device is free, and which that is: the least one on ties.
  V FirstFree(int d, V& number) const {
    int s = p_.slot_begin[d + 1] - 1;
    V least = Load(run_.slot_free, s);
    number = I::Set(s);
    while (s-- > p_.slot_begin[d]) {
      const V free = Load(run_.slot_free, s);
      const M earlier = I::AtMost(free, least);
      least = I::Select(earlier, free, least);
      number = I::Select(earlier, I::Set(s), number);
    }
    return least;
  }
  // In some lanes, slots of a device are taken.
  void Occupy(int d, V number, M lanes, V until) {
    for (int s = p_.slot_begin[d]; s < p_.slot_begin[d + 1]; ++s) {
      const M taken = I::And(lanes, I::Equal(number, I::Set(s)));
      Store(run_.slot_free, s, I::Select(taken, until, Load(run_.slot_free, s)));
    }
  }

  // An item is made: its copies are sent, its arrivals noted.
  void Make(const LaneProgram::Item& item) {
    const int n = NumDevices();
    std::uint64_t need[kMostChunks];  // where it has readers
    for (int c = 0; c < NumChunks(); ++c) need[c] = 0;
    for (int entry = item.entry_end - 1; entry >= item.entry_begin; --entry) {
      const std::uint64_t* reader = OnDevice(reader_group_[entry]);
      for (int c = 0; c < NumChunks(); ++c) {
        if constexpr (Bytes::kCounts) later_[entry * NumChunks() + c] = need[c];
        need[c] |= reader[c];
      }
    }
    if constexpr (Bytes::kCounts) {
      if (item.released_bytes > 0) {
        const M lanes = I::ToMask(static_cast<Word>(~Both(own_, need)));
        change_ = I::SubIf(change_, lanes, Bytes::Set(item.released_bytes));
      }
    }
    if (item.block < 0 && item.num_readers == 0) return;
    std::uint64_t any = 0;
    for (int c = 0; c < NumChunks(); ++c) any |= need[c] &= ~own_[c];
    for (int i = 0; i < LaneProgram::kFewReaders; ++i) at_reader_[i] = finish_;
    if (any == 0) {
      for (int d = 0; d < n && item.block >= 0; ++d) Store(run_.rows, item.block + d, finish_);
      StoreAtReaders(item);
      return;
    }
    if constexpr (Bytes::kCounts) {
      if (item.bytes > 0) Receive(item, need);
    }
    if constexpr (kGeneral) {
      SendAlongRoutes(item, need);
    } else {
      SendDirect(item, need);
    }
    StoreAtReaders(item);
  }

  // The item's arrival at a device, noted for those who read it there. In the lanes of its own
  // device that is its finish.
  void Note(const LaneProgram::Item& item, int to, V arrival) {
    if (item.block >= 0) {
      Store(run_.rows, item.block + to, I::Select(here_[to], finish_, arrival));
      return;
    }
    for (int i = 0; i < LaneProgram::kFewReaders; ++i) {
      const Word there =
          WordOf(OnDevice(item.reader[i]), to) & static_cast<Word>(~WordOf(own_, to));
      at_reader_[i] = I::Select(I::ToMask(there), arrival, at_reader_[i]);
    }
  }
  void StoreAtReaders(const LaneProgram::Item& item) {
    for (int i = 0; i < item.num_readers; ++i) {
      Store(run_.rows, item.reader_row[i], at_reader_[i]);
    }
  }

  // Every route is one channel, every device has one slot.
  void SendDirect(const LaneProgram::Item& item, const std::uint64_t* need) {
    const int n = NumDevices();
    const std::uint32_t* wires = wire_ + item.index * num_rates_;
    V wire = I::Set(wires[speed_.rate]);
    V latency = I::Set(speed_.latency), gap = I::Set(speed_.gap);
    V issue = I::Zero(), launch = I::Zero();
    if (has_host_) {
      issue = OfDevice(issue_);
      launch = OfDevice(launch_);
    }
#pragma GCC unroll 5
    for (int to = 0; to < n; ++to) {
      if (!InUse(to)) continue;
      const M needed = I::ToMask(WordOf(need, to));
      V start = finish_;
      if (has_host_) {
        host_ = I::AddIf(host_, needed, issue);
        start = I::Max(start, I::Add(host_, launch));
      }
#pragma GCC unroll 5
      for (int from = 0; from < n; ++from) {
        if (from != to && (kMatrix || InUse(from)))
          start = I::MaxIf(start, here_[from], ChannelFree(ChannelRow(from, to)));
      }
      if (!one_speed_) {
        wire = I::Lookup(wires, OfDevice(p_.rate_from.data() + to * n));
        latency = OfDevice(p_.latency_from.data() + to * n);
        if (has_channel_gaps_) gap = OfDevice(p_.gap_from.data() + to * n);
      }
      if (rebased_) NoteStart(start, I::Select(needed, I::Set(1), I::Zero()));
      const V sent = I::Add(start, wire);
      const V free = has_channel_gaps_ ? I::Add(sent, gap) : sent;
      const V arrival = I::Add(sent, latency);
#pragma GCC unroll 5
      for (int from = 0; from < n; ++from) {
        if (from == to || !(kMatrix || InUse(from))) continue;
        const int row = ChannelRow(from, to);
        const M lanes = I::And(here_[from], needed);
        SetChannelFree(row, I::Select(lanes, free, ChannelFree(row)));
      }
      latest_ = I::MaxIf(latest_, needed, arrival);
      Note(item, to, arrival);
    }
  }

  // Any route: for each pair of devices in turn, in the lanes that send from one to the other.
  void SendAlongRoutes(const LaneProgram::Item& item, const std::uint64_t* need) {
    const int n = NumDevices();
    Word* done = static_cast<Word*>(run_.broadcast_done);
    for (int k = 0; k < p_.num_channels; ++k) done[k] = 0;
    for (int to = 0; to < n; ++to) {
      V arrival = finish_;
      for (int from = 0; from < n; ++from) {
        const Word lanes = WordOf(need, to) & WordOf(own_, from);
        if (lanes == 0) continue;
        const int begin = p_.route_begin[from * n + to], end = p_.route_begin[from * n + to + 1];
        const int first = p_.routes[begin];
        V at = I::Zero();
        const Word todo = lanes & static_cast<Word>(~done[first]);
        if (todo != 0) {
          const M sending = I::ToMask(todo);
          V ready = finish_;
          if (p_.has_host) {
            host_ = I::AddIf(host_, sending, I::Set(p_.issue[from]));
            ready = I::Max(ready, I::Add(host_, I::Set(p_.launch[from])));
          }
          at = Hop(item, first, sending, ready, from, end - begin == 1 ? to : -1);
        }
        if (p_.broadcast[first]) {
          at = I::Select(I::ToMask(todo), at, Load(run_.broadcast_arrival, first));
          Store(run_.broadcast_arrival, first, at);
          done[first] |= todo;
        }
        const M going = I::ToMask(lanes);
        for (int hop = begin + 1; hop < end; ++hop) {
          at = Hop(item, p_.routes[hop], going, at, -1, hop + 1 == end ? to : -1);
        }
        arrival = I::Select(going, at, arrival);
      }
      Note(item, to, arrival);
    }
  }

  // A transfer over channel k. @param from, to  the devices that may work on it, or -1
  // @return arrival
  V Hop(const LaneProgram::Item& item, int k, M lanes, V ready, int from, int to) {
    if (!p_.occupies_source[k]) from = -1;
    if (!p_.occupies_destination[k]) to = -1;
    const V wire = I::Set(p_.wire[item.index * p_.num_rates + p_.rate[k]]);
    const V channel = Load(run_.channel_free, k);
    V start = p_.contention ? I::Max(ready, channel) : ready;
    V from_slot = I::Zero(), to_slot = I::Zero();
    if (from >= 0) start = I::Max(start, FirstFree(from, from_slot));
    if (to >= 0) start = I::Max(start, FirstFree(to, to_slot));
    if (rebased_) NoteStart(start, I::Select(lanes, I::Set(1), I::Zero()));
    const V sent = I::Add(start, wire);
    if (from >= 0) WorkOnTransfer(from, from_slot, lanes, wire, sent);
    if (to >= 0) WorkOnTransfer(to, to_slot, lanes, wire, sent);
    const V free = I::Max(channel, I::Add(sent, I::Set(p_.channel_gap[k])));
    Store(run_.channel_free, k, I::Select(lanes, free, channel));
    const V arrival = I::Add(sent, I::Set(p_.latency[k]));
    latest_ = I::MaxIf(latest_, lanes, arrival);
    return arrival;
  }
  void WorkOnTransfer(int d, V slot, M lanes, V wire, V until) {
    Occupy(d, slot, lanes, until);
    if (run_.busy_wanted) Store(run_.busy, d, I::AddIf(Load(run_.busy, d), lanes, wire));
  }

  // Memory, by issue order.

  auto* Used() const {
    return static_cast<typename Bytes::Number*>(run_.used);
  }
  auto* Peak() const {
    return static_cast<typename Bytes::Number*>(run_.peak);
  }

  // The op's outputs and workspace are taken: its peak counts. What it leaves in use on its device
  // is added up in change_ until Release().
  void Allocate(int position) {
    const std::int64_t own = own_bytes_[position], workspace = workspace_[position];
    change_ = Bytes::Set(own);
    if (own == 0 && workspace == 0) return;
    const auto taken = Bytes::Set(own + workspace);
    for (int d = 0; d < NumDevices(); ++d) {
      auto* peak = Peak() + d * kLanes;
      const auto with = I::Add(Bytes::Load(Used() + d * kLanes), taken);
      Bytes::Store(peak, I::MaxIf(Bytes::Load(peak), here_[d], with));
    }
  }

  void Receive(const LaneProgram::Item& item, const std::uint64_t* need) {
    const auto bytes = Bytes::Set(item.bytes);
    for (int d = 0; d < NumDevices(); ++d) {
      auto *used = Used() + d * kLanes, *peak = Peak() + d * kLanes;
      const M lanes = I::ToMask(WordOf(need, d));
      const auto with = I::AddIf(Bytes::Load(used), lanes, bytes);
      Bytes::Store(used, with);
      Bytes::Store(peak, I::MaxIf(Bytes::Load(peak), lanes, with));
    }
  }

  // What the op is the last to use goes; Make() has noted its own outputs that no op on its device
  // reads.
  void Release(const LaneProgram::Op& op, const LaneProgram::Op& next, int position) {
    for (int r = op.release_begin; r < next.release_begin; ++r) {
      const LaneProgram::Item& item = items_[releases_[r].item];
      const auto last = static_cast<Word>(~Both(own_, later_ + releases_[r].entry * NumChunks()));
      if (item.released_bytes == item.bytes) {  // the buffer itself, or a copy: all the same
        change_ = I::SubIf(change_, I::ToMask(last), Bytes::Set(item.bytes));
        continue;
      }
      const std::uint64_t* producer = OnDevice(item.producer);
      const Word local = producer == own_ ? kAllLanes : Both(own_, producer);
      if (item.released_bytes > 0) {
        change_ = I::SubIf(change_, I::ToMask(last & local), Bytes::Set(item.released_bytes));
      }
      change_ =
          I::SubIf(change_, I::ToMask(last & static_cast<Word>(~local)), Bytes::Set(item.bytes));
    }
    for (int d = 0; d < NumDevices(); ++d) {
      auto* used = Used() + d * kLanes;
      Bytes::Store(used, I::AddIf(Bytes::Load(used), here_[d], change_));
    }
    if (has_aliases_) {
      for (int i = op.class_begin; i < next.class_begin; ++i) ReleaseShared(touched_[i], position);
    }
  }

  // The buffers of an alias class whose last use is the op in hand, on whichever device.
  void ReleaseShared(int c, int position) {
    const LaneProgram::SharedClass& shared = p_.classes[c];
    const std::uint64_t* home = OnDevice(shared.producer);
    const std::uint32_t* last_use = run_.last_use + c * NumDevices() * kLanes;
    const V now = I::Set(position + 1);
    for (int d = 0; d < NumDevices(); ++d) {
      const M over = I::Equal(Load(last_use, d), now);
      const Word at_home = WordOf(home, d);
      auto* used = Used() + d * kLanes;
      auto left = Bytes::Load(used);
      left = I::SubIf(left, I::And(over, I::ToMask(at_home)), Bytes::Set(shared.held));
      left = I::SubIf(
          left, I::And(over, I::ToMask(static_cast<Word>(~at_home))), Bytes::Set(shared.bytes));
      Bytes::Store(used, left);
    }
  }

  // Everything that the loops look at is copied here, where stores to memory cannot change it.
  const LaneProgram& p_;
  const LaneRun run_;
  const int num_devices_;
  const Rows rows_;
  std::uint64_t* const later_;
  const std::uint32_t *const cost_, *const occupancy_, *const issue_, *const launch_, *const wire_;
  const std::int32_t *const reader_group_, *const channel_row_;
  const std::int64_t *const own_bytes_, *const workspace_;
  const LaneProgram::Item* const items_;
  const LaneProgram::Release* const releases_;
  const std::int32_t* const touched_;
  const int num_rates_;
  const bool has_host_, has_gaps_, has_channel_gaps_, one_speed_, has_aliases_, rebased_;
  const LaneProgram::Speed speed_;
  V host_, latest_;
  V slot_free_[kInRegisters ? kDevices : 1];
  V channel_free_[kChannelsInRegisters ? kDevices * kDevices : 1];
  // Of the op in hand.
  const std::uint64_t* own_ = nullptr;  // row: the lanes in which it is there
  M here_[kMostDevices];                // the same
  V device_, finish_;
  V at_reader_[LaneProgram::kFewReaders];  // of the item in hand: its arrivals there
  typename Bytes::B change_;               // of the bytes in use on its device
};

/// What is known of memory before the pass.
template <class I, template <class> class BytesOf>
class LaneMemoryPlan {
  using V = typename I::V;
  using Word = typename I::Word;
  using Rows = WordRows<Word, 0>;
  using Bytes = BytesOf<I>;
  static constexpr int kLanes = I::kLanes;

 public:
  LaneMemoryPlan(const LaneProgram& program, const LaneRun& run)
      : p_(program), run_(run), rows_(program.num_devices, run.on_device) {}

  /// LaneKernel::add_residents.
  void AddResidents() const {
    const int n = p_.num_devices;
    auto* resident = static_cast<typename Bytes::Number*>(run_.resident);
    const auto add = [&](const std::uint64_t* row, std::int64_t bytes) {
      for (int d = 0; d < n; ++d) {
        auto* at = resident + d * kLanes;
        const auto lanes = I::ToMask(Rows::WordOf(row, d));
        Bytes::Store(at, I::AddIf(Bytes::Load(at), lanes, Bytes::Set(bytes)));
      }
    };
    for (int d = 0; d < n; ++d) Bytes::Store(resident + d * kLanes, Bytes::Set(0));
    for (int group = 0; group < p_.num_groups; ++group) {
      if (p_.resident[group] > 0) add(rows_.OnDevice(group), p_.resident[group]);
    }
    for (const LaneProgram::Input& input : p_.inputs) {
      std::uint64_t read[kMaxDevices] = {};
      for (int g = input.begin; g < input.end; ++g) {
        const std::uint64_t* reader = rows_.OnDevice(p_.input_groups[g]);
        for (int chunk = 0; chunk < rows_.NumChunks(); ++chunk) read[chunk] |= reader[chunk];
      }
      add(read, input.bytes);
    }
  }

  /// LaneKernel::find_last_uses: the last op that makes or reads something in a buffer
  /// (framework/schedule/stream_memory.h).
  void FindLastUses(int c) const {
    const int n = p_.num_devices;
    const LaneProgram::SharedClass& shared = p_.classes[c];
    std::uint32_t* last_use = run_.last_use + c * n * kLanes;
    const std::uint64_t* home = rows_.OnDevice(shared.producer);
    std::uint64_t read[kMaxDevices] = {}, pinned[kMaxDevices] = {}, lives[kMaxDevices];
    for (int d = 0; d < n; ++d) I::Store(last_use + d * kLanes, I::Zero());
    for (int chunk = 0; chunk < rows_.NumChunks() && shared.pinned; ++chunk) {
      pinned[chunk] = home[chunk];
    }
    const LaneProgram::SharedItem& root = p_.shared_items[shared.item_begin];
    for (int entry = root.entry_begin; entry < root.entry_end; ++entry) {
      const std::uint64_t* reader = rows_.OnDevice(p_.entry_group[entry]);
      for (int chunk = 0; chunk < rows_.NumChunks(); ++chunk) read[chunk] |= reader[chunk];
      Extend(last_use, reader, I::Set(p_.entry_position[entry] + 1));
    }
    for (int i = shared.item_begin; i < shared.item_end; ++i) {
      const LaneProgram::SharedItem& item = p_.shared_items[i];
      const std::uint64_t* made = rows_.OnDevice(item.producer);
      V last = I::Set(item.position + 1);
      for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
        const Word local = rows_.Both(made, rows_.OnDevice(p_.entry_group[entry]));
        last = I::MaxIf(last, I::ToMask(local), I::Set(p_.entry_position[entry] + 1));
      }
      // Where it was made if the root was received there, else at home.
      const Word moved = i == shared.item_begin ? Word{0} : rows_.Both(made, read);
      for (int chunk = 0; chunk < rows_.NumChunks(); ++chunk) {
        const std::uint64_t there = Rows::InEveryPlace(moved);
        lives[chunk] = (made[chunk] & there) | (home[chunk] & ~there);
        if (item.pins) pinned[chunk] |= lives[chunk];
      }
      Extend(last_use, lives, last);
    }
    for (int d = 0; d < n; ++d) {
      const auto never = I::ToMask(Rows::WordOf(pinned, d));
      std::uint32_t* at = last_use + d * kLanes;
      I::Store(at, I::Select(never, I::Zero(), I::Load(at)));
    }
  }

 private:
  void Extend(std::uint32_t* last_use, const std::uint64_t* row, V position) const {
    for (int d = 0; d < p_.num_devices; ++d) {
      const auto lanes = I::ToMask(Rows::WordOf(row, d));
      std::uint32_t* at = last_use + d * kLanes;
      I::Store(at, I::MaxIf(I::Load(at), lanes, position));
    }
  }

  const LaneProgram& p_;
  const LaneRun& run_;
  const Rows rows_;
};

/// LaneKernel::pass.
template <class I>
void RunLanePass(const LaneProgram& program, const LaneRun& run) {
  const auto with = [&]<template <class> class Bytes>() {
    const int n = program.num_devices;
    if (program.general || n > I::kTable || program.num_rates > I::kTable) {
      return LanePass<I, Bytes, true, 0, false>(program, run).Run();
    }
    switch (program.matrix ? n : -n) {
      case 2:
        return LanePass<I, Bytes, false, 2, true>(program, run).Run();
      case 3:
        return LanePass<I, Bytes, false, 3, true>(program, run).Run();
      case 4:
        return LanePass<I, Bytes, false, 4, true>(program, run).Run();
      case 5:
        return LanePass<I, Bytes, false, 5, true>(program, run).Run();
      case -3:
        return LanePass<I, Bytes, false, 3, false>(program, run).Run();
      case -5:
        return LanePass<I, Bytes, false, 5, false>(program, run).Run();
      default:
        return LanePass<I, Bytes, false, 0, false>(program, run).Run();
    }
  };
  switch (program.memory) {
    case LaneMemory::kNone:
      return with.template operator()<NoBytes>();
    case LaneMemory::k32:
      return with.template operator()<Bytes32>();
    case LaneMemory::k64:
      return with.template operator()<Bytes64>();
  }
}

template <class I>
void AddLaneResidents(const LaneProgram& program, const LaneRun& run) {
  if (program.memory == LaneMemory::k32) LaneMemoryPlan<I, Bytes32>(program, run).AddResidents();
  if (program.memory == LaneMemory::k64) LaneMemoryPlan<I, Bytes64>(program, run).AddResidents();
}

template <class I>
void FindLaneLastUses(const LaneProgram& program,
                      const LaneRun& run,
                      std::span<const std::int32_t> classes) {
  const LaneMemoryPlan<I, Bytes32> plan(program, run);
  for (const std::int32_t c : classes) plan.FindLastUses(c);
}

}  // namespace emplace

#pragma once

// The pass of lane_kernel.h, for any instruction set: stream semantics and its memory as
// simulator/README.md defines them, with one placement per lane. No branch depends on a lane: a
// change that concerns only some lanes is computed in all lanes and kept in those (MaxIf, AddIf,
// Select). So the time of a pass hardly depends on the placements.
//
// An op's device differs from lane to lane. Work on a device is therefore done for each device in
// turn, in the lanes in which the op is on that device. An item that one or two groups read is sent
// to the device of each group; any other item is sent to each device in turn. In both cases each
// channel is visited in turn, in the lanes that send over it. Only the sources of the kernels
// include this file, below their target pragma.

#include <cstdint>
#include <vector>

#include "simulator/lanes/lane_bytes.h"
#include "simulator/lanes/lane_kernel.h"
#include "simulator/lanes/lane_servers.h"
#include "simulator/lanes/lane_words.h"

namespace emplace {

/// @tparam I          Avx2Lanes (lane_kernel_avx2.cc) or Avx512Lanes
/// @tparam BytesOf    NoBytes, Bytes32 or Bytes64
/// @tparam kGeneral   LaneProgram::general, or too many devices for I::Lookup()
/// @tparam kDevices   the number of devices, or 0: any
/// @tparam kChannels  kept in registers: kDevices^2 for LaneProgram::matrix, else as many as there
///                    are channels at least; or 0: any number, in memory
template <class I, template <class> class BytesOf, bool kGeneral, int kDevices, int kChannels>
class LanePass {
  using V = typename I::V;
  using M = typename I::M;
  using Word = typename I::Word;
  using Bytes = BytesOf<I>;
  static constexpr int kLanes = I::kLanes;
  static constexpr bool kInRegisters = kDevices > 0, kChannelsInRegisters = kChannels > 0;
  using Servers = LaneServers<I, kDevices, kChannels>;
  static constexpr bool kMatrix = Servers::kMatrix;
  static constexpr int kMostDevices = kInRegisters ? kDevices : kMaxDevices;
  static constexpr int kTable = kInRegisters ? kDevices : I::kTable;
  using Rows = WordRows<Word, kDevices>;
  static constexpr int kMostChunks = Rows::kMostChunks;

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
        items_(program.items.data()),
        num_rates_(program.num_rates),
        has_host_(program.has_host),
        has_gaps_(program.has_gaps),
        has_channel_gaps_(program.has_channel_gaps),
        one_speed_(program.one_speed),
        rebased_(run.any_rebased),
        speed_(program.speed),
        servers_(program, run),
        bytes_(program, run, rows_) {}

  /// Simulates. The compiler keeps more of a pass in registers if the pass is a variable of the
  /// caller. That pays only for times without bytes, with a channel for each pair of devices.
  [[gnu::always_inline]] void Run() {
    if constexpr (kMatrix && !Bytes::kCounts) return RunHere();
    RunApart();
  }

 private:
  [[gnu::noinline]] void RunApart() { RunHere(); }
  [[gnu::always_inline]] void RunHere() {
    const int n = NumDevices();
    Begin();
    const LaneProgram::Op* op = p_.ops.data() + run_.begin;
    const std::int32_t *singles = p_.singles.data(), *blocks = p_.blocks.data();
    const int end = run_.end;
    for (int position = run_.begin; position < end; ++position, ++op) {
      op_.own = OnDevice(op->group);
      op_.device = DeviceOf(op->group);
      for (int d = 0; d < n; ++d) op_.here[d] = I::Equal(op_.device, I::Set(d));

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
          start = I::MaxIf(start, op_.here[d], I::Load(arrivals + d * kLanes));
        }
      }
      const V cost = OfDevice(cost_ + position * n);
      const V occupied = has_gaps_ ? OfDevice(occupancy_ + position * n) : cost;
      if constexpr (kGeneral) {
        V slot[kMostDevices];
        for (int d = 0; d < n; ++d) {
          start = I::MaxIf(start, op_.here[d], servers_.FirstFree(d, slot[d]));
        }
        const V free = I::Add(start, occupied);
        for (int d = 0; d < n; ++d) servers_.Occupy(d, slot[d], op_.here[d], free);
      } else {
        for (int d = 0; d < n; ++d) start = I::MaxIf(start, op_.here[d], servers_.SlotFree(d));
        const V free = I::Add(start, occupied);
        for (int d = 0; d < n; ++d) {
          servers_.SetSlotFree(d, I::Select(op_.here[d], free, servers_.SlotFree(d)));
        }
      }
      if (rebased_) NoteStart(start, cost);
      op_.finish = I::Add(start, cost);
      latest_ = I::Max(latest_, op_.finish);
      if (run_.busy_wanted) {
        for (int d = 0; d < n; ++d) {
          Store(run_.busy, d, I::AddIf(Load(run_.busy, d), op_.here[d], cost));
        }
      }
      if (op->finish_row >= 0) I::Store(run_.rows + op->finish_row * kLanes, op_.finish);
      if constexpr (Bytes::kCounts) bytes_.Allocate(op_, position);
      for (int i = op->item_begin; i < op[1].item_begin; ++i) Make(items_[i]);
      servers_.ReturnChannels(op_.here);
      if constexpr (Bytes::kCounts) bytes_.Release(op_, op[0], op[1], position);
    }
    End();
  }

  // Most placements leave out some devices; the branches on this are well predicted.
  bool InUse(int d) const { return run_.in_use >> d & 1; }
  int NumDevices() const { return kInRegisters ? kDevices : num_devices_; }
  int NumChunks() const { return rows_.NumChunks(); }

  V Row(int row) const { return I::Load(run_.rows + row * kLanes); }
  static V Load(const std::uint32_t* rows, int row) { return I::Load(rows + row * kLanes); }
  static void Store(std::uint32_t* rows, int row, V x) { I::Store(rows + row * kLanes, x); }

  const std::uint64_t* OnDevice(int group) const { return rows_.OnDevice(group); }
  V DeviceOf(int group) const { return I::FromBytes(run_.devices + group * kLanes); }
  static Word WordOf(const std::uint64_t* row, int d) { return Rows::WordOf(row, d); }

  // Marks lanes wrong in which times were lost and something starts at 0. A 0 stands for any time
  // up to the amount taken from the lane's times (LaneBuffers::Pass()). It is harmless unless
  // something that takes time starts there.
  void NoteStart(V start, V takes_time) const {
    const V lost = I::Select(I::Equal(takes_time, I::Zero()), I::Zero(), I::Load(run_.rebased));
    const V wrong = I::Load(run_.wrong);
    I::Store(run_.wrong, I::MaxIf(wrong, I::Equal(start, I::Zero()), lost));
  }

  static const std::uint32_t* Unsigned(const std::vector<std::int32_t>& table) {
    return reinterpret_cast<const std::uint32_t*>(table.data());
  }

  // Returns for every lane the entry of a table by device that belongs to the op's device.
  V OfDevice(const std::uint32_t* table) const {
    if constexpr (!kGeneral) {
      return I::template Lookup<kTable>(table, op_.device);
    } else {
      V entry = I::Zero();
      for (int d = 0; d < NumDevices(); ++d) {
        entry = I::AddIf(entry, op_.here[d], I::Set(table[d]));
      }
      return entry;
    }
  }

  void Begin() {
    servers_.Load();
    if constexpr (Bytes::kCounts) bytes_.Load();
    if (run_.begin == 0) {
      for (auto* row : {run_.host, run_.latest, run_.rebased, run_.wrong}) Store(row, 0, I::Zero());
      for (int d = 0; d < NumDevices() && run_.busy_wanted; ++d) Store(run_.busy, d, I::Zero());
    }
    host_ = I::Load(run_.host);
    latest_ = I::Load(run_.latest);
    for (int to = 0; to < kDevices && !kMatrix && kChannels > 0; ++to) {
      leads_to_[to] = 0;
      for (int from = 0; from < kDevices; ++from) {
        const int row = channel_row_[to * kDevices + from];
        if (row >= 0 && InUse(from)) leads_to_[to] |= 1u << row;
      }
    }
  }

  void End() {
    servers_.Store();
    if constexpr (Bytes::kCounts) bytes_.Store();
    if (p_.count_gaps && run_.end == p_.num_ops) latest_ = I::Max(latest_, servers_.LatestFree());
    I::Store(run_.host, host_);
    I::Store(run_.latest, latest_);
  }

  // Sends the copies of an item and notes its arrivals. All of this is inlined: arguments of a
  // function would be in memory, and so would the values that are kept in registers.
  [[gnu::always_inline]] void Make(const LaneProgram::Item& item) {
    if constexpr (kChannelsInRegisters) {
      if (item.num_readers == 1) return MakeForOne(item);
      if (!kMatrix && item.num_readers == 2) return MakeForTwo(item);
    }
    MakeForAll(item);
  }

  // For an item that one group besides the producer's reads.
  [[gnu::always_inline]] void MakeForOne(const LaneProgram::Item& item) {
    const V to = DeviceOf(item.reader[0]);
    const M crosses = I::NotEqual(to, op_.device);
    if constexpr (Bytes::kCounts) {
      if (item.all_away && item.released_bytes > 0) bytes_.ReleaseOwn(crosses, item.released_bytes);
    }
    V at = op_.finish;
    if (I::Any(crosses)) at = SendTo(item, to, crosses);
    Store(run_.rows, item.reader_row[0], at);
  }

  // For an item that two other groups read: sends it to the device of lower index first.
  [[gnu::always_inline]] void MakeForTwo(const LaneProgram::Item& item) {
    const V one = DeviceOf(item.reader[0]), other = DeviceOf(item.reader[1]);
    const V low = I::Min(one, other), high = I::Max(one, other);
    const M low_crosses = I::NotEqual(low, op_.device);
    const M high_crosses = I::NotEqual(high, op_.device);
    if constexpr (Bytes::kCounts) {
      if (item.all_away && item.released_bytes > 0) {
        bytes_.ReleaseOwn(I::And(low_crosses, high_crosses), item.released_bytes);
      }
    }
    V at_low = op_.finish, at_high = op_.finish;
    if (I::Any(low_crosses)) at_low = SendTo(item, low, low_crosses);
    const M apart = I::And(high_crosses, I::NotEqual(low, high));
    if (I::Any(apart)) at_high = SendTo(item, high, apart);
    Store(run_.rows, item.reader_row[0], I::Select(I::Equal(one, low), at_low, at_high));
    Store(run_.rows, item.reader_row[1], I::Select(I::Equal(other, low), at_low, at_high));
  }

  // Sends an item to a device that may differ in every lane. @return arrival, or the op's finish in
  // lanes without a transfer
  [[gnu::always_inline]] V SendTo(const LaneProgram::Item& item, V to, M crosses) {
    servers_.SelectChannels(op_.here);
    if constexpr (Bytes::kCounts) {
      if (item.bytes > 0) {
        const auto bytes = Bytes::Set(item.bytes);
        for (int d = 0; d < NumDevices(); ++d) {
          bytes_.Receive(d, I::And(crosses, I::Equal(to, I::Set(d))), bytes);
        }
      }
    }
    V pair = to;  // times kDevices, plus the op's device
    for (int i = 1; i < kDevices; ++i) pair = I::Add(pair, to);
    pair = I::Add(pair, op_.device);
    V row = to;
    if constexpr (!kMatrix) {
      row = I::template Lookup<kDevices * kDevices>(Unsigned(p_.channel_row), pair);
    }
    Speed speed = OneSpeed(item);
    if (!one_speed_) {
      const auto of_row = [&](const std::uint32_t* by_pair, const std::uint32_t* by_channel) {
        return kMatrix ? I::template Lookup<kChannels>(by_pair, pair)
                       : I::template Lookup<kChannels>(by_channel, row);
      };
      speed.wire = WireTime(item, of_row(p_.rate_from.data(), Unsigned(p_.rate)));
      speed.latency = of_row(p_.latency_from.data(), p_.latency.data());
      if (has_channel_gaps_) speed.gap = of_row(p_.gap_from.data(), p_.channel_gap.data());
    }
    const V arrival = Send(
        crosses, speed, [&](const auto& with) __attribute__((always_inline)) {
#pragma GCC unroll 25
          for (int k = 0; k < (kMatrix ? kDevices : kChannels); ++k) {
            with(k, I::And(crosses, I::Equal(row, I::Set(k))));
          }
        });
    return I::Select(crosses, arrival, op_.finish);
  }

  // For any other item: sends it to each device in turn.
  [[gnu::always_inline]] void MakeForAll(const LaneProgram::Item& item) {
    const int n = NumDevices();
    std::uint64_t need[kMostChunks];  // devices where it has readers
    for (int c = 0; c < NumChunks(); ++c) need[c] = 0;
    for (int entry = item.entry_end - 1; entry >= item.entry_begin; --entry) {
      const std::uint64_t* reader = OnDevice(reader_group_[entry]);
      for (int c = 0; c < NumChunks(); ++c) {
        if constexpr (Bytes::kCounts) {
          if (LaneProgram::HasRow(item, entry)) later_[entry * NumChunks() + c] = need[c];
        }
        need[c] |= reader[c];
      }
    }
    if constexpr (Bytes::kCounts) {
      if (item.all_away && item.released_bytes > 0) {
        const M lanes = I::ToMask(static_cast<Word>(~rows_.Both(op_.own, need)));
        bytes_.ReleaseOwn(lanes, item.released_bytes);
      }
    }
    std::uint64_t any = 0;
    for (int c = 0; c < NumChunks(); ++c) any |= need[c] &= ~op_.own[c];
    for (int i = 0; i < LaneProgram::kFewReaders; ++i) {
      at_reader_[i] = op_.finish;
      if (i < item.num_readers) reader_device_[i] = DeviceOf(item.reader[i]);
    }
    if (any == 0) {
      for (int d = 0; d < n && item.block >= 0; ++d) {
        Store(run_.rows, item.block + d, op_.finish);
      }
      StoreAtReaders(item);
      return;
    }
    if constexpr (Bytes::kCounts) {
      if (item.bytes > 0) {
        const auto bytes = Bytes::Set(item.bytes);
        for (int d = 0; d < n; ++d) bytes_.Receive(d, I::ToMask(WordOf(need, d)), bytes);
      }
    }
    if constexpr (kGeneral) {
      SendAlongRoutes(item, need);
    } else {
      SendDirect(item, need);
    }
    StoreAtReaders(item);
  }

  // Notes the item's arrival at a device for its readers there. In the lanes in which this is its
  // own device, the arrival is its finish.
  void Note(const LaneProgram::Item& item, int to, M needed, V arrival) {
    if (item.block >= 0) {
      Store(run_.rows, item.block + to, I::Select(op_.here[to], op_.finish, arrival));
      return;
    }
    for (int i = 0; i < LaneProgram::kFewReaders; ++i) {
      if (i >= item.num_readers) continue;
      const M there = I::And(needed, I::Equal(reader_device_[i], I::Set(to)));
      at_reader_[i] = I::Select(there, arrival, at_reader_[i]);
    }
  }
  void StoreAtReaders(const LaneProgram::Item& item) {
    for (int i = 0; i < LaneProgram::kFewReaders; ++i) {
      if (i < item.num_readers) Store(run_.rows, item.reader_row[i], at_reader_[i]);
    }
  }

  // The figures of a channel; every lane has those of its own channel.
  struct Speed {
    V wire, latency, gap;
  };
  V WireTime(const LaneProgram::Item& item, V rate) const {
    return I::template Lookup<I::kTable>(wire_ + item.index * num_rates_, rate);
  }
  Speed OneSpeed(const LaneProgram::Item& item) const {
    return {I::Set(wire_[item.index * num_rates_ + speed_.rate]),
            I::Set(speed_.latency),
            I::Set(speed_.gap)};
  }

  // Makes one transfer in each lane that needs one.
  // @param for_channels  for_channels(with): with(row of a channel, lanes that send over it)
  // @return arrival
  template <class ForChannels>
  V Send(M needed, const Speed& speed, const ForChannels& for_channels) {
    V start = op_.finish;
    if (has_host_) {
      host_ = I::AddIf(host_, needed, OfDevice(issue_));
      start = I::Max(start, I::Add(host_, OfDevice(launch_)));
    }
    for_channels([&](int row, M lanes) __attribute__((always_inline)) {
      start = I::MaxIf(start, lanes, servers_.ChannelFree(row));
    });
    if (rebased_) NoteStart(start, I::Select(needed, I::Set(1), I::Zero()));
    const V sent = I::Add(start, speed.wire);
    const V free = has_channel_gaps_ ? I::Add(sent, speed.gap) : sent;
    for_channels([&](int row, M lanes) __attribute__((always_inline)) {
      servers_.SetChannelFree(row, I::Select(lanes, free, servers_.ChannelFree(row)));
    });
    const V arrival = I::Add(sent, speed.latency);
    latest_ = I::MaxIf(latest_, needed, arrival);
    return arrival;
  }

  // For machines whose routes all have one hop and whose devices all have one slot.
  [[gnu::always_inline]] void SendDirect(const LaneProgram::Item& item, const std::uint64_t* need) {
    servers_.SelectChannels(op_.here);
    const int n = NumDevices();
    Speed speed = OneSpeed(item);
#pragma GCC unroll 5
    for (int to = 0; to < n; ++to) {
      if (!InUse(to)) continue;
      const M needed = I::ToMask(WordOf(need, to));
      if (!one_speed_) {
        speed.wire = WireTime(item, OfDevice(p_.rate_from.data() + to * n));
        speed.latency = OfDevice(p_.latency_from.data() + to * n);
        if (has_channel_gaps_) speed.gap = OfDevice(p_.gap_from.data() + to * n);
      }
      V row = I::Zero();
      if constexpr (kChannelsInRegisters && !kMatrix) {
        row = OfDevice(Unsigned(p_.channel_row) + to * n);
      }
      const V arrival = Send(
          needed, speed, [&](const auto& with) __attribute__((always_inline)) {
            if constexpr (kMatrix) {
              with(to, needed);
            } else if constexpr (kChannelsInRegisters) {
#pragma GCC unroll 25
              for (int k = 0; k < kChannels; ++k) {
                if (leads_to_[to] >> k & 1) with(k, I::And(needed, I::Equal(row, I::Set(k))));
              }
            } else {
#pragma GCC unroll 5
              for (int from = 0; from < n; ++from) {
                if (from == to || !InUse(from)) continue;
                const int k = channel_row_[to * n + from];
                if (k >= 0) with(k, I::And(needed, op_.here[from]));
              }
            }
          });
      Note(item, to, needed, arrival);
    }
  }

  // For any routes: visits each pair of devices in turn, in the lanes that send between them.
  void SendAlongRoutes(const LaneProgram::Item& item, const std::uint64_t* need) {
    const int n = NumDevices();
    Word* done = static_cast<Word*>(run_.broadcast_done);
    for (int k = 0; k < p_.num_channels; ++k) done[k] = 0;
    for (int to = 0; to < n; ++to) {
      V arrival = op_.finish;
      for (int from = 0; from < n; ++from) {
        const Word lanes = WordOf(need, to) & WordOf(op_.own, from);
        if (lanes == 0) continue;
        const int begin = p_.route_begin[from * n + to], end = p_.route_begin[from * n + to + 1];
        const int first = p_.routes[begin];
        V at = I::Zero();
        const Word todo = lanes & static_cast<Word>(~done[first]);
        if (todo != 0) {
          const M sending = I::ToMask(todo);
          V ready = op_.finish;
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
      Note(item, to, I::ToMask(WordOf(need, to)), arrival);
    }
  }

  // Makes a transfer over channel k. @param from, to  the devices that it may occupy, or -1
  // @return arrival
  V Hop(const LaneProgram::Item& item, int k, M lanes, V ready, int from, int to) {
    if (!p_.occupies_source[k]) from = -1;
    if (!p_.occupies_destination[k]) to = -1;
    const V wire = I::Set(p_.wire[item.index * p_.num_rates + p_.rate[k]]);
    const V channel = Load(run_.channel_free, k);
    V start = p_.contention ? I::Max(ready, channel) : ready;
    V from_slot = I::Zero(), to_slot = I::Zero();
    if (from >= 0) start = I::Max(start, servers_.FirstFree(from, from_slot));
    if (to >= 0) start = I::Max(start, servers_.FirstFree(to, to_slot));
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
    servers_.Occupy(d, slot, lanes, until);
    if (run_.busy_wanted) Store(run_.busy, d, I::AddIf(Load(run_.busy, d), lanes, wire));
  }

  // All members that the loops read are copied here, where stores to memory cannot change them.
  const LaneProgram& p_;
  const LaneRun run_;
  const int num_devices_;
  const Rows rows_;
  std::uint64_t* const later_;
  const std::uint32_t *const cost_, *const occupancy_, *const issue_, *const launch_, *const wire_;
  const std::int32_t *const reader_group_, *const channel_row_;
  const LaneProgram::Item* const items_;
  const int num_rates_;
  const bool has_host_, has_gaps_, has_channel_gaps_, one_speed_, rebased_;
  const LaneProgram::Speed speed_;
  V host_, latest_;
  // [kDevices] per device a bit mask of the channel rows that lead to it from devices in use;
  // unless kMatrix
  std::uint32_t leads_to_[kInRegisters ? kDevices : 1];
  Servers servers_;
  LaneOp<I, kMostDevices> op_;
  // Of the current item: the devices of its readers, and its arrival there.
  V reader_device_[LaneProgram::kFewReaders], at_reader_[LaneProgram::kFewReaders];
  LaneBytes<I, BytesOf, kDevices> bytes_;
};

/// LaneKernel::pass.
template <class I>
void RunLanePass(const LaneProgram& program, const LaneRun& run) {
  const auto with = [&]<template <class> class Bytes>() {
    const int n = program.num_devices, channels = program.num_channel_rows;
    if (program.general || n > I::kTable || program.num_rates > I::kTable) {
      return LanePass<I, Bytes, true, 0, 0>(program, run).Run();
    }
    if (program.matrix) {
      switch (n) {
        case 2:
          return LanePass<I, Bytes, false, 2, 4>(program, run).Run();
        case 3:
          return LanePass<I, Bytes, false, 3, 9>(program, run).Run();
        case 4:
          return LanePass<I, Bytes, false, 4, 16>(program, run).Run();
        case 5:
          return LanePass<I, Bytes, false, 5, 25>(program, run).Run();
      }
    }
    if (n == 3 && channels <= 4) return LanePass<I, Bytes, false, 3, 4>(program, run).Run();
    if (n == 5 && channels <= 5) return LanePass<I, Bytes, false, 5, 5>(program, run).Run();
    return LanePass<I, Bytes, false, 0, 0>(program, run).Run();
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

}  // namespace emplace

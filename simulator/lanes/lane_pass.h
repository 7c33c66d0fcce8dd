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
#include <type_traits>

#include "simulator/lanes/lane_kernel.h"

namespace emplace {

/// How bytes are counted: not at all, in 32 bits, or in 64.
template <class I>
struct NoBytes {
  static constexpr bool kCounts = false;
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

/// @tparam I        Avx2Lanes or Avx512Lanes
/// @tparam Bytes    NoBytes, Bytes32 or Bytes64
/// @tparam General  LaneProgram::general, or too many devices for I::Lookup()
/// @tparam kDevices the number of devices, or 0: any
template <class I, template <class> class BytesOf, bool kGeneral, int kDevices>
class LanePass {
  using V = typename I::V;
  using M = typename I::M;
  using Word = typename I::Word;
  using Bytes = BytesOf<I>;
  static constexpr int kLanes = I::kLanes;
  static constexpr int kMostDevices = kDevices > 0 ? kDevices : kMaxDevices;

 public:
  LanePass(const LaneProgram& program, const LaneRun& run)
      : p_(program),
        run_(run),
        num_devices_(kDevices > 0 ? kDevices : program.num_devices),
        on_device_(static_cast<const Word*>(run.on_device)) {}

  void Run() {
    const int n = num_devices_;
    const bool has_host = p_.has_host, has_gaps = p_.has_gaps;
    if (run_.begin == 0) Clear();
    if constexpr (Bytes::kCounts) {
      if (run_.begin == 0) AddResidents();
      if (p_.has_aliases) FindSharedBuffers();
    }
    host_ = I::Load(run_.host);
    latest_ = I::Load(run_.latest);
    const LaneProgram::Op* ops = p_.ops.data();
    const std::int32_t* same = p_.same.data();
    const std::int32_t* reads = p_.reads.data();
    for (int position = run_.begin; position < p_.num_ops; ++position) {
      const LaneProgram::Op& op = ops[position];
      own_ = on_device_ + op.group * n;
      for (int d = 0; d < n; ++d) here_[d] = I::ToMask(own_[d]);
      device_ = I::FromBytes(run_.devices + op.group * kLanes);

      V start = I::Zero();
      if (has_host) {
        host_ = I::Add(host_, OfDevice(p_.issue.data()));
        start = I::Add(host_, OfDevice(p_.launch.data()));
      }
      for (int r = op.same_begin; r < ops[position + 1].same_begin; ++r) {
        start = I::Max(start, Row(same[r]));
      }
      for (int r = op.read_begin; r < ops[position + 1].read_begin; ++r) {
        for (int d = 0; d < n; ++d) start = I::MaxIf(start, here_[d], Row(reads[r] + d));
      }
      const V cost = OfDevice(p_.cost.data() + position * n);
      const auto occupied = [&](V from) {
        return I::Add(from, has_gaps ? OfDevice(p_.occupancy.data() + position * n) : cost);
      };
      if constexpr (kGeneral) {
        start = WaitForSlot(start);
        LeaveSlot(occupied(start));
      } else {
        for (int d = 0; d < n; ++d) start = I::MaxIf(start, here_[d], Load(run_.slot_free, d));
        const V free = occupied(start);
        for (int d = 0; d < n; ++d) {
          Store(run_.slot_free, d, I::Select(here_[d], free, Load(run_.slot_free, d)));
        }
      }
      finish_ = I::Add(start, cost);
      latest_ = I::Max(latest_, finish_);
      if (run_.busy_wanted) {
        for (int d = 0; d < n; ++d) {
          Store(run_.busy, d, I::AddIf(Load(run_.busy, d), here_[d], cost));
        }
      }
      if (op.finish_row >= 0) I::Store(run_.rows + op.finish_row * kLanes, finish_);
      if constexpr (Bytes::kCounts) Allocate(position);
      for (int i = op.item_begin; i < ops[position + 1].item_begin; ++i) Make(p_.items[i]);
      if constexpr (Bytes::kCounts) Release(position);
    }
    if (p_.count_gaps) {
      for (int s = 0; s < p_.num_slots; ++s) latest_ = I::Max(latest_, Load(run_.slot_free, s));
      for (int k = 0; k < p_.num_channels; ++k) {
        latest_ = I::Max(latest_, Load(run_.channel_free, k));
      }
    }
    I::Store(run_.host, host_);
    I::Store(run_.latest, latest_);
  }

 private:
  V Row(int row) const { return I::Load(run_.rows + row * kLanes); }
  static V Load(const std::uint32_t* rows, int row) { return I::Load(rows + row * kLanes); }
  static void Store(std::uint32_t* rows, int row, V x) { I::Store(rows + row * kLanes, x); }
  const Word* OnDevice(int group) const { return on_device_ + group * num_devices_; }

  // An entry of a table by device, in every lane that of the op's device.
  V OfDevice(const std::uint32_t* table) const {
    if constexpr (!kGeneral) {
      return I::Lookup(table, device_);
    } else {
      V entry = I::Zero();
      for (int d = 0; d < num_devices_; ++d) entry = I::AddIf(entry, here_[d], I::Set(table[d]));
      return entry;
    }
  }

  void Clear() {
    const auto clear = [](std::uint32_t* rows, int count) {
      for (int row = 0; row < count; ++row) Store(rows, row, I::Zero());
    };
    clear(run_.slot_free, p_.num_slots);
    clear(run_.channel_free, p_.num_channels);
    clear(run_.host, 1);
    clear(run_.latest, 1);
    if (run_.busy_wanted) clear(run_.busy, num_devices_);
  }

  // The slot of every lane that is free first, the least one on ties: for each device in turn.
  // Leaves its number in slot_.
  V WaitForSlot(V ready) {
    V start = ready;
    for (int d = 0; d < num_devices_; ++d) {
      start = I::MaxIf(start, here_[d], FirstFree(d, slot_[d]));
    }
    return start;
  }
  void LeaveSlot(V free) {
    for (int d = 0; d < num_devices_; ++d) Occupy(d, slot_[d], here_[d], free);
  }
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
  void Occupy(int d, V number, M lanes, V until) {
    for (int s = p_.slot_begin[d]; s < p_.slot_begin[d + 1]; ++s) {
      const M taken = I::And(lanes, I::Equal(number, I::Set(s)));
      Store(run_.slot_free, s, I::Select(taken, until, Load(run_.slot_free, s)));
    }
  }

  // An item is made: its copies are sent, its arrivals noted.
  void Make(const LaneProgram::Item& item) {
    const int n = num_devices_;
    Word need[kMostDevices];  // where it has readers
    for (int d = 0; d < n; ++d) need[d] = 0;
    Word* later = nullptr;
    if constexpr (Bytes::kCounts) later = static_cast<Word*>(run_.later);
    for (int entry = item.entry_end - 1; entry >= item.entry_begin; --entry) {
      const Word* reader = OnDevice(p_.entries[entry].group);
      for (int d = 0; d < n; ++d) {
        if constexpr (Bytes::kCounts) later[entry * n + d] = need[d];
        need[d] |= reader[d];
      }
    }
    if constexpr (Bytes::kCounts) {
      if (item.shared < 0 && item.released_bytes > 0) {
        const M lanes = I::ToMask(Word(~Both(own_, need)));
        released_ = I::AddIf(released_, lanes, Bytes::Set(item.released_bytes));
      }
    }
    if (item.row < 0) return;
    Word any = 0;
    for (int d = 0; d < n; ++d) any |= need[d] &= static_cast<Word>(~own_[d]);
    if (any == 0) {
      for (int d = 0; d < n; ++d) Store(run_.rows, item.row + d, finish_);
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
  }

  // Every route is one channel, every device has one slot.
  void SendDirect(const LaneProgram::Item& item, const Word* need) {
    const int n = num_devices_;
    const std::uint32_t* wires = p_.wire.data() + item.index * p_.num_rates;
    const bool has_host = p_.has_host, one_speed = p_.one_speed;
    V wire = I::Set(wires[0]), latency = I::Set(p_.latency[0]), gap = I::Set(p_.channel_gap[0]);
    V issue, launch;
    if (has_host) {
      issue = OfDevice(p_.issue.data());
      launch = OfDevice(p_.launch.data());
    }
    for (int to = 0; to < n; ++to) {
      const M needed = I::ToMask(need[to]);
      V start = finish_;
      if (has_host) {
        host_ = I::AddIf(host_, needed, issue);
        start = I::Max(start, I::Add(host_, launch));
      }
      const int end = p_.feed_begin[to + 1];
      for (int f = p_.feed_begin[to]; f < end; ++f) {
        start = I::MaxIf(start, Fed(p_.feeds[f]), Load(run_.channel_free, p_.feeds[f].channel));
      }
      if (!one_speed) {
        wire = I::Lookup(wires, OfDevice(p_.rate_from.data() + to * n));
        latency = OfDevice(p_.latency_from.data() + to * n);
        gap = OfDevice(p_.gap_from.data() + to * n);
      }
      const V sent = I::Add(start, wire);
      const V free = I::Add(sent, gap);
      const V arrival = I::Add(sent, latency);
      for (int f = p_.feed_begin[to]; f < end; ++f) {
        const int k = p_.feeds[f].channel;
        const M lanes = I::And(Fed(p_.feeds[f]), needed);
        Store(run_.channel_free, k, I::Select(lanes, free, Load(run_.channel_free, k)));
      }
      latest_ = I::MaxIf(latest_, needed, arrival);
      Store(run_.rows, item.row + to, I::Select(here_[to], finish_, arrival));
    }
  }
  M Fed(const LaneProgram::Feed& feed) const {
    if (feed.sources == 0) return here_[feed.source];
    Word lanes = own_[feed.source];
    for (int d = 0; d < num_devices_; ++d) {
      if (feed.sources >> d & 1) lanes |= own_[d];
    }
    return I::ToMask(lanes);
  }

  // Any route: for each pair of devices in turn, in the lanes that send from one to the other.
  void SendAlongRoutes(const LaneProgram::Item& item, const Word* need) {
    const int n = num_devices_;
    Word* done = static_cast<Word*>(run_.broadcast_done);
    for (int k = 0; k < p_.num_channels; ++k) done[k] = 0;
    for (int to = 0; to < n; ++to) {
      V arrival = finish_;
      for (int from = 0; from < n; ++from) {
        const Word lanes = need[to] & own_[from];
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
      Store(run_.rows, item.row + to, arrival);
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

  // The lanes in which two answers by device are both yes for the same device.
  Word Both(const Word* x, const Word* y) const {
    Word lanes = 0;
    for (int d = 0; d < num_devices_; ++d) lanes |= x[d] & y[d];
    return lanes;
  }
  auto* Used() const { return static_cast<typename Bytes::Number*>(run_.used); }
  auto* Peak() const { return static_cast<typename Bytes::Number*>(run_.peak); }

  void AddResidents() {
    const auto add = [&](int d, Word lanes, std::int64_t bytes) {
      auto* used = Used() + d * kLanes;
      Bytes::Store(used, I::AddIf(Bytes::Load(used), I::ToMask(lanes), Bytes::Set(bytes)));
    };
    for (int d = 0; d < num_devices_; ++d) Bytes::Store(Used() + d * kLanes, Bytes::Set(0));
    for (const LaneProgram::Resident& resident : p_.residents) {
      for (int d = 0; d < num_devices_; ++d) add(d, OnDevice(resident.group)[d], resident.bytes);
    }
    for (const LaneProgram::Input& input : p_.inputs) {
      for (int d = 0; d < num_devices_; ++d) {
        Word read = 0;
        for (int g = input.begin; g < input.end; ++g) read |= OnDevice(p_.input_groups[g])[d];
        add(d, read, input.bytes);
      }
    }
    for (int d = 0; d < num_devices_; ++d) {
      Bytes::Store(Peak() + d * kLanes, Bytes::Load(Used() + d * kLanes));
    }
  }

  void Allocate(int position) {
    released_ = Bytes::Set(0);
    const std::int64_t own = p_.own_bytes[position], workspace = p_.workspace[position];
    if (own == 0 && workspace == 0) return;
    const auto taken = Bytes::Set(own), with_workspace = Bytes::Set(own + workspace);
    for (int d = 0; d < num_devices_; ++d) {
      auto *used = Used() + d * kLanes, *peak = Peak() + d * kLanes;
      const auto before = Bytes::Load(used);
      Bytes::Store(
          peak, I::MaxIf(Bytes::Load(peak), here_[d], I::Add(before, with_workspace)));
      Bytes::Store(used, I::AddIf(before, here_[d], taken));
    }
  }

  void Receive(const LaneProgram::Item& item, const Word* need) {
    const auto bytes = Bytes::Set(item.bytes);
    for (int d = 0; d < num_devices_; ++d) {
      auto *used = Used() + d * kLanes, *peak = Peak() + d * kLanes;
      const M lanes = I::ToMask(need[d]);
      const auto with = I::AddIf(Bytes::Load(used), lanes, bytes);
      Bytes::Store(used, with);
      Bytes::Store(peak, I::MaxIf(Bytes::Load(peak), lanes, with));
    }
  }

  // What the op at `position` is the last to use goes; Make() has noted its own outputs that share
  // no buffer.
  void Release(int position) {
    const int n = num_devices_, end = p_.ops[position + 1].release_begin;
    const Word* later = static_cast<const Word*>(run_.later);
    for (int r = p_.ops[position].release_begin; r < end; ++r) {
      const LaneProgram::Release& release = p_.releases[r];
      const LaneProgram::Item& item = p_.items[release.item];
      const auto last = static_cast<Word>(~Both(own_, later + release.entry * n));
      const Word* producer = OnDevice(item.producer);
      const Word local = producer == own_ ? Word(~Word{0}) : Both(own_, producer);
      if (item.shared >= 0) {
        ReleaseShared(item, local, last);
        continue;
      }
      if (item.released_bytes > 0) {
        released_ = I::AddIf(
            released_, I::ToMask(last & local), Bytes::Set(item.released_bytes));
      }
      released_ = I::AddIf(
          released_, I::ToMask(last & static_cast<Word>(~local)), Bytes::Set(item.bytes));
    }
    if (p_.has_aliases) {
      for (int i = p_.ops[position].item_begin; i < p_.ops[position + 1].item_begin; ++i) {
        if (p_.items[i].shared >= 0) ReleaseShared(p_.items[i], Word(~Word{0}), Word{0});
      }
      position_ = position + 1;
    }
    for (int d = 0; d < n; ++d) {
      auto* used = Used() + d * kLanes;
      Bytes::Store(used, I::SubIf(Bytes::Load(used), here_[d], released_));
    }
  }

  // Where aliases live, and behind which op each shared buffer is released: the last that makes or
  // reads something in it (framework/schedule/stream_memory.h).
  void FindSharedBuffers() {
    position_ = run_.begin;
    const int n = num_devices_;
    for (size_t c = 0; c < p_.classes.size(); ++c) {
      const LaneProgram::SharedClass& shared = p_.classes[c];
      if (shared.root < 0) continue;  // a graph input: resident
      std::uint32_t* last_use = run_.last_use + c * n * kLanes;
      const LaneProgram::SharedItem& root = p_.shared_items[shared.root];
      const Word* home = OnDevice(root.producer);
      Word read[kMostDevices], pinned[kMostDevices];
      for (int d = 0; d < n; ++d) {
        read[d] = 0;
        pinned[d] = shared.pinned ? home[d] : Word{0};
        Store(last_use, d, I::MaxIf(I::Zero(), I::ToMask(home[d]), I::Set(root.position + 1)));
      }
      for (int entry = root.entry_begin; entry < root.entry_end; ++entry) {
        const Word* reader = OnDevice(p_.entries[entry].group);
        for (int d = 0; d < n; ++d) {
          read[d] |= reader[d];
          Extend(last_use, d, reader[d], I::Set(p_.entries[entry].position + 1));
        }
      }
      for (int i = shared.item_begin; i < shared.item_end; ++i) {
        const LaneProgram::SharedItem& item = p_.shared_items[i];
        const Word* made = OnDevice(item.producer);
        const Word moved = i == shared.root ? Word{0} : Both(made, read);
        V last = I::Set(item.position + 1);
        for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
          const Word local = Both(made, OnDevice(p_.entries[entry].group));
          last = I::MaxIf(last, I::ToMask(local), I::Set(p_.entries[entry].position + 1));
        }
        Word* storage = static_cast<Word*>(run_.storage) + i * n;
        for (int d = 0; d < n; ++d) {
          storage[d] = (made[d] & moved) | (home[d] & static_cast<Word>(~moved));
          Extend(last_use, d, storage[d], last);
          if (item.pins) pinned[d] |= storage[d];
        }
      }
      for (int d = 0; d < n; ++d) {
        Store(last_use, d, I::Select(I::ToMask(pinned[d]), I::Zero(), Load(last_use, d)));
      }
    }
  }
  static void Extend(std::uint32_t* last_use, int d, Word lanes, V position) {
    Store(last_use, d, I::MaxIf(Load(last_use, d), I::ToMask(lanes), position));
  }

  // The op in hand makes or reads an item of an alias class.
  // @param local  lanes in which the item was made on the op's device
  // @param last   lanes in which no later op on this device reads the item
  void ReleaseShared(const LaneProgram::Item& item, Word local, Word last) {
    const int n = num_devices_;
    const LaneProgram::SharedItem& shared = p_.shared_items[item.shared];
    const LaneProgram::SharedClass& of_class = p_.classes[shared.of_class];
    const bool is_root = of_class.root == item.shared;
    if (!is_root) {  // the received copy of an alias is a buffer of its own
      released_ = I::AddIf(
          released_, I::ToMask(last & static_cast<Word>(~local)), Bytes::Set(item.bytes));
    }
    if (of_class.root < 0) return;
    const Word* home = OnDevice(p_.shared_items[of_class.root].producer);
    const Word* storage = static_cast<const Word*>(run_.storage) + item.shared * n;
    std::uint32_t* last_use = run_.last_use + shared.of_class * n * kLanes;
    const V now = I::Set(position_ + 1);
    for (int d = 0; d < n; ++d) {
      const Word lanes = is_root ? own_[d] : static_cast<Word>(storage[d] & local);
      if (lanes == 0) continue;
      const V use = Load(last_use, d);
      const M over = I::And(I::ToMask(lanes), I::Equal(use, now));
      Store(last_use, d, I::Select(over, I::Zero(), use));
      auto* used = Used() + d * kLanes;
      auto left = Bytes::Load(used);
      const M at_home = I::ToMask(home[d]);
      const M elsewhere = I::ToMask(static_cast<Word>(~home[d]));
      left = I::SubIf(left, I::And(over, at_home), Bytes::Set(of_class.held));
      left = I::SubIf(left, I::And(over, elsewhere), Bytes::Set(of_class.bytes));
      Bytes::Store(used, left);
    }
  }

  const LaneProgram& p_;
  const LaneRun run_;
  const int num_devices_;
  const Word* on_device_;
  // Of the op in hand.
  const Word* own_ = nullptr;  // [num_devices] lanes in which it is there
  M here_[kMostDevices];       // the same
  V slot_[kGeneral ? kMostDevices : 1];
  V device_, finish_;
  V host_, latest_;
  struct Nothing {};
  template <class B, bool kCounts>
  struct Released {
    using Type = Nothing;
  };
  template <class B>
  struct Released<B, true> {
    using Type = typename B::B;
  };
  typename Released<Bytes, Bytes::kCounts>::Type released_;  // on the op's device
  int position_ = 0;
};

/// LaneKernel::pass.
template <class I>
void RunLanePass(const LaneProgram& program, const LaneRun& run) {
  const auto with = [&]<template <class> class Bytes>() {
    const int n = program.num_devices;
    if (program.general || n > I::kTable || program.num_rates > I::kTable) {
      LanePass<I, Bytes, true, 0>(program, run).Run();
    } else if (n == 4) {
      LanePass<I, Bytes, false, 4>(program, run).Run();
    } else {
      LanePass<I, Bytes, false, 0>(program, run).Run();
    }
  };
  switch (program.memory) {
    case LaneMemory::kNone: return with.template operator()<NoBytes>();
    case LaneMemory::k32: return with.template operator()<Bytes32>();
    case LaneMemory::k64: return with.template operator()<Bytes64>();
  }
}

}  // namespace emplace

#pragma once

// The times at which slots of devices and channels are free, in every lane of a pass (lane_pass.h):
// in registers for the machines that LanePass is specialised for, else in LaneRun. For any
// instruction set; only the sources of the kernels include this file, below their target pragma.

#include <cstdint>

#include "simulator/lanes/lane_kernel.h"

namespace emplace {

/// @tparam kDevices   number of devices with one slot each, kept in registers; 0: any number of
///   devices and slots, in memory
/// @tparam kChannels  largest number of rows of LaneRun::channel_free that are kept in registers;
///   0: any number, in memory
template <class I, int kDevices, int kChannels>
class LaneServers {
  using V = typename I::V;
  using M = typename I::M;

 public:
  static constexpr bool kInRegisters = kDevices > 0, kChannelsInRegisters = kChannels > 0;
  /// Every pair of devices has its own channel (LaneProgram::matrix). The channels of each lane's
  /// source are then selected before an op first sends, and have the rows 0 .. kDevices - 1 by
  /// destination.
  static constexpr bool kMatrix = kChannelsInRegisters && kChannels == kDevices * kDevices;

  LaneServers(const LaneProgram& program, const LaneRun& run) : p_(program), run_(run) {}

  /// Reads the times from LaneRun, or sets them to 0 for a pass from the beginning.
  void Load() {
    if (run_.begin == 0) {
      for (int s = 0; s < p_.num_slots; ++s) StoreRow(run_.slot_free, s, I::Zero());
      for (int k = 0; k < p_.num_channel_rows; ++k) StoreRow(run_.channel_free, k, I::Zero());
    }
    for (int d = 0; d < kDevices; ++d) slot_free_[d] = LoadRow(run_.slot_free, d);
    for (int k = 0; k < kChannels; ++k) {
      channel_free_[k] = k < p_.num_channel_rows ? LoadRow(run_.channel_free, k) : I::Zero();
    }
  }
  /// Writes the times to LaneRun.
  void Store() const {
    for (int d = 0; d < kDevices; ++d) StoreRow(run_.slot_free, d, slot_free_[d]);
    for (int k = 0; k < kChannels; ++k) {
      if (k < p_.num_channel_rows) StoreRow(run_.channel_free, k, channel_free_[k]);
    }
  }
  /// Returns the time at which the last of all servers is free, from LaneRun.
  V LatestFree() const {
    V latest = I::Zero();
    for (int s = 0; s < p_.num_slots; ++s) latest = I::Max(latest, LoadRow(run_.slot_free, s));
    for (int k = 0; k < p_.num_channel_rows; ++k) {
      latest = I::Max(latest, LoadRow(run_.channel_free, k));
    }
    return latest;
  }

  /// Returns the time at which a device with one slot is free.
  V SlotFree(int d) const {
    if constexpr (kInRegisters) return slot_free_[d];
    return LoadRow(run_.slot_free, d);
  }
  void SetSlotFree(int d, V free) {
    if constexpr (kInRegisters) {
      slot_free_[d] = free;
    } else {
      StoreRow(run_.slot_free, d, free);
    }
  }
  /// Selects the channels from a source, if kMatrix, unless they are selected.
  /// @param here  [kDevices] lanes by source
  void SelectChannels(const M* here) {
    if (!kMatrix || selected_) return;
    selected_ = true;
    for (int to = 0; to < kDevices; ++to) {
      V free = I::Zero();
      for (int from = 0; from < kDevices; ++from) {
        if (from != to) free = I::MaxIf(free, here[from], channel_free_[to * kDevices + from]);
      }
      from_here_[to] = free;
    }
  }
  /// Notes when the selected channels are free, if any are.
  void ReturnChannels(const M* here) {
    if (!kMatrix || !selected_) return;
    selected_ = false;
    for (int to = 0; to < kDevices; ++to) {
      for (int from = 0; from < kDevices; ++from) {
        if (from == to) continue;
        V& free = channel_free_[to * kDevices + from];
        free = I::Select(here[from], from_here_[to], free);
      }
    }
  }
  /// @param row  row of the channel
  V ChannelFree(int row) const {
    if constexpr (kMatrix) return from_here_[row];
    if constexpr (kChannelsInRegisters) return channel_free_[row];
    return LoadRow(run_.channel_free, row);
  }
  void SetChannelFree(int row, V free) {
    if constexpr (kMatrix) {
      from_here_[row] = free;
    } else if constexpr (kChannelsInRegisters) {
      channel_free_[row] = free;
    } else {
      StoreRow(run_.channel_free, row, free);
    }
  }

  /// Returns the time at which the first slot of a device of any number of slots is free.
  /// @param number  out: the slot, the least one on ties
  V FirstFree(int d, V& number) const {
    int s = p_.slot_begin[d + 1] - 1;
    V least = LoadRow(run_.slot_free, s);
    number = I::Set(s);
    while (s-- > p_.slot_begin[d]) {
      const V free = LoadRow(run_.slot_free, s);
      const M earlier = I::AtMost(free, least);
      least = I::Select(earlier, free, least);
      number = I::Select(earlier, I::Set(s), number);
    }
    return least;
  }
  /// Takes that slot until a time in some lanes.
  void Occupy(int d, V number, M lanes, V until) {
    for (int s = p_.slot_begin[d]; s < p_.slot_begin[d + 1]; ++s) {
      const M taken = I::And(lanes, I::Equal(number, I::Set(s)));
      StoreRow(run_.slot_free, s, I::Select(taken, until, LoadRow(run_.slot_free, s)));
    }
  }

 private:
  static V LoadRow(const std::uint32_t* rows, int row) { return I::Load(rows + row * I::kLanes); }
  static void StoreRow(std::uint32_t* rows, int row, V x) { I::Store(rows + row * I::kLanes, x); }

  const LaneProgram& p_;
  const LaneRun run_;
  V slot_free_[kInRegisters ? kDevices : 1];
  V channel_free_[kChannelsInRegisters ? kChannels : 1];
  V from_here_[kMatrix ? kDevices : 1];
  bool selected_ = false;
};

}  // namespace emplace

#pragma once

// The facts about memory that are known before a pass: the resident bytes, and the last uses of
// buffers that aliases share (simulator/README.md, "Memory"). For any instruction set; only the
// sources of the kernels include this file, below their target pragma.

#include <cstdint>
#include <span>

#include "simulator/lanes/lane_kernel.h"
#include "simulator/lanes/lane_words.h"

namespace emplace {

/// LaneKernel::add_residents.
template <class I, template <class> class BytesOf>
class LaneResidents {
  using Word = typename I::Word;
  using Rows = WordRows<Word, 0>;
  using Bytes = BytesOf<I>;
  static constexpr int kLanes = I::kLanes;

 public:
  LaneResidents(const LaneProgram& program, const LaneRun& run)
      : p_(program), run_(run), rows_(program.num_devices, run.on_device) {}

  void Add() const {
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

 private:
  const LaneProgram& p_;
  const LaneRun& run_;
  const Rows rows_;
};

/// LaneKernel::find_last_uses: finds the last op that makes or reads a tensor in a buffer
/// (framework/schedule/stream_memory.h).
/// @tparam kDevices  the number of devices, or 0: any
template <class I, int kDevices>
class LaneLastUses {
  using V = typename I::V;
  using M = typename I::M;
  static constexpr int kLanes = I::kLanes;

 public:
  LaneLastUses(const LaneProgram& program, const LaneRun& run)
      : p_(program), run_(run), num_devices_(kDevices > 0 ? kDevices : program.num_devices) {}

  void Find(int c) const {
    const int n = kDevices > 0 ? kDevices : num_devices_;
    const LaneProgram::SharedClass& shared = p_.classes[c];
    const LaneProgram::SharedItem& root = p_.shared_items[shared.item_begin];
    const V home = DeviceOf(shared.producer), never = I::Set(kNeverReleased);
    V last_use[kDevices > 0 ? kDevices : kMaxDevices];
    for (int d = 0; d < n; ++d) last_use[d] = I::Zero();
    const auto extend = [&](V device, V position) {
      for (int d = 0; d < n; ++d) {
        last_use[d] = I::MaxIf(last_use[d], I::Equal(device, I::Set(d)), position);
      }
    };
    if (shared.pinned) extend(home, never);
    for (int entry = root.entry_begin; entry < root.entry_end; ++entry) {
      extend(DeviceOf(p_.entry_group[entry]), I::Set(p_.entry_position[entry] + 1));
    }
    for (int i = shared.item_begin; i < shared.item_end; ++i) {
      const LaneProgram::SharedItem& item = p_.shared_items[i];
      const V made = DeviceOf(item.producer);
      V last = I::Set(item.position + 1);
      for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
        const M local = I::Equal(made, DeviceOf(p_.entry_group[entry]));
        last = I::MaxIf(last, local, I::Set(p_.entry_position[entry] + 1));
      }
      // An alias lives where it is made if the root is received there, else on the root's device.
      V lives = home;
      for (int entry = root.entry_begin; entry < root.entry_end && i > shared.item_begin; ++entry) {
        lives = I::Select(I::Equal(made, DeviceOf(p_.entry_group[entry])), made, lives);
      }
      extend(lives, item.pins ? never : last);
    }
    for (int d = 0; d < n; ++d) I::Store(run_.last_use + (c * n + d) * kLanes, last_use[d]);
  }

 private:
  V DeviceOf(int group) const { return I::FromBytes(run_.devices + group * kLanes); }

  const LaneProgram& p_;
  const LaneRun run_;
  const int num_devices_;
};

template <class I>
void AddLaneResidents(const LaneProgram& program, const LaneRun& run) {
  if (program.memory == LaneMemory::k32) LaneResidents<I, Bytes32>(program, run).Add();
  if (program.memory == LaneMemory::k64) LaneResidents<I, Bytes64>(program, run).Add();
}

template <class I>
void FindLaneLastUses(const LaneProgram& program,
                      const LaneRun& run,
                      std::span<const std::int32_t> classes) {
  const auto with = [&]<int kDevices>() {
    const LaneLastUses<I, kDevices> uses(program, run);
    for (const std::int32_t c : classes) uses.Find(c);
  };
  switch (program.num_devices) {
    case 2:
      return with.template operator()<2>();
    case 3:
      return with.template operator()<3>();
    case 4:
      return with.template operator()<4>();
    case 5:
      return with.template operator()<5>();
    default:
      return with.template operator()<0>();
  }
}

}  // namespace emplace

#pragma once

// The memory of a pass (lane_pass.h), by issue order: bytes in use and their peak so far, for every
// device in every lane. For any instruction set; only the sources of the kernels include this file,
// below their target pragma.

#include <cstdint>

#include "simulator/lanes/lane_kernel.h"
#include "simulator/lanes/lane_words.h"

namespace emplace {

/// The current op. @tparam kMost  largest number of devices
template <class I, int kMost>
struct LaneOp {
  const std::uint64_t* own = nullptr;  ///< row: the lanes in which it is on each device
  typename I::M here[kMost];           ///< [num_devices] the same
  typename I::V device, finish;
};

/// @tparam BytesOf   Bytes32 or Bytes64
/// @tparam kDevices  the number of devices, kept in registers; 0: any number, kept in memory
template <class I, template <class> class BytesOf, int kDevices>
class LaneBytes {
  using V = typename I::V;
  using M = typename I::M;
  using Word = typename I::Word;
  using Bytes = BytesOf<I>;
  using B = typename Bytes::B;
  using Rows = WordRows<Word, kDevices>;
  using Op = LaneOp<I, kDevices == 0 ? kMaxDevices : kDevices>;
  static constexpr int kLanes = I::kLanes;
  static constexpr bool kInRegisters = kDevices > 0;

 public:
  LaneBytes(const LaneProgram& program, const LaneRun& run, const Rows& rows)
      : p_(program),
        run_(run),
        rows_(rows),
        own_bytes_(program.own_bytes.data()),
        workspace_(program.workspace.data()),
        items_(program.items.data()),
        releases_(program.releases.data()),
        reader_group_(program.entry_group.data()),
        touched_(program.touched.data()) {}

  /// Reads the state from LaneRun, or sets it to 0 for a pass from the beginning.
  void Load() {
    for (int d = 0; d < NumDevices(); ++d) {
      if constexpr (kInRegisters) {
        used_[d] = run_.begin == 0 ? Bytes::Set(0) : Bytes::Load(At(run_.used, d));
        peak_[d] = run_.begin == 0 ? Bytes::Set(0) : Bytes::Load(At(run_.peak, d));
      } else if (run_.begin == 0) {
        Bytes::Store(At(run_.used, d), Bytes::Set(0));
        Bytes::Store(At(run_.peak, d), Bytes::Set(0));
      }
    }
  }
  /// Writes the state to LaneRun.
  void Store() const {
    for (int d = 0; d < NumDevices() && kInRegisters; ++d) {
      Bytes::Store(At(run_.used, d), used_[d]);
      Bytes::Store(At(run_.peak, d), peak_[d]);
    }
  }

  /// Begins an op: allocates its outputs and workspace, and updates the peak. The bytes that it
  /// leaves in use on its device are added up until Release().
  void Allocate(const Op& op, int position) {
    const std::int64_t own = own_bytes_[position], taken = own + workspace_[position];
    change_ = Bytes::Set(own);
    if (taken == 0) return;
    const B bytes = Bytes::Set(taken);
    for (int d = 0; d < NumDevices(); ++d) {
      SetPeak(d, I::MaxIf(Peak(d), op.here[d], I::Add(Used(d), bytes)));
    }
  }

  /// Allocates a received copy on device `d` in some lanes.
  void Receive(int d, M lanes, B bytes) {
    const B with = I::AddIf(Used(d), lanes, bytes);
    SetUsed(d, with);
    SetPeak(d, I::MaxIf(Peak(d), lanes, with));
  }

  /// Releases an item that the current op has made and no op on its device reads.
  void ReleaseOwn(M lanes, std::int64_t bytes) {
    change_ = I::SubIf(change_, lanes, Bytes::Set(bytes));
  }

  /// Frees the buffers whose last user is the op.
  void Release(const Op& in_hand,
               const LaneProgram::Op& op,
               const LaneProgram::Op& next,
               int position) {
    for (int r = op.release_begin; r < next.release_begin; ++r) {
      const LaneProgram::Item& item = items_[releases_[r].item];
      const M last = IsLast(in_hand, item, releases_[r].entry);
      if (item.released_bytes == item.bytes) {  // the own buffer and a copy have the same size
        change_ = I::SubIf(change_, last, Bytes::Set(item.bytes));
        continue;
      }
      const V producer = DeviceOf(item.producer);
      if (item.released_bytes > 0) {
        change_ = I::SubIf(change_,
                           I::And(last, I::Equal(producer, in_hand.device)),
                           Bytes::Set(item.released_bytes));
      }
      change_ = I::SubIf(
          change_, I::And(last, I::NotEqual(producer, in_hand.device)), Bytes::Set(item.bytes));
    }
    for (int d = 0; d < NumDevices(); ++d) {
      SetUsed(d, I::AddIf(Used(d), in_hand.here[d], change_));
    }
    for (int i = op.class_begin; i < next.class_begin; ++i) ReleaseShared(touched_[i], position);
  }

 private:
  int NumDevices() const { return kInRegisters ? kDevices : p_.num_devices; }
  static auto* At(void* rows, int d) {
    return static_cast<typename Bytes::Number*>(rows) + d * kLanes;
  }
  B Used(int d) const {
    if constexpr (kInRegisters) return used_[d];
    return Bytes::Load(At(run_.used, d));
  }
  void SetUsed(int d, B bytes) {
    if constexpr (kInRegisters) {
      used_[d] = bytes;
    } else {
      Bytes::Store(At(run_.used, d), bytes);
    }
  }
  B Peak(int d) const {
    if constexpr (kInRegisters) return peak_[d];
    return Bytes::Load(At(run_.peak, d));
  }
  void SetPeak(int d, B bytes) {
    if constexpr (kInRegisters) {
      peak_[d] = bytes;
    } else {
      Bytes::Store(At(run_.peak, d), bytes);
    }
  }
  V DeviceOf(int group) const { return I::FromBytes(run_.devices + group * kLanes); }

  // Returns the lanes in which no later reader of an item is on the device of the current op.
  M IsLast(const Op& in_hand, const LaneProgram::Item& item, int entry) const {
    if (LaneProgram::HasRow(item, entry)) {
      const auto* later = static_cast<const std::uint64_t*>(run_.later) + entry * rows_.NumChunks();
      return I::ToMask(static_cast<Word>(~rows_.Both(in_hand.own, later)));
    }
    M last = I::ToMask(static_cast<Word>(~Word{0}));
    for (int e = entry + 1; e < item.entry_end; ++e) {
      last = I::And(last, I::NotEqual(DeviceOf(reader_group_[e]), in_hand.device));
    }
    return last;
  }

  // Frees the buffers of an alias class whose last user is the current op, on any device.
  void ReleaseShared(int c, int position) {
    const LaneProgram::SharedClass& shared = p_.classes[c];
    const V home = DeviceOf(shared.producer);
    const std::uint32_t* last_use = run_.last_use + c * NumDevices() * kLanes;
    const V now = I::Set(position + 1);
    const B held = Bytes::Set(shared.held), copied = Bytes::Set(shared.bytes);
    for (int d = 0; d < NumDevices(); ++d) {
      const M over = I::Equal(I::Load(last_use + d * kLanes), now);
      const B left = I::SubIf(Used(d), I::And(over, I::Equal(home, I::Set(d))), held);
      SetUsed(d, I::SubIf(left, I::And(over, I::NotEqual(home, I::Set(d))), copied));
    }
  }

  const LaneProgram& p_;
  const LaneRun run_;
  const Rows rows_;
  const std::int64_t *const own_bytes_, *const workspace_;
  const LaneProgram::Item* const items_;
  const LaneProgram::Release* const releases_;
  const std::int32_t *const reader_group_, *const touched_;
  B used_[kInRegisters ? kDevices : 1], peak_[kInRegisters ? kDevices : 1];
  B change_;  // of the bytes in use on the op's device
};

}  // namespace emplace

#include "simulator/lanes/lane_moves.h"

#include <algorithm>
#include <cstring>

namespace emplace {
namespace {

// More snapshots cost memory and save ops: on average half the distance between two of them.
constexpr size_t kMostSnapshots = 24;
constexpr size_t kMostSnapshotBytes = size_t{16} << 20;

}  // namespace

LaneMoves::LaneMoves(const LaneProgram& program, const LaneKernel& kernel)
    : buffers_(program, kernel), is_moved_(program.num_groups, 0) {
  const size_t affordable = kMostSnapshotBytes / std::max<size_t>(1, buffers_.state_bytes());
  const auto count = static_cast<std::int64_t>(
      std::clamp<size_t>(affordable, 1, std::min<size_t>(kMostSnapshots, program.num_ops)));
  for (std::int64_t i = 0; i < count; ++i) {
    positions_.push_back(static_cast<int>(i * program.num_ops / count));
  }
  snapshots_.resize((count - 1) * buffers_.state_bytes());
}

// Sets the device of a group in one lane.
void LaneMoves::Place(int group, int lane, std::uint8_t device) {
  const LaneKernel& kernel = buffers_.kernel();
  std::uint8_t& at = buffers_.devices()[group * kernel.lanes + lane];
  std::byte* bits =
      buffers_.on_device() + group * kernel.row_bytes(buffers_.program().num_devices) + lane / 8;
  const std::byte bit{static_cast<unsigned char>(1u << lane % 8)};
  bits[at * kernel.word_bytes] &= ~bit;
  bits[device * kernel.word_bytes] |= bit;
  at = device;
}

void LaneMoves::PlaceInAll(int group, std::uint8_t device) {
  const LaneKernel& kernel = buffers_.kernel();
  const int row_bytes = kernel.row_bytes(buffers_.program().num_devices);
  std::byte* row = buffers_.on_device() + group * row_bytes;
  std::memset(row, 0, row_bytes);
  std::memset(row + device * kernel.word_bytes, 255, kernel.word_bytes);
  std::memset(buffers_.devices() + group * kernel.lanes, device, kernel.lanes);
}

void LaneMoves::SetBase(std::span<const std::uint8_t> base, bool busy_wanted) {
  const LaneProgram& program = buffers_.program();
  int first = program.num_ops;
  moved_.clear();
  const bool anew = base_.empty() || (busy_wanted && !base_has_busy_);
  for (int group = 0; group < program.num_groups; ++group) {
    if (!anew && base_[group] == base[group]) continue;
    first = std::min(first, program.first_effect[group]);
    moved_.push_back(group);
    PlaceInAll(group, base[group]);
  }
  if (moved_.empty()) return;
  base_.assign(base.begin(), base.end());
  base_in_use_ = 0;
  for (const std::uint8_t device : base_) base_in_use_ |= std::uint64_t{1} << device;
  buffers_.run().in_use = base_in_use_;
  base_has_busy_ = busy_wanted;
  buffers_.run().busy_wanted = busy_wanted;
  FindLastUses(moved_);
  PassOverBase(anew ? 0 : SnapshotBefore(first));
}

int LaneMoves::SnapshotBefore(int position) const {
  const auto behind = std::upper_bound(positions_.begin(), positions_.end(), position);
  return static_cast<int>(behind - positions_.begin()) - 1;
}

void LaneMoves::Restore(int snapshot) {
  const size_t bytes = buffers_.state_bytes();
  if (snapshot == 0) return;  // the pass itself clears the state
  std::memcpy(buffers_.state(), snapshots_.data() + (snapshot - 1) * bytes, bytes);
}

void LaneMoves::PassOverBase(int snapshot) {
  LaneRun& run = buffers_.run();
  const size_t bytes = buffers_.state_bytes();
  Restore(snapshot);
  for (int i = snapshot; i < num_snapshots(); ++i) {
    const bool last = i + 1 == num_snapshots();
    if (last && buffers_.program().memory == LaneMemory::kNone) return;
    run.begin = positions_[i];
    run.end = last ? buffers_.program().num_ops : positions_[i + 1];
    // The last part only serves to fill `later`.
    buffers_.Pass();
    if (!last) std::memcpy(snapshots_.data() + i * bytes, buffers_.state(), bytes);
  }
}

int LaneMoves::SnapshotFor(std::span<const Move> moves) const {
  int first = buffers_.program().num_ops;
  for (const Move& move : moves) {
    if (base_[move.group] == move.device) continue;
    first = std::min(first, buffers_.program().first_effect[move.group]);
  }
  return SnapshotBefore(first);
}

void LaneMoves::MoveInLane(int lane, Move move) {
  if (!is_moved_[move.group]) moved_.push_back(move.group);
  is_moved_[move.group] = 1;
  Place(move.group, lane, move.device);
}

// Finds the devices that have later readers of an item, as a pass leaves them in LaneRun::later.
void LaneMoves::FindLater(int item) {
  const LaneProgram& program = buffers_.program();
  const int row_bytes = buffers_.kernel().row_bytes(program.num_devices);
  auto* later = static_cast<std::byte*>(buffers_.run().later);
  const LaneProgram::Item& of = program.items[item];
  for (int entry = of.entry_end - 1; entry >= of.entry_begin; --entry) {
    std::byte* row = later + entry * row_bytes;
    if (entry + 1 == of.entry_end) {
      std::memset(row, 0, row_bytes);
      continue;
    }
    const std::byte* reader = buffers_.on_device() + program.entry_group[entry + 1] * row_bytes;
    for (int i = 0; i < row_bytes; ++i) row[i] = row[i + row_bytes] | reader[i];
  }
}

void LaneMoves::FindLastUses(std::span<const int> groups) {
  const LaneProgram& program = buffers_.program();
  if (!program.has_aliases) return;
  classes_.clear();
  for (const int group : groups) {
    for (int i = program.group_class_begin[group]; i < program.group_class_begin[group + 1]; ++i) {
      classes_.push_back(program.group_classes[i]);
    }
  }
  std::sort(classes_.begin(), classes_.end());
  classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
  buffers_.kernel().find_last_uses(program, buffers_.run(), classes_);
}

void LaneMoves::Run(const Neighbors& neighbors, std::span<const int> which, int snapshot) {
  const LaneProgram& program = buffers_.program();
  LaneRun& run = buffers_.run();
  moved_.clear();
  for (size_t lane = 0; lane < which.size(); ++lane) {
    for (const Move& move : neighbors.of(which[lane])) MoveInLane(static_cast<int>(lane), move);
  }
  if (program.memory != LaneMemory::kNone) buffers_.kernel().add_residents(program, run);
  FindLastUses(moved_);
  run.in_use = base_in_use_;
  for (const int i : which) {
    for (const Move& move : neighbors.of(i)) run.in_use |= std::uint64_t{1} << move.device;
  }
  run.begin = positions_[snapshot];
  run.end = program.num_ops;
  Restore(snapshot);
  buffers_.Pass();
  UndoMoves();
}

void LaneMoves::UndoMoves() {
  const LaneProgram& program = buffers_.program();
  for (const int group : moved_) {
    is_moved_[group] = 0;
    PlaceInAll(group, base_[group]);
  }
  if (program.memory == LaneMemory::kNone) return;
  for (const int group : moved_) {
    for (int i = program.group_item_begin[group]; i < program.group_item_begin[group + 1]; ++i) {
      FindLater(program.group_items[i]);
    }
  }
  FindLastUses(moved_);
}

}  // namespace emplace

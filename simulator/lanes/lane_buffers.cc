#include "simulator/lanes/lane_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kAlignment = 64;

// Times from which on they are made smaller [ns].
constexpr std::uint32_t kLarge = std::uint32_t{1} << 30;

// Places arrays one behind the other: once to add up how much they need, once to give them out.
class Layout {
 public:
  explicit Layout(std::byte* memory) : memory_(memory) {}
  template <class T>
  void Add(T*& array, size_t count, size_t bytes_each) {
    if (memory_ != nullptr) array = reinterpret_cast<T*>(memory_ + size_);
    size_ += (count * bytes_each + kAlignment - 1) / kAlignment * kAlignment;
  }
  size_t size() const { return size_; }

 private:
  std::byte* memory_;
  size_t size_ = 0;
};

}  // namespace

LaneBuffers::LaneBuffers(const LaneProgram& program, const LaneKernel& kernel)
    : program_(program), kernel_(kernel) {
  const LaneProgram& p = program_;
  const size_t lanes = kernel_.lanes, numbers = lanes * sizeof(std::uint32_t);
  const size_t bytes = lanes * sizeof(std::uint64_t), words = kernel_.row_bytes(p.num_devices);
  const auto place = [&](Layout layout) {
    layout.Add(state_, 0, 1);
    const size_t before = layout.size();
    layout.Add(run_.slot_free, p.num_slots, numbers);
    layout.Add(run_.channel_free, p.num_channel_rows, numbers);
    layout.Add(run_.host, 1, numbers);
    layout.Add(run_.latest, 1, numbers);
    layout.Add(run_.busy, p.num_devices, numbers);
    layout.Add(run_.used, p.num_devices, bytes);
    layout.Add(run_.peak, p.num_devices, bytes);
    layout.Add(run_.rows, p.num_rows, numbers);
    layout.Add(run_.rebased, 1, numbers);
    layout.Add(run_.wrong, 1, numbers);
    layout.Add(taken_, lanes, sizeof(Nanos));
    layout.Add(busy_before_, p.num_devices * lanes, sizeof(Nanos));
    state_bytes_ = layout.size() - before;
    layout.Add(devices_, p.num_groups, lanes);
    layout.Add(on_device_, p.num_groups, words);
    layout.Add(run_.resident, p.num_devices, bytes);
    layout.Add(run_.later, p.entry_group.size(), words);
    layout.Add(run_.last_use, p.classes.size() * p.num_devices, numbers);
    layout.Add(run_.broadcast_arrival, p.num_channels, numbers);
    layout.Add(run_.broadcast_done, p.num_channels, kernel_.word_bytes);
    return layout.size();
  };
  const size_t size = place(Layout(nullptr));
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, size);
  place(Layout(memory_.get()));
  run_.devices = devices_;
  run_.on_device = on_device_;
  run_.end = p.num_ops;
}

void LaneBuffers::AddResident(int lane, int d, std::int64_t bytes) {
  const int at = d * kernel_.lanes + lane;
  if (program_.memory == LaneMemory::k32) {
    static_cast<std::uint32_t*>(run_.resident)[at] += static_cast<std::uint32_t>(bytes);
  } else {
    static_cast<std::uint64_t*>(run_.resident)[at] += static_cast<std::uint64_t>(bytes);
  }
}

void LaneBuffers::Pass() {
  constexpr int kDistance = LaneProgram::kRebaseDistance;
  const int lanes = kernel_.lanes, end = run_.end;
  if (run_.begin == 0) {
    std::fill_n(taken_, lanes, 0);
    std::fill_n(busy_before_, program_.num_devices * lanes, 0);
  }
  while (run_.begin < end) {
    if (run_.begin > 0 && run_.begin % kDistance == 0 &&
        *std::max_element(run_.latest, run_.latest + lanes) >= kLarge) {
      Rebase(run_.begin);
    }
    run_.end = std::min(end, (run_.begin / kDistance + 1) * kDistance);
    kernel_.pass(program_, run_);
    run_.begin = run_.end;
  }
}

void LaneBuffers::Rebase(int position) {
  const int lanes = kernel_.lanes, i = position / LaneProgram::kRebaseDistance - 1;
  const auto each_lane = [&](std::uint32_t* row, auto change) {
    for (int lane = 0; lane < lanes; ++lane) change(row[lane], lane);
  };
  std::array<std::uint32_t, kMostLanes> least;
  std::copy_n(run_.latest, lanes, least.begin());
  const auto keep = [&](std::uint32_t& time, int lane) {
    least[lane] = std::min(least[lane], time);
  };
  for (int r = program_.live_begin[i]; r < program_.live_begin[i + 1]; ++r) {
    each_lane(run_.rows + program_.live_rows[r] * lanes, keep);
  }
  if (program_.has_host) each_lane(run_.host, keep);
  // No more than when the first slot is free, if that is enough: then nothing is lost.
  std::array<std::uint32_t, kMostLanes> first_free = least;
  for (int slot = 0; slot < program_.num_slots; ++slot) {
    each_lane(run_.slot_free + slot * lanes, [&](std::uint32_t free, int lane) {
      first_free[lane] = std::min(first_free[lane], free);
    });
  }
  each_lane(run_.latest, [&](std::uint32_t latest, int lane) {
    if (latest >= program_.time_limit) run_.wrong[lane] = 1;
    if (latest - first_free[lane] < kLarge) least[lane] = first_free[lane];
    if (least[lane] > first_free[lane]) run_.rebased[lane] = 1;
    taken_[lane] += least[lane];
  });
  const auto reduce = [&](std::uint32_t* rows, int count) {
    for (int row = 0; row < count; ++row) {
      each_lane(rows + row * lanes, [&](std::uint32_t& time, int lane) {
        time = time > least[lane] ? time - least[lane] : 0;
      });
    }
  };
  reduce(run_.rows, program_.num_rows);
  reduce(run_.slot_free, program_.num_slots);
  reduce(run_.channel_free, program_.num_channel_rows);
  reduce(run_.host, 1);
  reduce(run_.latest, 1);
  if (!run_.busy_wanted) return;
  for (int at = 0; at < program_.num_devices * lanes; ++at) {
    busy_before_[at] += std::exchange(run_.busy[at], 0);
  }
}

}  // namespace emplace

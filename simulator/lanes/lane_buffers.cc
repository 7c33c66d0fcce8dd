#include "simulator/lanes/lane_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kAlignment = 64;
// Before times have grown by more than this, they are looked at and reduced if they are large. [ns]
constexpr std::int64_t kGrowth = 250'000'000;

// Places arrays one after another: first to add up their bytes, then to set their addresses.
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

const LaneKernel* FindLaneKernel(int most_lanes) {
  if (most_lanes >= 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return &kAvx512Kernel;
  }
  if (most_lanes >= 8 && __builtin_cpu_supports("avx2")) return &kAvx2Kernel;
  return nullptr;
}

LaneBuffers::LaneBuffers(const LaneProgram& program, const LaneKernel& kernel)
    : program_(program), kernel_(kernel), in_lane_(kernel.lanes), classes_(program.classes.size()) {
  std::iota(classes_.begin(), classes_.end(), 0);
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

bool LaneBuffers::Run(std::span<const std::uint8_t* const> placements,
                      std::span<const std::uint64_t> allowed,
                      bool busy_wanted) {
  for (size_t lane = 0; lane < in_lane_.size(); ++lane) {
    in_lane_[lane] = placements[lane < placements.size() ? lane : 0];
  }
  if (!kernel_.load(in_lane_, allowed, program_.num_devices, devices_, on_device_, run_.in_use)) {
    return false;
  }
  run_.busy_wanted = busy_wanted;
  if (program_.memory != LaneMemory::kNone) {
    kernel_.add_residents(program_, run_);
    kernel_.find_last_uses(program_, run_, classes_);
  }
  run_.begin = 0;
  run_.end = program_.num_ops;
  Pass();
  return true;
}

void LaneBuffers::Pass() {
  const int lanes = kernel_.lanes, end = run_.end;
  limit_ = program_.TimeLimit(run_.in_use);
  if (run_.begin == 0) {
    std::fill_n(run_.rebased, lanes, 0);
    std::fill_n(run_.latest, lanes, 0);
    std::fill_n(taken_, lanes, 0);
    std::fill_n(busy_before_, program_.num_devices * lanes, 0);
  }
  for (int lane = 0; lane < lanes; ++lane) {  // a snapshot may come from a pass with a larger limit
    if (run_.latest[lane] >= limit_) run_.wrong[lane] = 1;
  }
  while (run_.begin < end) {
    run_.end = run_.begin + 1;
    for (int high = end; run_.end < high;) {  // finds the last end with little growth
      const int middle = high - (high - run_.end) / 2;
      if (program_.Growth(run_.begin, middle, run_.in_use) <= kGrowth) {
        run_.end = middle;
      } else {
        high = middle - 1;
      }
    }
    if (run_.begin > 0) Rebase();  // before, `busy` is that of an earlier pass
    run_.any_rebased = *std::max_element(run_.rebased, run_.rebased + lanes) > 0;
    kernel_.pass(program_, run_);
    run_.begin = run_.end;
  }
}

void LaneBuffers::Rebase() {
  const int lanes = kernel_.lanes;
  const std::uint32_t left = limit_ / 4 * 3;
  // The costs of the ops up to run_.end, and as much again for transfers.
  const std::int64_t growth = 2 * program_.Growth(run_.begin, run_.end, run_.in_use);
  if (*std::max_element(run_.latest, run_.latest + lanes) + growth < limit_) return;
  std::array<std::uint32_t, kMostLanes> taken;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::uint32_t latest = run_.latest[lane];
    if (latest >= limit_) run_.wrong[lane] = 1;
    taken[lane] = latest > left ? latest - left : 0;
    if (program_.has_host) taken[lane] = std::min(taken[lane], run_.host[lane]);
    if (taken[lane] > 0) run_.rebased[lane] = 1;
    taken_[lane] += taken[lane];
  }
  const auto reduce = [&](std::uint32_t* rows, int count) {
    for (int row = 0; row < count; ++row) {
      for (int lane = 0; lane < lanes; ++lane) {
        std::uint32_t& time = rows[row * lanes + lane];
        time = std::max(time, taken[lane]) - taken[lane];
      }
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

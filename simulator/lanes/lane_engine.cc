#include "simulator/lanes/lane_engine.h"

#include <cstring>
#include <new>

namespace emplace {
namespace {

constexpr size_t kAlignment = 64;

// Places arrays one behind the other: first it adds up how much they need, then it gives them out.
class Layout {
 public:
  template <class T>
  void Add(T*& array, size_t bytes) {
    if (memory_ != nullptr) array = reinterpret_cast<T*>(memory_ + size_);
    size_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  template <class T>
  void Add(T*& array, size_t rows, size_t row_bytes) {
    Add(array, rows * row_bytes);
  }
  void Begin(std::byte* memory) {
    memory_ = memory;
    size_ = 0;
  }
  size_t size() const { return size_; }

 private:
  std::byte* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

LaneEngine::LaneEngine(const LaneProgram& program,
                       const LaneKernel& kernel,
                       std::span<const std::uint64_t> allowed)
    : program_(program), kernel_(kernel), allowed_(allowed), rows_(kernel.lanes) {
  const LaneProgram& p = program_;
  const size_t lanes = kernel_.lanes, row = lanes * sizeof(std::uint32_t);
  const size_t words = kernel_.row_bytes(p.num_devices);
  const size_t bytes_row = lanes * sizeof(std::uint64_t);
  Layout layout;
  const auto place = [&] {
    layout.Add(devices_, p.num_groups * lanes);
    layout.Add(on_device_, p.num_groups, words);
    layout.Add(run_.rows, p.num_rows, row);
    layout.Add(run_.slot_free, p.num_slots, row);
    layout.Add(run_.channel_free, p.num_channel_rows, row);
    layout.Add(run_.host, row);
    layout.Add(run_.latest, row);
    layout.Add(run_.busy, p.num_devices, row);
    layout.Add(run_.used, p.num_devices, bytes_row);
    layout.Add(run_.peak, p.num_devices, bytes_row);
    layout.Add(run_.later, p.entry_group.size(), words);
    layout.Add(run_.storage, p.shared_items.size(), words);
    layout.Add(run_.last_use, p.classes.size() * p.num_devices, row);
    layout.Add(run_.broadcast_arrival, p.num_channels, row);
    layout.Add(run_.broadcast_done, p.num_channels, kernel_.word_bytes);
  };
  place();
  const size_t size = layout.size();
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, size);
  layout.Begin(memory_.get());
  place();
  run_.devices = devices_;
  run_.on_device = on_device_;
  latest_ = run_.latest;
  busy_ = run_.busy;
}

bool LaneEngine::Run(std::span<const std::uint8_t* const> placements, bool busy_wanted) {
  for (size_t lane = 0; lane < rows_.size(); ++lane) {
    rows_[lane] = placements[lane < placements.size() ? lane : 0];
  }
  if (kernel_.load(rows_, allowed_, program_.num_devices, devices_, on_device_) != 0) return false;
  run_.busy_wanted = busy_wanted;
  kernel_.pass(program_, run_);
  return true;
}

std::int64_t LaneEngine::peak(int lane, int d) const {
  const int at = d * kernel_.lanes + lane;
  switch (program_.memory) {
    case LaneMemory::k32: return static_cast<const std::uint32_t*>(run_.peak)[at] * program_.unit;
    case LaneMemory::k64:
      return static_cast<std::int64_t>(static_cast<const std::uint64_t*>(run_.peak)[at]) *
             program_.unit;
    case LaneMemory::kNone: break;
  }
  return 0;
}

}  // namespace emplace

#include "simulator/lanes/lane_buffers.h"

#include <cstring>
#include <new>

namespace emplace {
namespace {

constexpr size_t kAlignment = 64;

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

}  // namespace emplace

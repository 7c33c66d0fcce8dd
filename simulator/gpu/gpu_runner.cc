#include "simulator/gpu/gpu_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace emplace {
namespace {

constexpr std::int64_t kWarp = 32;
// Least number of warps that must run at once on a streaming multiprocessor for the state, or also
// the arrivals, to be in shared memory. Estimates: registers allow for 32.
constexpr std::int64_t kWarpsForState = 8, kWarpsForArrivals = 16;
constexpr std::int64_t kMostWarps = 32;
// Shared memory of a block that the system reserves. [B]
constexpr std::int64_t kReservedPerBlock = 1024;

constexpr std::int64_t kMostPlacements = 1 << 17;  // in a launch
constexpr std::int64_t kFewPlacements = 1 << 15;   // least for overlapping copies
constexpr std::int64_t kMostStaging = 1 << 27;     // in a stream's input or output [B]

std::int64_t Aligned(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// Parts of a launch's memory, one after another.
class Parts {
 public:
  explicit Parts(std::byte* memory = nullptr) : memory_(memory) {}
  template <class T>
  T* Next(std::int64_t count) {
    T* const part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += Aligned(count * static_cast<std::int64_t>(sizeof(T)));
    return part;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

// Places the scratch of a launch for `stride` placements. @return bytes
std::int64_t PlaceScratch(std::byte* memory, GpuLaunch& launch) {
  Parts parts(memory);
  const GpuProgram& p = launch.program;
  const std::int64_t stride = launch.stride;
  launch.devices = parts.Next<std::uint8_t>(p.num_groups * stride);
  launch.last_use = parts.Next<std::uint32_t>(std::int64_t{p.num_classes} * p.num_devices * stride);
  if (!launch.state_in_shared) {
    launch.state = parts.Next<std::uint32_t>(launch.layout.words * stride);
  }
  if (!launch.arrivals_in_shared) {
    launch.arrivals = parts.Next<std::uint32_t>(launch.layout.arrivals * stride);
  }
  return parts.bytes();
}

// Places the requested columns of `count` placements. @return bytes
std::int64_t PlaceColumns(std::byte* memory,
                          const OutcomeColumns& wanted,
                          std::int64_t count,
                          GpuLaunch& launch) {
  Parts parts(memory);
  const std::int64_t by_device = count * launch.program.num_devices;
  launch.step_time = parts.Next<Nanos>(count);
  if (!wanted.deficit.empty()) launch.deficit = parts.Next<std::int64_t>(count);
  if (!wanted.peak.empty()) launch.peak = parts.Next<std::int64_t>(by_device);
  if (!wanted.busy.empty()) launch.busy = parts.Next<Nanos>(by_device);
  return parts.bytes();
}

// Copies to rows first, first + 1, ... of a column.
template <class T>
void CopyColumn(const T* from, std::span<T> to, size_t first, size_t count, size_t width) {
  if (!to.empty()) std::memcpy(&to[first * width], from, count * width * sizeof(T));
}

// Returns the most placements of a launch for rows.
std::int64_t MostPlacements(GpuLaunch launch,
                            const OutcomeColumns& wanted,
                            const GpuLimits& limits) {
  launch.stride = kWarp;
  const std::int64_t input = Aligned(kWarp * launch.program.num_groups);
  const std::int64_t output = PlaceColumns(nullptr, wanted, kWarp, launch);
  const std::int64_t all = input + output + PlaceScratch(nullptr, launch);
  // Half of the free memory, divided among the streams; indices within columns have 32 bits.
  const std::int64_t warps =
      std::min({limits.free_memory / 2 / GpuDevice::kStreams / all,
                kMostStaging / std::max(input, output),
                std::numeric_limits<std::int32_t>::max() /
                    (kWarp * std::max(launch.layout.words, launch.layout.arrivals)),
                kMostPlacements / kWarp});
  return std::max<std::int64_t>(warps, 1) * kWarp;
}

// The placements of a call: rows, or neighbours.
class RowBatch {
 public:
  explicit RowBatch(const PlacementRows& rows) : rows_(rows) {}
  size_t size() const { return rows_.num_placements; }
  // Returns the bytes that are copied to the GPU for placements first .. first + count - 1. [B]
  std::int64_t Bytes(size_t, size_t count) const {
    return static_cast<std::int64_t>(count * rows_.num_groups);
  }
  // Writes them to `host`; the launch will find them at `device`.
  void Write(size_t first,
             size_t count,
             std::byte* host,
             std::byte* device,
             GpuLaunch& launch) const {
    std::memcpy(host, rows_.row(first), count * rows_.num_groups);
    launch.rows = reinterpret_cast<const std::uint8_t*>(device);
  }

 private:
  const PlacementRows rows_;
};

// The base is copied to the GPU once per launch, the neighbours as moves of a few bytes each.
class NeighborBatch {
 public:
  explicit NeighborBatch(const Neighbors& neighbors) : neighbors_(neighbors) {}
  size_t size() const { return neighbors_.size(); }
  std::int64_t Bytes(size_t first, size_t count) const {
    GpuLaunch unused;
    return Place(first, count, nullptr, unused);
  }
  void Write(size_t first,
             size_t count,
             std::byte* host,
             std::byte* device,
             GpuLaunch& launch) const {
    Place(first, count, host, launch);
    const auto& base = neighbors_.base.device;
    std::copy(base.begin(), base.end(), const_cast<std::uint8_t*>(launch.base));
    const auto begin = neighbors_.begin.subspan(first, count + 1);
    std::copy(begin.begin(), begin.end(), const_cast<std::int32_t*>(launch.begin));
    const auto moves = neighbors_.moves.subspan(begin[0], begin[count] - begin[0]);
    std::copy(moves.begin(), moves.end(), const_cast<Move*>(launch.moves));
    Place(first, count, device, launch);
  }

 private:
  std::int64_t Place(size_t first, size_t count, std::byte* memory, GpuLaunch& launch) const {
    Parts parts(memory);
    launch.base =
        parts.Next<std::uint8_t>(static_cast<std::int64_t>(neighbors_.base.device.size()));
    launch.begin = parts.Next<std::int32_t>(static_cast<std::int64_t>(count + 1));
    launch.moves = parts.Next<Move>(neighbors_.begin[first + count] - neighbors_.begin[first]);
    return parts.bytes();
  }

  const Neighbors& neighbors_;
};

}  // namespace

GpuBlocks PlanGpuBlocks(const GpuLayout& layout, const GpuLimits& limits) {
  GpuBlocks best{.threads = 128};
  // Returns the threads of a block with which most warps run at once if each thread takes `words`.
  const auto fits = [&](int words, std::int64_t least_warps) {
    std::int64_t most_warps = least_warps - 1;
    for (const int threads : {128, 64, 32}) {
      const std::int64_t bytes = std::int64_t{4} * threads * words;
      if (bytes > limits.shared_per_block) continue;
      const std::int64_t blocks = limits.shared_per_sm / (bytes + kReservedPerBlock);
      const std::int64_t warps = std::min(blocks * threads / kWarp, kMostWarps);
      if (warps <= most_warps) continue;
      most_warps = warps;
      best.threads = threads;
    }
    return most_warps >= least_warps;
  };
  best.arrivals_in_shared = fits(layout.words + layout.arrivals, kWarpsForArrivals);
  best.state_in_shared = best.arrivals_in_shared || fits(layout.words, kWarpsForState);
  return best;
}

GpuRunner::GpuRunner(std::unique_ptr<GpuDevice> device, const GpuTables& tables)
    : device_(std::move(device)), limits_(device_->limits()) {
  const auto bytes = static_cast<std::int64_t>(tables.bytes().size());
  const GpuMemory on_host = device_->AllocateOnHost(bytes);
  std::memcpy(on_host.get(), tables.bytes().data(), tables.bytes().size());
  tables_ = device_->Allocate(bytes);
  device_->CopyIn(0, tables_.get(), on_host.get(), bytes);
  device_->Wait(0);
  program_ = tables.At(tables_.get());
}

template <class Batch>
void GpuRunner::RunAll(const Batch& batch, const OutcomeColumns& outcomes) {
  GpuLaunch plan{.program = program_, .layout = GpuLayout(program_, !outcomes.busy.empty())};
  const GpuBlocks blocks = PlanGpuBlocks(plan.layout, limits_);
  plan.threads = blocks.threads;
  plan.state_in_shared = blocks.state_in_shared;
  plan.arrivals_in_shared = blocks.arrivals_in_shared;
  const std::int64_t most = MostPlacements(plan, outcomes, limits_);
  const std::int64_t quarter = (static_cast<std::int64_t>(batch.size()) + 3) / 4;
  const auto wanted = static_cast<size_t>(std::min(most, std::max(kFewPlacements, quarter)));
  int s = 0;
  size_t count = 0;
  for (size_t first = 0; first < batch.size(); first += count) {
    Finish(s, outcomes);
    count = std::min(wanted, batch.size() - first);
    while (count > 1 && batch.Bytes(first, count) > kMostStaging) count /= 2;
    Stream& stream = streams_[s];
    GpuLaunch launch = plan;
    launch.count = static_cast<std::int32_t>(count);
    launch.stride = static_cast<std::int32_t>((count + kWarp - 1) / kWarp * kWarp);
    const std::int64_t input = batch.Bytes(first, count);
    const std::int64_t output = PlaceColumns(nullptr, outcomes, launch.count, launch);
    const std::int64_t scratch = PlaceScratch(nullptr, launch);
    std::byte* const input_on_host = Reserve(stream.input_on_host, input, true);
    std::byte* const input_on_gpu = Reserve(stream.input, input, false);
    std::byte* const output_on_host = Reserve(stream.output_on_host, output, true);
    std::byte* const output_on_gpu = Reserve(stream.output, output, false);
    PlaceScratch(Reserve(stream.scratch, scratch, false), launch);
    PlaceColumns(output_on_gpu, outcomes, launch.count, launch);
    batch.Write(first, count, input_on_host, input_on_gpu, launch);
    device_->CopyIn(s, input_on_gpu, input_on_host, input);
    device_->Launch(s, launch);
    device_->CopyOut(s, output_on_host, output_on_gpu, output);
    stream.first = first;
    stream.count = count;
    s = (s + 1) % GpuDevice::kStreams;
  }
  for (int i = 0; i < GpuDevice::kStreams; ++i) Finish(i, outcomes);
}

void GpuRunner::Run(const PlacementRows& placements, const OutcomeColumns& outcomes) {
  RunAll(RowBatch(placements), outcomes);
}

void GpuRunner::Run(const Neighbors& neighbors, const OutcomeColumns& outcomes) {
  RunAll(NeighborBatch(neighbors), outcomes);
}

std::byte* GpuRunner::Reserve(Stream::Memory& memory, std::int64_t bytes, bool on_host) {
  if (memory.bytes < bytes) {
    memory = {};  // first, so that the two never exist at once
    memory.memory = on_host ? device_->AllocateOnHost(bytes) : device_->Allocate(bytes);
    memory.bytes = bytes;
  }
  return memory.memory.get();
}

void GpuRunner::Finish(int s, const OutcomeColumns& outcomes) {
  Stream& stream = streams_[s];
  const size_t count = std::exchange(stream.count, 0);
  if (count == 0) return;
  device_->Wait(s);
  GpuLaunch found{.program = program_};
  PlaceColumns(
      stream.output_on_host.memory.get(), outcomes, static_cast<std::int64_t>(count), found);
  const auto num_devices = static_cast<size_t>(program_.num_devices);
  CopyColumn(found.step_time, outcomes.step_time, stream.first, count, 1);
  CopyColumn(found.deficit, outcomes.deficit, stream.first, count, 1);
  CopyColumn(found.peak, outcomes.peak, stream.first, count, num_devices);
  CopyColumn(found.busy, outcomes.busy, stream.first, count, num_devices);
}

}  // namespace emplace

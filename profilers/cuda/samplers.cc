#include "profilers/cuda/samplers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/driver_api.h"
#include "profilers/cuda/probes.h"
#include "profilers/executor/initial_values.h"

namespace emplace::cuda {

class LaunchableOp {
 public:
  std::vector<CudaKernel*> kernels;
  std::vector<Memory> memory;
  std::vector<void*> inputs, outputs;
  Memory scratch;
  cudaStream_t stream = nullptr;
  int gpu = 0;
  Memory flush;  ///< for cold timings; null: warm
  size_t flush_bytes = 0;

  void Enqueue() const {
    for (CudaKernel* kernel : kernels) {
      kernel->Launch(inputs.data(), outputs.data(), scratch.get(), stream);
    }
  }
};

namespace {

using SteadyClock = std::chrono::steady_clock;

double HostNanos(SteadyClock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

/// The most launches that wait for a latch. Streams accept about a thousand before the host must
/// wait, and then the host could not open the latch.
constexpr int kMostLaunches = 256;
/// The most launches of one kernel call, including those of libraries.
constexpr int kLaunchesPerCall = 4;

/// Takes `count` timings [ns] of work on one stream, each between two events.
void TimePieces(cudaStream_t stream,
                int count,
                int launches_per_piece,
                const std::function<void()>& enqueue,
                std::vector<double>& timings) {
  const int most = std::max(1, kMostLaunches / (launches_per_piece + 1));
  std::vector<Event> events;
  while (count > 0) {
    const int pieces = std::min(count, most);
    while (static_cast<int>(events.size()) < pieces + 1) events.push_back(MakeEvent(true));
    {
      Latch latch;
      latch.Close(stream);
      EMPLACE_CUDA_CHECK(cudaEventRecord(events[0].get(), stream));
      for (int i = 0; i < pieces; ++i) {
        enqueue();
        EMPLACE_CUDA_CHECK(cudaEventRecord(events[i + 1].get(), stream));
      }
      latch.Open();
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    for (int i = 0; i < pieces; ++i) {
      timings.push_back(NanosBetween(events[i].get(), events[i + 1].get()));
    }
    count -= pieces;
  }
}

/// Returns the median time of an empty kernel in a series of empty kernels [ns].
double NullKernelNanos(cudaStream_t stream) {
  constexpr int kBatch = 64;
  std::vector<double> timings;
  TimePieces(
      stream,
      5,
      kBatch,
      [&] {
        for (int i = 0; i < kBatch; ++i) LaunchNull(stream);
      },
      timings);
  return Median(std::move(timings)) / kBatch;
}

/// Runs batches until `stop`. Two batches are in flight: one runs while the other is enqueued.
void RunWithoutPause(cudaStream_t stream,
                     const std::atomic<bool>& stop,
                     const std::function<void()>& enqueue) {
  constexpr int kBatch = 4;
  Event done[2] = {MakeEvent(false), MakeEvent(false)};
  for (int turn = 0; !stop; turn = 1 - turn) {
    EMPLACE_CUDA_CHECK(cudaEventSynchronize(done[turn].get()));
    for (int i = 0; i < kBatch; ++i) enqueue();
    EMPLACE_CUDA_CHECK(cudaEventRecord(done[turn].get(), stream));
  }
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

int LaunchesOf(const LaunchableOp& op) {
  return kLaunchesPerCall * static_cast<int>(std::max<size_t>(1, op.kernels.size()));
}

/// Runs an op without pause on its own thread until it is destroyed.
class BusyOp {
 public:
  explicit BusyOp(std::shared_ptr<const LaunchableOp> op)
      : op_(std::move(op)), thread_([this] { Loop(); }) {}
  ~BusyOp() {
    stop_ = true;
    thread_.join();
  }
  BusyOp(const BusyOp&) = delete;
  BusyOp& operator=(const BusyOp&) = delete;
  void CheckAlive() const {
    if (has_failed_) throw RunError("the op that runs concurrently with the timed one failed");
  }

 private:
  void Loop() {
    try {
      SelectGpu(op_->gpu);
      RunWithoutPause(op_->stream, stop_, [this] { op_->Enqueue(); });
    } catch (const std::runtime_error&) {
      has_failed_ = true;
    }
  }

  const std::shared_ptr<const LaunchableOp> op_;
  std::atomic<bool> stop_{false}, has_failed_{false};
  std::thread thread_;
};

}  // namespace

Latch::Latch() {
  // Kept, because the allocation and release of page-locked memory synchronise the GPU.
  thread_local const Memory memory = AllocatePinned(sizeof(Counter), "latch");
  counter_ = reinterpret_cast<Counter*>(memory.get());
  *counter_ = Counter{};
}

Latch::~Latch() {
  Open();
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
}

void Latch::Close(cudaStream_t stream) {
  EMPLACE_DRIVER_CHECK(Driver().StreamWaitValue64(
      stream, reinterpret_cast<CUdeviceptr>(counter_), kFinished, CU_STREAM_WAIT_VALUE_GEQ));
  stream_ = stream;
}

void Latch::Open() {
  SetFinished(*counter_);
}

std::shared_ptr<LaunchableOp> PrepareOp(Devices& devices, const LoneOp& lone) {
  const auto& [device, work, input_bytes, output_bytes, cache] = lone;
  const auto op = std::make_shared<LaunchableOp>();
  Device& where = devices[device];
  op->gpu = *where.gpu;
  op->stream = where.stream.get();
  SelectGpu(op->gpu);
  const OpMemory values = MemoryOf(work, input_bytes, output_bytes);
  for (const InitialValue& value : values.inputs) {
    op->memory.push_back(AllocateOnGpu(value.bytes, where.name));
    op->inputs.push_back(op->memory.back().get());
    if (value.bytes == 0) continue;
    const std::vector<std::byte>& bytes = devices.initial_bytes(value);
    EMPLACE_CUDA_CHECK(
        cudaMemcpy(op->inputs.back(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  for (const InitialValue& value : values.outputs) {
    op->memory.push_back(AllocateOnGpu(value.bytes, where.name));
    op->outputs.push_back(op->memory.back().get());
    // NaN everywhere, so that elements that a kernel does not write do not look like results.
    EMPLACE_CUDA_CHECK(cudaMemset(
        op->outputs.back(), 0xff, static_cast<size_t>(std::max<std::int64_t>(value.bytes, 1))));
  }
  std::int64_t scratch = 0;
  for (const KernelCall& call : work.calls) {
    op->kernels.push_back(devices.gpu_kernel(device, call).kernel.get());
    scratch = std::max(scratch, op->kernels.back()->scratch_bytes());
  }
  Devices::Grow(where.scratch, scratch, where.gpu, where.name);
  op->scratch = where.scratch.memory;
  EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());
  op->Enqueue();
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(op->stream));
  if (cache == CacheState::kCold) {
    int l2_bytes = 0;
    EMPLACE_CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, op->gpu));
    op->flush_bytes = static_cast<size_t>(2) * std::max(l2_bytes, 1 << 20);
    op->flush = AllocateOnGpu(static_cast<std::int64_t>(op->flush_bytes), where.name);
  }
  return op;
}

Sampler MakeAloneSampler(std::shared_ptr<const LaunchableOp> op) {
  if (op->flush) {
    return [op](int count, std::vector<double>& timings) {
      SelectGpu(op->gpu);
      const Event start = MakeEvent(true), end = MakeEvent(true);
      for (int i = 0; i < count; ++i) {
        Latch latch;
        latch.Close(op->stream);
        EMPLACE_CUDA_CHECK(cudaMemsetAsync(op->flush.get(), i & 0xff, op->flush_bytes, op->stream));
        EMPLACE_CUDA_CHECK(cudaEventRecord(start.get(), op->stream));
        op->Enqueue();
        EMPLACE_CUDA_CHECK(cudaEventRecord(end.get(), op->stream));
        latch.Open();
        EMPLACE_CUDA_CHECK(cudaStreamSynchronize(op->stream));
        timings.push_back(NanosBetween(start.get(), end.get()));
      }
    };
  }
  const int launches = LaunchesOf(*op);
  // Short ops run in batches of about 100 us, so that the time of the events is negligible.
  std::vector<double> once;
  TimePieces(
      op->stream, 1, launches, [&] { op->Enqueue(); }, once);
  const int most = std::max(1, kMostLaunches / launches);
  const int batch = std::clamp(static_cast<int>(std::ceil(1e5 / std::max(once[0], 1.0))), 1, most);
  return [op, batch, launches](int count, std::vector<double>& timings) {
    SelectGpu(op->gpu);
    std::vector<double> batches;
    TimePieces(
        op->stream,
        count,
        batch * launches,
        [&] {
          for (int i = 0; i < batch; ++i) op->Enqueue();
        },
        batches);
    for (double nanos : batches) timings.push_back(nanos / batch);
  };
}

Sampler MakeBesideSampler(std::shared_ptr<const LaunchableOp> timed,
                          std::shared_ptr<const LaunchableOp> beside) {
  return [sampler = MakeAloneSampler(std::move(timed)), aggressor = std::move(beside)](
             int count, std::vector<double>& timings) {
    const BusyOp busy(aggressor);
    sampler(count, timings);
    busy.CheckAlive();
  };
}

Sampler MakeDispatchSampler(Devices& devices, int device, DispatchQuantity quantity) {
  Device& where = devices[device];
  const int gpu = *where.gpu;
  SelectGpu(gpu);
  const cudaStream_t stream = where.stream.get();
  LaunchNull(stream);
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));

  switch (quantity) {
    case DispatchQuantity::kNullKernel:
      return [stream, gpu](int count, std::vector<double>& timings) {
        SelectGpu(gpu);
        for (int i = 0; i < count; ++i) timings.push_back(NullKernelNanos(stream));
      };

    case DispatchQuantity::kIssue:
      return [stream, gpu](int count, std::vector<double>& timings) {
        SelectGpu(gpu);
        constexpr int kBatch = 64;
        for (int i = 0; i < count; ++i) {
          const auto start = SteadyClock::now();
          for (int k = 0; k < kBatch; ++k) LaunchNull(stream);
          timings.push_back(HostNanos(SteadyClock::now() - start) / kBatch);
          EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
        }
      };

    case DispatchQuantity::kLaunch: {
      const Memory flag = AllocatePinned(sizeof(Counter), where.name);
      LaunchStamp(reinterpret_cast<std::uint64_t*>(flag.get()), 0, stream);
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
      return [stream, gpu, flag](int count, std::vector<double>& timings) {
        SelectGpu(gpu);
        auto* const value = reinterpret_cast<std::uint64_t*>(flag.get());
        for (int i = 0; i < count; ++i) {
          __atomic_store_n(value, 0, __ATOMIC_RELEASE);
          LaunchStamp(value, 1, stream);
          const auto issued = SteadyClock::now();
          auto seen = SteadyClock::now();
          while (__atomic_load_n(value, __ATOMIC_ACQUIRE) == 0) {
            seen = SteadyClock::now();
            if (seen - issued > std::chrono::seconds(10)) {
              throw RunError("a kernel that was launched did not start for 10 seconds");
            }
          }
          EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
          timings.push_back(std::max(1.0, HostNanos(seen - issued)));
        }
      };
    }

    case DispatchQuantity::kGraphLaunch: {
      constexpr int kNodes = 256;
      cudaGraph_t captured = nullptr;
      EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
      for (int i = 0; i < kNodes; ++i) LaunchNull(stream);
      EMPLACE_CUDA_CHECK(cudaStreamEndCapture(stream, &captured));
      const Graph graph(captured);
      cudaGraphExec_t executable = nullptr;
      EMPLACE_CUDA_CHECK(cudaGraphInstantiate(&executable, captured, 0));
      const auto chain = std::make_shared<GraphExec>(executable);
      EMPLACE_CUDA_CHECK(cudaGraphLaunch(executable, stream));
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
      return [stream, gpu, chain](int count, std::vector<double>& timings) {
        SelectGpu(gpu);
        std::vector<double> launches;
        TimePieces(
            stream,
            count,
            kMostLaunches,
            [&] { EMPLACE_CUDA_CHECK(cudaGraphLaunch(chain->get(), stream)); },
            launches);
        for (double nanos : launches) timings.push_back(nanos / kNodes);
      };
    }

    case DispatchQuantity::kWait: {
      // Two streams alternate. Each empty kernel waits for the previous one on the other stream.
      // The time of a kernel and its wait, less that of an empty kernel, is the wait.
      const auto other = std::make_shared<Stream>(MakeStream());
      constexpr int kHops = 32;
      const auto events = std::make_shared<std::vector<Event>>();
      for (int i = 0; i < 2 * kHops; ++i) events->push_back(MakeEvent(false));
      return [stream, gpu, other, events](int count, std::vector<double>& timings) {
        SelectGpu(gpu);
        const double null_kernel = NullKernelNanos(stream);
        std::vector<double> rounds;
        TimePieces(
            stream,
            count,
            4 * kHops,
            [&] {
              for (int i = 0; i < kHops; ++i) {
                const cudaEvent_t there = (*events)[2 * i].get(), back = (*events)[2 * i + 1].get();
                LaunchNull(stream);
                EMPLACE_CUDA_CHECK(cudaEventRecord(there, stream));
                EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(other->get(), there, 0));
                LaunchNull(other->get());
                EMPLACE_CUDA_CHECK(cudaEventRecord(back, other->get()));
                EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(stream, back, 0));
              }
            },
            rounds);
        for (double nanos : rounds) {
          timings.push_back(std::max(0.0, nanos / (2 * kHops) - null_kernel));
        }
      };
    }
  }
  EMPLACE_CHECK(false, "no such dispatch quantity");
  return {};
}

CopyPair::CopyPair(std::optional<int> from_gpu,
                   std::optional<int> to_gpu,
                   std::int64_t bytes,
                   const std::string& name)
    : from_gpu_(from_gpu), to_gpu_(to_gpu), bytes_(bytes) {
  const auto take = [&](std::optional<int> gpu) {
    if (gpu) SelectGpu(*gpu);
    Memory memory = gpu ? AllocateOnGpu(bytes, name) : AllocatePinned(bytes, name);
    const auto size = static_cast<size_t>(std::max<std::int64_t>(bytes, 1));
    if (gpu) {
      EMPLACE_CUDA_CHECK(cudaMemset(memory.get(), 1, size));
      EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());
    } else {
      std::memset(memory.get(), 1, size);
    }
    return memory;
  };
  from_ = take(from_gpu);
  to_ = take(to_gpu);
  if (is_on_host()) return;
  SelectGpu(gpu());
  stream_ = MakeStream();
  Enqueue();
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream()));
}

void CopyPair::Enqueue() {
  const auto size = static_cast<size_t>(bytes_);
  if (from_gpu_ && to_gpu_ && *from_gpu_ != *to_gpu_) {
    EMPLACE_CUDA_CHECK(
        cudaMemcpyPeerAsync(to_.get(), *to_gpu_, from_.get(), *from_gpu_, size, stream()));
  } else {
    EMPLACE_CUDA_CHECK(cudaMemcpyAsync(to_.get(), from_.get(), size, cudaMemcpyDefault, stream()));
  }
}

void CopyPair::CopyOnHost() const {
  std::memcpy(to_.get(), from_.get(), static_cast<size_t>(bytes_));
}

BusyLink::BusyLink(std::unique_ptr<CopyPair> copies)
    : copies_(std::move(copies)), thread_([this] { Loop(); }) {
}

BusyLink::~BusyLink() {
  stop_ = true;
  thread_.join();
}

void BusyLink::Loop() {
  try {
    if (copies_->is_on_host()) {
      while (!stop_) copies_->CopyOnHost();
      return;
    }
    SelectGpu(copies_->gpu());
    RunWithoutPause(copies_->stream(), stop_, [this] { copies_->Enqueue(); });
  } catch (const std::runtime_error&) {
    has_failed_ = true;
  }
}

void BusyLink::CheckAlive() const {
  if (has_failed_) throw RunError("the copies that run concurrently with the timed ones failed");
}

Sampler MakeCopySampler(std::shared_ptr<CopyPair> copies) {
  return [copies = std::move(copies)](int count, std::vector<double>& timings) {
    SelectGpu(copies->gpu());
    TimePieces(
        copies->stream(), count, 4, [&] { copies->Enqueue(); }, timings);
  };
}

}  // namespace emplace::cuda

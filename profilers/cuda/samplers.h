#pragma once

// The samplers of the CUDA backend. They time single ops, copies and launches on GPUs.
//
// Events on the stream measure the time. To exclude the time in which the host enqueues work, a
// latch holds the stream back until all work is enqueued. The latch makes the stream wait for a
// counter on the host. Every kernel first runs once without a latch, because the first launch loads
// its code and loading may wait for the stream.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profilers/cuda/devices.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// Holds a stream back until it is opened. Each thread may have one at a time.
class Latch {
 public:
  Latch();
  void Close(cudaStream_t stream);  ///< enqueues the wait
  void Open();
  /// Opens the latch if it is still closed, and waits for the stream.
  ~Latch();
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

 private:
  Counter* counter_;
  cudaStream_t stream_ = nullptr;
};

/// An op with memory, kernels and a stream.
class LaunchableOp;
/// As Backend::Prepare, for a GPU device.
std::shared_ptr<LaunchableOp> PrepareOp(Devices& devices, const LoneOp& op);
/// As Backend::AloneSampler, for a GPU device. A warm timing is the time of a batch of consecutive
/// ops divided by their number. A cold timing is the time of a single op after a write of twice the
/// size of the L2 cache.
Sampler MakeAloneSampler(std::shared_ptr<const LaunchableOp> op);
/// As Backend::BesideSampler, for two partitions of one GPU.
Sampler MakeBesideSampler(std::shared_ptr<const LaunchableOp> timed,
                          std::shared_ptr<const LaunchableOp> beside);

/// As Backend::DispatchSampler, for a GPU device.
Sampler MakeDispatchSampler(Devices& devices, int device, DispatchQuantity quantity);

/// Source and destination of a copy, with memory for it. Each is on a GPU, or on the host
/// (page-locked) if nullopt.
class CopyPair {
 public:
  CopyPair(std::optional<int> from_gpu,
           std::optional<int> to_gpu,
           std::int64_t bytes,
           const std::string& name);
  void Enqueue();           ///< enqueues one copy on its own stream
  void CopyOnHost() const;  ///< if source and destination are on the host
  bool is_on_host() const { return !from_gpu_ && !to_gpu_; }
  cudaStream_t stream() const { return stream_.get(); }
  int gpu() const { return from_gpu_ ? *from_gpu_ : *to_gpu_; }

 private:
  std::optional<int> from_gpu_, to_gpu_;
  std::int64_t bytes_;
  Memory from_, to_;
  Stream stream_;
};

/// Copies without pause on its own thread until it is destroyed.
class BusyLink {
 public:
  explicit BusyLink(std::unique_ptr<CopyPair> copies);
  ~BusyLink();
  BusyLink(const BusyLink&) = delete;
  BusyLink& operator=(const BusyLink&) = delete;
  /// @throws RunError if a copy has failed
  void CheckAlive() const;

 private:
  void Loop();

  std::unique_ptr<CopyPair> copies_;
  std::atomic<bool> stop_{false}, has_failed_{false};
  std::thread thread_;
};

/// As Backend::CopySampler for a pair with at least one GPU. It times single copies, each between
/// two events.
Sampler MakeCopySampler(std::shared_ptr<CopyPair> copies);

}  // namespace emplace::cuda

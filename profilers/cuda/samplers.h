#pragma once

// Timing single ops, copies and launches on GPUs.
//
// Everything that is timed is held back by a latch (a stream that waits for a counter on the host)
// until it is enqueued, so that the time the host takes to enqueue stays outside; events on the
// stream take the time. Every kernel runs once before, outside the latch, because code is loaded
// with the first launch and loading may wait for the stream.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "profilers/cuda/devices.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// A stream that stands still until opened. One at a time in each thread.
class Latch {
 public:
  Latch();
  void Close(cudaStream_t stream);  ///< enqueues the wait
  void Open();
  /// Opens, so that nobody waits for ever, and waits for the stream.
  ~Latch();
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

 private:
  Counter* counter_;
  cudaStream_t stream_ = nullptr;
};

/// As Backend::OpSampler, for a GPU device. A warm timing is that of a batch of launches back to
/// back, divided by their number; a cold one that of a single op behind a write of twice the L2.
Sampler MakeOpSampler(Devices& devices,
                      int device,
                      const OpWork& work,
                      std::span<const std::int64_t> input_bytes,
                      std::span<const std::int64_t> output_bytes,
                      CacheState cache);

/// As Backend::DispatchSampler, for a GPU device.
Sampler MakeDispatchSampler(Devices& devices, int device, DispatchQuantity quantity);

/// Two ends of a copy with memory for it: on a GPU, or page-locked for nullopt.
class CopyPair {
 public:
  CopyPair(std::optional<int> from_gpu,
           std::optional<int> to_gpu,
           std::int64_t bytes,
           const std::string& name);
  void Enqueue();           ///< one copy, on its own stream
  void CopyOnHost() const;  ///< for two ends on the host
  bool is_on_host() const { return !from_gpu_ && !to_gpu_; }
  cudaStream_t stream() const { return stream_.get(); }
  int gpu() const { return from_gpu_ ? *from_gpu_ : *to_gpu_; }

 private:
  std::optional<int> from_gpu_, to_gpu_;
  std::int64_t bytes_;
  Memory from_, to_;
  Stream stream_;
};

/// Copies without pause, on a thread of its own, as long as it lives.
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

/// Times single copies of `copies`, each between two events.
Sampler MakeCopySampler(std::shared_ptr<CopyPair> copies);

}  // namespace emplace::cuda

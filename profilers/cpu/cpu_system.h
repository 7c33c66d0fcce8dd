#pragma once

// Queries of the operating system about the processor, and requests to it: pinning threads,
// reserving memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace emplace {

/// Pins the calling thread, and all threads that it starts later, to these cores.
/// @throws RunError naming the cores
void PinThisThread(std::span<const int> cores);

/// Makes this thread treat denormal numbers as zero, as GPUs do. The time of a step must not depend
/// on how small its weights have become.
void FlushDenormalsInThisThread();

std::string CpuModel();  ///< "AMD EPYC 9654 96-Core Processor"
/// Returns the device kind of a group of cores: ("AMD EPYC 9654 96-Core Processor", 8) ->
/// "amd_epyc_9654_8c".
std::string CpuKindName(std::string_view model, int cores);
std::string KernelRelease();         ///< "Linux 6.1.0"
double ClockMhz(int core);           ///< current clock [MHz]; 0: not readable
std::int64_t PhysicalMemory();       ///< of the machine or of its container, whichever is less [B]
std::int64_t LastLevelCacheBytes();  ///< [B], 32 MiB if not readable

/// A range of address space whose pages take memory only when they are first touched. It can be
/// reserved for the largest size ever needed, and pointers into it stay valid while the used part
/// grows.
class ReservedMemory {
 public:
  /// @throws RunError if the system refuses the address space
  explicit ReservedMemory(std::int64_t bytes);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }
  /// Writes zeros to the bytes among the first `bytes` that no earlier call has touched, to avoid
  /// page faults in a step.
  void Touch(std::int64_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0, touched_ = 0;
};

}  // namespace emplace

#pragma once

// What the operating system says about the processor, and what it is asked to do: pin threads,
// reserve memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace emplace {

/// Pins the calling thread, and all that it starts from now on, to these cores.
/// @throws RunError naming the cores
void PinThisThread(std::span<const int> cores);

/// Denormal numbers count as zero in this thread, as they do on GPUs: a step's time must not depend
/// on how far weights have shrunk.
void FlushDenormalsInThisThread();

std::string CpuModel();  ///< "AMD EPYC 9654 96-Core Processor"
/// Device kind of a group of cores: ("AMD EPYC 9654 96-Core Processor", 8) -> "amd_epyc_9654_8c".
std::string CpuKindName(std::string_view model, int cores);
std::string KernelRelease();         ///< "Linux 6.1.0"
double ClockMhz(int core);           ///< now [MHz]; 0: not readable
std::int64_t PhysicalMemory();       ///< of the machine or of its container, whichever is less [B]
std::int64_t LastLevelCacheBytes();  ///< [B], 32 MiB if not readable

/// A range of address space whose pages take memory only when they are first touched. So it can be
/// reserved for the largest size ever needed, and pointers into it stay valid while more is used.
class ReservedMemory {
 public:
  /// @throws RunError if the address space is refused
  explicit ReservedMemory(std::int64_t bytes);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }
  /// Writes zeros to those of the first `bytes` that no earlier call has touched, so that no page
  /// has to be found while a step runs.
  void Touch(std::int64_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0, touched_ = 0;
};

}  // namespace emplace

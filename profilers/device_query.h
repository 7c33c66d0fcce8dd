#pragma once

// Lists the GPUs of this machine. This is a plain C++ header; no part of CUDA is loaded before
// QueryGpus() is called.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// Properties of a GPU as CUDA reports them.
struct GpuInfo {
  std::string name;                          ///< "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;  ///< compute capability
  int sm_count = 0;                          ///< streaming multiprocessors
  std::int64_t memory_bytes = 0;             ///< [B]
  std::string driver;                        ///< CUDA version the driver supports, "13.0"
};

/// The result of QueryGpus().
struct GpuList {
  std::vector<GpuInfo> gpus;
  /// "no GPU" or "no GPU that this program can use (cannot load ...)" if there are none; else
  /// empty.
  std::string none;
};

/// Returns true if this program was compiled with CUDA.
bool HasCuda();

/// Returns the GPUs in CUDA's order. The first call loads CUDA's libraries and starts the driver.
/// @throws RunError if there is a driver and it fails
GpuList QueryGpus();

/// Returns the last result of QueryGpus() in this process; nullopt if it was never called.
std::optional<GpuList> KnownGpus();

/// GPUs as named in the driver's files, for records of the machine of a run.
struct DriverFiles {
  std::vector<std::string> gpus;  ///< "NVIDIA H200"; "unnamed" if only its device file is visible
  std::string driver;             ///< "580.65.06"; empty if not visible
};
/// Reads the driver's files without loading any part of CUDA.
/// @param driver_folder, device_folder  the system's folders; tests pass others
DriverFiles ReadDriverFiles(const std::filesystem::path& driver_folder = "/proc/driver/nvidia",
                            const std::filesystem::path& device_folder = "/dev");

}  // namespace emplace

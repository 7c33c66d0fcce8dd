#pragma once

// Which GPUs this machine has. A plain C++ header; nothing of CUDA is loaded before QueryGpus() is
// called.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// What CUDA says of a GPU.
struct GpuInfo {
  std::string name;                          ///< "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;  ///< compute capability
  int sm_count = 0;                          ///< streaming multiprocessors
  std::int64_t memory_bytes = 0;             ///< [B]
  std::string driver;                        ///< CUDA version the driver supports, "13.0"
};

/// The answer of QueryGpus().
struct GpuList {
  std::vector<GpuInfo> gpus;
  /// Why there is none, "no GPU" or "no GPU that this program can use (cannot load ...)"; empty if
  /// there is one.
  std::string none;
};

/// True if this program was compiled with CUDA.
bool HasCuda();

/// GPUs in CUDA's order. Loads CUDA's libraries and starts the driver at the first call.
/// @throws RunError if a driver is there and fails
GpuList QueryGpus();

/// What QueryGpus() answered last in this process; nullopt if nobody asked.
std::optional<GpuList> KnownGpus();

/// GPUs as the files of the driver name them, for records of where something ran. Read without
/// loading any part of CUDA.
struct DriverFiles {
  std::vector<std::string> gpus;  ///< "NVIDIA H200"; "unnamed" where only its device file is shown
  std::string driver;             ///< "580.65.06"; empty where not shown
};
/// @param driver_folder, device_folder  the system's; tests give others
DriverFiles ReadDriverFiles(const std::filesystem::path& driver_folder = "/proc/driver/nvidia",
                            const std::filesystem::path& device_folder = "/dev");

}  // namespace emplace

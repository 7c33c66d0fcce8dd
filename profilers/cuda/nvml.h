#pragma once

// Reads clocks and temperature from NVIDIA's management library (NVML) and changes no settings. The
// library is loaded at run time. Without it, no value is known.

#include <optional>
#include <string>

namespace emplace::cuda {

struct GpuClocks {
  double sm_mhz = 0;                  ///< 0: not readable
  std::optional<double> temperature;  ///< [degrees C]
};
/// @param pci_bus_id  in CUDA's format: "0000:1b:00.0"
GpuClocks ReadGpuClocks(const std::string& pci_bus_id);
/// Returns "580.65.06", or an empty string if unknown.
std::string DriverVersion();

}  // namespace emplace::cuda

#pragma once

// Clocks and temperature from NVIDIA's management library (NVML), which is only read from. It is
// opened at run time; where it is absent, nothing is known.

#include <optional>
#include <string>

namespace emplace::cuda {

/// A GPU's clock and temperature at one moment.
struct GpuClocks {
  double sm_mhz = 0;                  ///< 0: not readable
  std::optional<double> temperature;  ///< [degrees C]
};
/// @param pci_bus_id  as CUDA says it: "0000:1b:00.0"
GpuClocks ReadGpuClocks(const std::string& pci_bus_id);
/// "580.65.06", or empty if unknown.
std::string DriverVersion();

}  // namespace emplace::cuda

#include "agents/single_device/single_device.h"

#include "agents/shared/devices.h"

namespace emplace {

std::uint64_t SingleDeviceCandidates(const Problem& problem, int group, int device) {
  if (problem.allowed(group, device)) return std::uint64_t{1} << device;
  const Cluster& cluster = problem.cluster();
  const bool is_gpu = cluster.kind_of(device).device_class == DeviceClass::kGpu;
  const auto other_class = is_gpu ? DeviceClass::kCpu : DeviceClass::kGpu;
  return Candidates(problem, group, MaskOf(DevicesOfClass(cluster, other_class)));
}

Placement SingleDevicePlacement(const Problem& problem, int device) {
  Placement placement;
  for (int group = 0; group < problem.num_groups(); ++group) {
    placement.device.push_back(
        static_cast<DeviceIndex>(FirstDevice(SingleDeviceCandidates(problem, group, device))));
  }
  return placement;
}

SingleDeviceAgent::SingleDeviceAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("single_device", context),
      device_(SelectDevices(context.problem->cluster(), "device", config.device).front()) {
}

std::vector<Placement> SingleDeviceAgent::Construct() const {
  return {SingleDevicePlacement(problem(), device_)};
}

}  // namespace emplace

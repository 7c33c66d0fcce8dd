#include "framework/cluster/device_classes.h"

namespace emplace {

std::vector<int> DevicesOfClass(const Cluster& cluster, DeviceClass device_class) {
  std::vector<int> devices;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == device_class) devices.push_back(d);
  }
  return devices;
}

}  // namespace emplace

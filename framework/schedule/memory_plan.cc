#include "framework/schedule/memory_plan.h"

namespace emplace {

bool IsResident(const Tensor& tensor) {
  return tensor.producer < 0 || tensor.role == TensorRole::kParameter ||
         tensor.role == TensorRole::kBuffer || tensor.role == TensorRole::kOptimizerState;
}

bool IsNeverReleased(const Tensor& tensor) {
  return tensor.role == TensorRole::kOutput || IsResident(tensor);
}

Storage StorageOf(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor) {
  const int root = graph.alias_root(tensor);
  const int root_producer = graph.tensor(root).producer;
  if (root_producer < 0) return {root, -1};
  const int home = device_of_op[root_producer];
  const int producer = graph.tensor(tensor).producer;
  if (producer < 0 || device_of_op[producer] == home) return {root, home};
  const int here = device_of_op[producer];
  for (int reader : graph.readers(root)) {
    if (device_of_op[reader] == here) return {root, here};
  }
  return {root, home};
}

std::vector<std::int64_t> ResidentBytes(const Graph& graph,
                                        int num_devices,
                                        std::span<const DeviceIndex> device_of_op) {
  std::vector<std::int64_t> bytes(num_devices, 0);
  std::vector<int> counted_for(num_devices, -1);  // last graph input counted on a device
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.alias_of >= 0 || !IsResident(tensor)) continue;
    if (tensor.producer >= 0) {
      bytes[device_of_op[tensor.producer]] += tensor.bytes;
      continue;
    }
    for (int reader : graph.readers(t)) {
      const int d = device_of_op[reader];
      if (counted_for[d] == t) continue;
      counted_for[d] = t;
      bytes[d] += tensor.bytes;
    }
  }
  return bytes;
}

}  // namespace emplace

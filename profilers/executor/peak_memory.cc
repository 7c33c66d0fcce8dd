#include "profilers/executor/peak_memory.h"

#include "framework/schedule/compiled_graph.h"
#include "framework/schedule/stream_memory.h"

namespace emplace {

std::vector<std::int64_t> PeakMemory(const Graph& graph,
                                     int num_devices,
                                     std::span<const DeviceIndex> device_of_op,
                                     std::span<const int> order,
                                     const IssuedCommands& issued) {
  const CompiledGraph compiled(graph, order);
  std::vector<DeviceIndex> device;
  for (int v : order) device.push_back(device_of_op[v]);
  StreamMemory memory(compiled, num_devices);
  memory.Begin(compiled, device.data());
  // A copy allocates memory at its destinations with its first hop.
  std::vector<const Copy*> begun_by(issued.commands.size(), nullptr);
  for (const CarriedCopy& carried : issued.copies) {
    begun_by[carried.ways.front().front()] = &carried.copy;
  }
  int position = -1;
  for (size_t c = 0; c < issued.commands.size(); ++c) {
    const PlanCommand& command = issued.commands[c];
    if (command.type == PlanCommand::Type::kOp) {
      if (position >= 0) memory.Release(compiled, position);
      memory.Allocate(compiled, ++position);
      for (int i = compiled.item_begin[position]; i < compiled.item_begin[position + 1]; ++i) {
        memory.Make(compiled, i, position);
      }
    } else if (begun_by[c] != nullptr && command.tensor != kControlTensor) {
      for (int d : begun_by[c]->destinations) {
        memory.Receive(compiled, compiled.item_of[command.tensor], d);
      }
    }
  }
  if (position >= 0) memory.Release(compiled, position);
  return memory.peak();
}

}  // namespace emplace

#include "experiments/machine/this_machine.h"

#include <algorithm>
#include <charconv>

#include <boost/algorithm/string.hpp>
#include <fmt/format.h>

#include "experiments/console/stop_request.h"
#include "framework/base/error.h"
#include "framework/base/progress.h"
#include "profilers/machine.h"

namespace emplace {
namespace {

void AddProperties(CostTable& table, const Machine& machine, const ProfileOptions& options) {
  table.properties[kDevicesProperty] = fmt::format("{}", fmt::join(machine.names, ","));
  if (options.in_situ_placements == 0) return;
  const std::int64_t earlier = PropertyNumber(table, kPlacementsProperty);  // resumed profile
  const auto placements = std::max<std::int64_t>(options.in_situ_placements, earlier);
  table.properties[kSeedProperty] = std::to_string(options.seed);
  table.properties[kPlacementsProperty] = std::to_string(placements);
}

}  // namespace

std::int64_t PropertyNumber(const CostTable& table, const char* property) {
  const auto found = table.properties.find(property);
  std::int64_t number = 0;
  if (found == table.properties.end()) return number;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Machine OpenDevices(const std::vector<std::string>& asked,
                    const CostTable* table,
                    const Cluster* cluster,
                    const std::string& where) {
  Machine machine{.names = asked};
  if (asked.empty() && table != nullptr && table->properties.contains(kDevicesProperty)) {
    boost::split(machine.names, table->properties.at(kDevicesProperty), boost::is_any_of(","));
  } else if (asked.empty() && cluster != nullptr) {
    machine.names = cluster->DeviceNames();
  }
  AtPlace(where, [&] {
    if (machine.names.empty()) machine.names = DefaultDevices();
    machine.backend = OpenMachine(machine.names);
  });
  return machine;
}

DispatchMode ChooseMode(const Machine& machine, bool eager) {
  bool has_cpu = false, has_gpu = false;
  for (const BackendDevice& device : machine.backend->devices()) {
    (device.kind.device_class == DeviceClass::kCpu ? has_cpu : has_gpu) = true;
  }
  return eager || (has_cpu && has_gpu) ? DispatchMode::kEager : DispatchMode::kGraph;
}

CostTable RunProfile(const Machine& machine,
                     std::span<const std::shared_ptr<const Graph>> graphs,
                     const ProfileOptions& options,
                     const CostTable& resume,
                     bool quiet,
                     const std::function<void(const CostTable&)>& checkpoint) {
  Progress progress("profiling", 0, !quiet);
  progress.Line("profiling " + DescribeMachine(*machine.backend));
  ProfileEvents events;
  events.progress = [&](double done, double total, const std::string& note) {
    progress.UpdateSeconds(done, total - done, note);
  };
  events.stop = StopRequest::requested;
  if (checkpoint) {
    events.checkpoint = [&](const CostTable& partial) {
      CostTable table = partial;
      table.complete = false;
      AddProperties(table, machine, options);
      checkpoint(table);
    };
  }
  CostTable table = ProfileMachine(machine.backend, graphs, options, resume, events);
  AddProperties(table, machine, options);
  return table;
}

}  // namespace emplace

#include "experiments/machine/this_machine.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "experiments/console/stop_request.h"
#include "framework/base/error.h"
#include "framework/base/progress.h"
#include "profilers/machine.h"

namespace emplace {
namespace {

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void AddProperties(CostTable& table, const Machine& machine, const ProfileOptions& options) {
  table.properties[kDevicesProperty] = fmt::format("{}", fmt::join(machine.names, ","));
  if (options.in_situ_placements == 0) return;
  int placements = options.in_situ_placements;
  const std::string& before = table.properties[kPlacementsProperty];
  int earlier = 0;  // of the resumed profile
  std::from_chars(before.data(), before.data() + before.size(), earlier);
  placements = std::max(placements, earlier);
  table.properties[kSeedProperty] = std::to_string(options.seed);
  table.properties[kPlacementsProperty] = std::to_string(placements);
}

}  // namespace

Machine OpenDevices(const std::vector<std::string>& asked,
                    const CostTable* table,
                    const Cluster* cluster,
                    const std::string& where) {
  Machine machine{.names = asked};
  if (asked.empty() && table != nullptr && table->properties.contains(kDevicesProperty)) {
    machine.names = SplitAtCommas(table->properties.at(kDevicesProperty));
  } else if (asked.empty() && cluster != nullptr) {
    machine.names = cluster->DeviceNames();
  }
  try {
    if (machine.names.empty()) machine.names = DefaultDevices();
    machine.backend = OpenMachine(machine.names);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
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

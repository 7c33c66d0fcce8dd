#pragma once

// Opens this machine's devices and measures them, for `profile`, `validate` and `verify`.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/measure/profile.h"

namespace emplace {

// Keys of CostTable::properties, besides the backend's own, that tell how to repeat a profile.
inline constexpr const char* kDevicesProperty = "devices";      ///< "gpu:0/4,cpu:0", as opened
inline constexpr const char* kSeedProperty = "placement_seed";  ///< of the placements of its steps
inline constexpr const char* kPlacementsProperty = "placements";  ///< how many at most per graph

/// Open devices of this machine.
struct Machine {
  std::vector<std::string> names;  ///< as given to OpenMachine(): "cpu:0", "gpu:0/4"
  std::shared_ptr<Backend> backend;
};

/// Opens the devices asked for; if none are, those that the costs were measured on, else the
/// cluster's, else the machine's default.
/// @param asked           names of devices; may be empty
/// @param table, cluster  may be nullptr
/// @param where  what needs the devices, for messages
/// @throws InputError naming `where`, the device and what this machine has
Machine OpenDevices(const std::vector<std::string>& asked,
                    const CostTable* table,
                    const Cluster* cluster,
                    const std::string& where);

/// How steps are dispatched: as captured graphs, or op by op (eagerly) if that is asked for and on
/// machines of CPU devices and GPUs, which one captured graph cannot hold together.
DispatchMode ChooseMode(const Machine& machine, bool eager);

/// Measures the ops of the graphs on the machine, with a progress bar on stderr. If the user
/// requests a stop (StopRequest), the table has what was measured so far, and is not complete.
/// @param resume      an earlier table to add to; empty: a new one
/// @param quiet       no progress bar
/// @param checkpoint  called now and then with the table so far; may be empty
CostTable RunProfile(const Machine& machine,
                     std::span<const std::shared_ptr<const Graph>> graphs,
                     const ProfileOptions& options,
                     const CostTable& resume,
                     bool quiet,
                     const std::function<void(const CostTable&)>& checkpoint = {});

}  // namespace emplace

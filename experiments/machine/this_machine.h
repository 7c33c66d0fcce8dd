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

// Keys of CostTable::properties, besides those of the backend, with which a profile can be
// repeated.
inline constexpr const char* kDevicesProperty = "devices";        ///< "gpu:0/4,cpu:0", as opened
inline constexpr const char* kSeedProperty = "placement_seed";    ///< of the steps' placements
inline constexpr const char* kPlacementsProperty = "placements";  ///< at most this many per graph

/// Returns the number in a property; 0 without the property.
std::int64_t PropertyNumber(const CostTable& table, const char* property);

/// Open devices of this machine.
struct Machine {
  std::vector<std::string> names;  ///< as given to OpenMachine(): "cpu:0", "gpu:0/4"
  std::shared_ptr<Backend> backend;
};

/// Opens the requested devices. Without a request it opens the devices on which the costs were
/// measured, else the cluster's, else the machine's default.
/// @param asked           names of devices; may be empty
/// @param table, cluster  may be nullptr
/// @param where           option or command that needs the devices, for messages
/// @throws InputError naming `where`, the device and the devices of this machine
Machine OpenDevices(const std::vector<std::string>& asked,
                    const CostTable* table,
                    const Cluster* cluster,
                    const std::string& where);

/// Returns how steps are dispatched: as captured graphs, or op by op (eagerly) on request and on
/// machines with both CPU devices and GPUs, which one captured graph cannot contain.
DispatchMode ChooseMode(const Machine& machine, bool eager);

/// Measures the ops of the graphs on the machine, with a progress bar on stderr. If the user
/// requests a stop (StopRequest), the table contains the measurements so far and is not complete.
/// @param resume      an earlier table to extend; empty: a new one
/// @param quiet       no progress bar
/// @param checkpoint  called repeatedly with the table so far; may be empty
CostTable RunProfile(const Machine& machine,
                     std::span<const std::shared_ptr<const Graph>> graphs,
                     const ProfileOptions& options,
                     const CostTable& resume,
                     bool quiet,
                     const std::function<void(const CostTable&)>& checkpoint = {});

}  // namespace emplace

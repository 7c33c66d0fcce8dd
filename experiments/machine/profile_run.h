#pragma once

// What the commands share that open and measure this machine.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/measure/profile.h"

namespace emplace {

// CostTable::properties that make a profile repeatable, besides the backend's own.
inline constexpr const char* kDevicesProperty = "devices";      ///< "gpu:0/4,cpu:0", as opened
inline constexpr const char* kSeedProperty = "placement_seed";  ///< of the placements of its steps
inline constexpr const char* kPlacementsProperty = "placements";  ///< how many at most per graph

/// An open machine.
struct Machine {
  std::vector<std::string> names;  ///< as OpenMachine took them
  std::shared_ptr<Backend> backend;
};

/// Opens the devices asked for; if none are, those that the costs were measured on, else the
/// cluster's, else the machine's default.
/// @param table, cluster  may be nullptr
/// @param where  what needs the devices, for messages
/// @throws InputError naming `where`, the device and what this machine has
Machine OpenDevices(const std::vector<std::string>& asked,
                    const CostTable* table,
                    const Cluster* cluster,
                    const std::string& where);

/// Captured graphs cannot hold CPU devices beside GPUs: such machines are dispatched eagerly, and
/// those that were asked to be.
DispatchMode ChooseMode(const Machine& machine, bool eager);

/// Profiles with a progress bar on stderr; ctrl-C ends it early with what there is.
/// @param checkpoint  as ProfileEvents::checkpoint, the table with all properties
CostTable RunProfile(const Machine& machine,
                     std::span<const std::shared_ptr<const Graph>> graphs,
                     const ProfileOptions& options,
                     const CostTable& resume,
                     bool quiet,
                     const std::function<void(const CostTable&)>& checkpoint = {});

}  // namespace emplace

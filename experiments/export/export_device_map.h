#pragma once

// Converts a placement of ops to a `device_map` of modules.
//
// Each unit of export_modules.h gets the device with most of the time of its ops (each op's cost on
// its device; ties go to more ops, then to the earlier device), among the devices that may run all
// of them; bound units get one device together. Each unit is then named by the shortest module path
// below which all units have the same device, "" being the whole model. So the entries cover every
// parameter exactly once.
//
// If such a path is a module that FindModuleUnits() has opened, accelerate enters it as a whole,
// which moves its inputs to its device. If one of its own ops would otherwise run on another
// device, the module is made a block and the map is computed again.

#include <string>
#include <vector>

#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

/// Units, bound together or a single one, whose ops were placed on several devices.
struct ModuleConflict {
  std::vector<std::string> units, joins;  ///< as in ModuleUnits
  std::vector<Nanos> time;                ///< [num_devices] time of its ops as placed [ns]
  std::vector<int> ops;                   ///< [num_devices] number of its ops placed there
  DeviceIndex device = 0;                 ///< the device that all of them get
  Nanos moved = 0;                        ///< time of the ops that were placed elsewhere [ns]
};

/// A device for every module, and the changes to the placement.
struct DeviceMap {
  /// All modules below this one run on this device.
  struct Entry {
    std::string module;
    DeviceIndex device;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;             ///< a cover without overlap, in the order of the graph
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops] device of each op under the map
  int num_units = 0;                      ///< of FindModuleUnits()
  std::vector<ModuleConflict> conflicts;  ///< most time moved first
  Nanos moved = 0, total = 0;             ///< time as placed: of the ops that move, of all ops [ns]
};

/// Makes the map of a placement.
/// @param problem       every op is a group of its own
/// @param device_of_op  [num_ops]
/// @throws InputError as FindModuleUnits() does, and if bound units have no device in common
DeviceMap MakeDeviceMap(const Problem& problem, const std::vector<DeviceIndex>& device_of_op);

/// Returns a text for people with a line per conflict, most time moved first.
std::string FormatConflicts(const DeviceMap& map, const Cluster& cluster);

}  // namespace emplace

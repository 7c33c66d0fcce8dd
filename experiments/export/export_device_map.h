#pragma once

// A placement of ops as a `device_map` of modules.
//
// The units of export_modules.h get the device on which most of the time of their ops was placed
// (each op's cost on the device it was placed on, a tie goes to more ops, then to the earlier
// device), among the devices that may run all of them; bound units get one together. Units that
// agree are then named by their common module: each by the shortest path below which all agree,
// "" being the whole model. So every parameter is covered exactly once.
//
// An opened module that is named so is entered under its name, which moves what it reads: if an op
// of its own would otherwise have followed something elsewhere, the module is taken as a block and
// all is decided again.

#include <string>
#include <vector>

#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

/// Units, bound together or one alone, whose ops were placed on several devices.
struct ModuleConflict {
  std::vector<std::string> units, joins;  ///< as in ModuleUnits
  std::vector<Nanos> time;                ///< [num_devices] of its ops where placed [ns]
  std::vector<int> ops;                   ///< [num_devices] number of its ops placed there
  DeviceIndex device = 0;                 ///< that all of them get
  Nanos moved = 0;                        ///< time of the ops that were placed elsewhere [ns]
};

/// A device for every module, and what it changes.
struct DeviceMap {
  /// Everything below this module runs on this device.
  struct Entry {
    std::string module;
    DeviceIndex device;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;             ///< a cover without overlap, in the order of the graph
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops] where they run under it
  int num_units = 0;                      ///< of FindModuleUnits()
  std::vector<ModuleConflict> conflicts;  ///< most time moved first
  Nanos moved = 0, total = 0;             ///< time as placed: of ops that move, of all ops [ns]
};

/// Makes the map of a placement.
/// @param problem       with every op as a group of its own
/// @param device_of_op  [num_ops]
/// @throws InputError as FindModuleUnits does, and if the ops of bound units share no device
DeviceMap MakeDeviceMap(const Problem& problem, const std::vector<DeviceIndex>& device_of_op);

/// What was decided against the placement, for people: a line per conflict, the one that moves most
/// time first.
std::string FormatConflicts(const DeviceMap& map, const Cluster& cluster);

}  // namespace emplace

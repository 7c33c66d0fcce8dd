#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/config/config_node.h"

namespace emplace {

/// Reads every *.yaml of a folder of device kinds (see DeviceKind); name -> kind.
/// @param folder  configs/device_kinds, or the folder above that holds device_kinds/
/// @throws InputError as ConfigNode does; a kind defined twice is refused, a missing folder too
std::map<std::string, DeviceKind> ReadDeviceKinds(const std::filesystem::path& folder);

/// Reads a cluster file. Only `name` and `devices` are required; a device without `memory` has no
/// limit, `slots` are 1 by default, a channel's `latency` and `gap` 0 and its `broadcast` false.
/// Kinds come from the file's own `device_kinds:` first, then from `library`; the cluster keeps
/// those in use, in the order of its devices. Patterns in routes match device names by glob: `*`
/// any text, `?` one character; `from` and `to` take a pattern or a list of them. A later route
/// replaces an earlier one for the same ordered pair; a pattern pair never makes a route from a
/// device to itself. The shorthands `all_to_all` (one private channel per ordered pair, "a->b") and
/// `egress_bus` (one channel per source, "a->*"), of which a file may use one, expand before
/// `routes`.
/// @throws InputError naming file:line:column, key, value, what was expected and the choices
Cluster ReadCluster(const std::filesystem::path& path,
                    const std::map<std::string, DeviceKind>& library);
Cluster ParseCluster(const ConfigNode& node, const std::map<std::string, DeviceKind>& library);

/// YAML text with everything expanded and kinds inline; ParseCluster reads it back equal.
std::string FormatCluster(const Cluster& cluster);

}  // namespace emplace

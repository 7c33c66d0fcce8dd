#pragma once

// Which devices a setting means, how fast they are, and where groups go that may not run on them.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// Devices of a class, ascending.
std::vector<int> DevicesOfClass(const Cluster& cluster, DeviceClass device_class);

/// Devices meant by `text`: "all", the class "gpu" or "cpu", or a pattern of device names ("gpu:*";
/// '*' and '?'). Ascending, never empty.
/// @throws SettingError naming `key`, the value and the choices if no device is meant
std::vector<int> SelectDevices(const Cluster& cluster,
                               const std::string& key,
                               const std::string& text);

/// Bit d is set for every device d of the list.
std::uint64_t MaskOf(const std::vector<int>& devices);
/// The device of least index in a mask, which must not be 0.
int FirstDevice(std::uint64_t mask);

/// Groups that may run on more than one device.
int NumChoices(const Problem& problem);

/// Where an agent that wants `preferred` may put a group: its allowed devices among the preferred
/// ones, or, if there are none, all its allowed ones (ops without a GPU kernel go to the CPU).
/// Never 0.
std::uint64_t Candidates(const Problem& problem, int group, std::uint64_t preferred);

/// Mean cost of a group over the devices of `mask` on which it is allowed; at least one must be.
/// [ns]
double MeanCost(const Problem& problem, int group, std::uint64_t mask);

/// Relative speed of each device in the order of `devices`, mean 1: total mean cost of the groups
/// allowed on it, divided by their cost on it, times its slots. Without any work: equal.
/// @return [devices.size()], > 0
std::vector<double> DeviceSpeeds(const Problem& problem, const std::vector<int>& devices);

/// The device on which all groups together cost least; a group that is not allowed on it counts
/// with its cheapest allowed device. The least index among equals.
int CheapestSingleDevice(const Problem& problem);

}  // namespace emplace

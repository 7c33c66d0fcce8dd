#pragma once

// Devices: selection by a setting, relative speeds, and candidate devices and costs of groups.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/cluster/device_classes.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns the devices that compute, ascending and never empty: those of other classes than
/// network, or all devices if there are no others.
std::vector<int> ComputingDevices(const Cluster& cluster);

/// Returns the devices that `text` selects, ascending and never empty: "all" (ComputingDevices()),
/// the class "gpu" or "cpu", or a pattern of device names with '*' and '?' ("gpu:*").
/// @throws SettingError naming `key`, the value and the choices if no device is selected
std::vector<int> SelectDevices(const Cluster& cluster,
                               const std::string& key,
                               const std::string& text);

/// Returns a mask with bit d set for every device d of the list.
std::uint64_t MaskOf(const std::vector<int>& devices);
/// Returns the device of least index in a mask, which must not be 0.
int FirstDevice(std::uint64_t mask);

/// Returns the number of groups that may run on more than one device.
int NumChoices(const Problem& problem);

/// Returns the candidate devices of a group for an agent that prefers `preferred`: the preferred
/// devices on which the group is allowed, or all its allowed devices if there are none (ops without
/// a GPU kernel go to the CPU). Never 0.
std::uint64_t Candidates(const Problem& problem, int group, std::uint64_t preferred);

/// Returns the mean cost of a group over the devices of `mask` on which it is allowed. [ns]
/// @pre the group is allowed on at least one of them
double MeanCost(const Problem& problem, int group, std::uint64_t mask);

/// Returns the mean cost of each group over its allowed devices. @return [num_groups] [ns]
std::vector<double> MeanCosts(const Problem& problem);

/// Returns the relative speed of each device, in the order of `devices`, with mean 1: the total
/// mean cost of the groups allowed on the device, divided by their cost on it, times its slots. All
/// speeds are equal if there is no work.
/// @return [devices.size()], > 0
std::vector<double> DeviceSpeeds(const Problem& problem, const std::vector<int>& devices);

/// Returns the computing device with the smallest total cost of all groups; ties go to the least
/// index. A group that is not allowed on the device counts with the cost on its cheapest allowed
/// device.
int CheapestSingleDevice(const Problem& problem);

}  // namespace emplace

#pragma once

// Opens devices of this machine by name. Programs that measure or execute get their backend here.

#include <memory>
#include <string>
#include <vector>

#include "profilers/executor/backend.h"

namespace emplace {

/// Opens devices of this machine:
///   cpu:0, cpu:1    the cores this process may use, divided evenly among the cpu devices named
///   gpu:0           a whole GPU
///   gpu:0/4         four equal partitions of it, named gpu:0.0 .. gpu:0.3
///   gpu:0/64+32+32  partitions with these numbers of SMs
/// Devices keep the order of `names`. CUDA's libraries are loaded only if a name is not a CPU's.
/// @throws InputError naming the device and the devices of this machine, or the missing file that
/// this program needs for GPUs; RunError if a device fails
std::shared_ptr<Backend> OpenMachine(const std::vector<std::string>& names);

/// Returns the names for OpenMachine() if the user gives none: every GPU and one CPU device;
/// without a GPU, two CPU devices, or one on a single core.
/// @throws InputError if the driver shows a GPU but the program's CUDA module cannot be loaded
std::vector<std::string> DefaultDevices();

}  // namespace emplace

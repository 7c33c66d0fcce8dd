#pragma once

// Placements that searches start from, by name.

#include <string>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

/// contiguous, cpop, etf, heft, random, single, single_cpu, single_gpu.
std::vector<std::string> StartNames();

/// @throws SettingError naming `key` and the choices for an unknown name, an empty list, or a class
///   of devices that the cluster does not have
void ValidateStarts(const Problem& problem,
                    const std::string& key,
                    const std::vector<std::string>& names);

/// - single: all on the device on which everything together costs least; single_gpu, single_cpu: on
///   the first of the class. Groups not allowed there as in single_device.h.
/// - contiguous: blocks of equal cost over all devices of the class of `single`; where the
/// objective
///   is the period, the split of a linear order that has the least one (ideals/chain_split.h).
/// - etf, heft, cpop: over all devices of that class (etf), over all devices (heft, cpop).
/// - random: drawn with `rng`.
/// @param name  one of StartNames()
/// @throws Interrupted
Placement MakeStart(const Problem& problem,
                    const std::string& name,
                    Rng& rng,
                    const Interrupt& interrupt = {});

}  // namespace emplace

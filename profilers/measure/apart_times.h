#pragma once

// What neighbouring devices cost in traced steps, taken off: how long its ops would have taken had
// nothing run beside them (simulator/README.md, "Interference semantics").

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/measure/traced_steps.h"

namespace emplace {

/// Times of the ops with one signature on one device kind, by what they read cold [B] -> [ns].
using ApartTimesOfOp = std::map<std::int64_t, std::vector<double>>;

/// The work that each op did between its start and its finish, at the rates that the table's
/// figures of interference give for what ran on neighbouring devices meanwhile. It is the inverse
/// of what the simulator does.
/// @return by (device kind, signature)
std::map<std::pair<std::string, std::string>, ApartTimesOfOp> ApartTimes(const TracedSteps& steps,
                                                                         const CostTable& table);

}  // namespace emplace

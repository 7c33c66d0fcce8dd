#pragma once

// Reports of a profile: the measurements, their quality, and the ops that take most of the time of
// the graphs.

#include <memory>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

/// Returns the report for people: the verdict (verdict.h) and warnings, the errors of simulations
/// of held-out placements, signatures measured per device kind, the longest ops of the graphs, the
/// share of stand-in kernels by op kind, the errors of the fits and their effect on the time of
/// each graph, links, interference (factors below 1 are shown as 1), and dispatch.
/// @param seconds  duration of the profile [s]
std::string FormatProfileReport(const CostTable& table,
                                std::span<const std::shared_ptr<const Graph>> graphs,
                                double seconds);

/// Returns the same figures as one JSON object, for programs.
nlohmann::ordered_json ProfileReportJson(const CostTable& table,
                                         std::span<const std::shared_ptr<const Graph>> graphs,
                                         double seconds);

}  // namespace emplace

#pragma once

// What a profile says: how much was measured, how good the numbers are, and which ops take the time
// of the graphs.

#include <memory>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

/// For people: the verdict (verdict.h) and warnings; how far off simulations of held-out placements
/// are, signatures measured per device kind, the ops of the graphs that take longest, the share of
/// stand-in kernels by op kind, the errors of the fits and what they mean for the time of each
/// graph, links, interference (1 in the place of factors below 1), dispatch.
/// @param seconds  that the profile took [s]
std::string FormatProfileReport(const CostTable& table,
                                std::span<const std::shared_ptr<const Graph>> graphs,
                                double seconds);

/// For programs: the same figures as one JSON object.
nlohmann::ordered_json ProfileReportJson(const CostTable& table,
                                         std::span<const std::shared_ptr<const Graph>> graphs,
                                         double seconds);

}  // namespace emplace

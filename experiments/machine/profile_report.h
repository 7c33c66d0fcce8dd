#pragma once

// What a profile tells people (text) and programs (JSON): how much was measured, what the numbers
// are worth, and where the time of the graphs lies.

#include <memory>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

/// Signatures per device kind, the largest ops of the graphs, the share of stand-in kernels by op
/// kind, the errors of the fits, links, dispatch, warnings.
/// @param seconds  the profile took [s]
std::string FormatProfileReport(const CostTable& table,
                                std::span<const std::shared_ptr<const Graph>> graphs,
                                double seconds);

/// The same figures.
nlohmann::ordered_json ProfileReportJson(const CostTable& table,
                                         std::span<const std::shared_ptr<const Graph>> graphs,
                                         double seconds);

}  // namespace emplace

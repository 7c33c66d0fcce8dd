#pragma once

// Finding and adding the records of a cost table while it is being filled.

#include <string>
#include <string_view>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

// Each returns the table's record, adding an empty one in its place of the order if there is none.
KindCosts& KindIn(CostTable& table, const DeviceKind& kind);
DispatchCosts& DispatchIn(CostTable& table, const std::string& device_kind);
/// @param op  found by its signature; the rest is taken over if it is new
OpMeasurement& OpIn(KindCosts& costs, const OpMeasurement& op);
/// nullptr: none.
LinkMeasurement* FindLink(CostTable& table,
                          std::string_view from,
                          std::string_view to,
                          std::string_view memory);
/// What an op's record says before any timing: signature, kind, class, work; no proxy.
OpMeasurement NewMeasurement(const Graph& graph, int op);

}  // namespace emplace

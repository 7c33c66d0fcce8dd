#pragma once

// Finding and adding the records of a cost table while it is being filled.

#include <string>
#include <string_view>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

// Each of these three returns the table's record and adds an empty one if there is none: ops in the
// order of their signatures, the others at the end.
KindCosts& KindIn(CostTable& table, const DeviceKind& kind);
DispatchCosts& DispatchIn(CostTable& table, const std::string& device_kind);
/// @param op  found by its signature; a new record is a copy of it
OpMeasurement& OpIn(KindCosts& costs, const OpMeasurement& op);
/// The record of a link; nullptr: none. @param memory  BackendLink::memory or kInSituMemory
LinkMeasurement* FindLink(CostTable& table,
                          std::string_view from,
                          std::string_view to,
                          std::string_view memory);
/// An op's record without timings: signature, kind, class, FLOPs and bytes. `is_proxy` is false;
/// the caller, who has the op's work, sets it.
OpMeasurement NewMeasurement(const Graph& graph, int op);

}  // namespace emplace

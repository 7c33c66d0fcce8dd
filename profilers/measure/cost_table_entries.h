#pragma once

// Finds and adds the records of a cost table while it is being filled.

#include <string>
#include <string_view>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"

namespace emplace {

// KindIn(), DispatchIn() and OpIn() return the table's record and add an empty one if there is
// none. Ops are inserted in the order of their signatures, other records at the end.
KindCosts& KindIn(CostTable& table, const DeviceKind& kind);
DispatchCosts& DispatchIn(CostTable& table, const std::string& device_kind);
/// @param op  found by its signature; a new record is a copy of it
OpMeasurement& OpIn(KindCosts& costs, const OpMeasurement& op);
/// Returns the record of a link; nullptr: none. @param memory  BackendLink::memory or kInSituMemory
LinkMeasurement* FindLink(CostTable& table,
                          std::string_view from,
                          std::string_view to,
                          std::string_view memory);
/// Returns an op's record without timings: signature, kind, class, FLOPs and bytes. `is_proxy` is
/// false; the caller, who has the op's work, sets it.
OpMeasurement NewMeasurement(const Graph& graph, int op);

}  // namespace emplace

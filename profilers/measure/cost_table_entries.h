#pragma once

// Finds and adds the records of a cost table while it is being filled.

#include <span>
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
// The functions below return nullptr for a record that is not in the table.

/// @param memory  BackendLink::memory or kInSituMemory
template <class Table>
auto* FindLink(Table& table, std::string_view from, std::string_view to, std::string_view memory) {
  for (auto& link : table.links) {
    if (link.from == from && link.to == to && link.memory == memory) return &link;
  }
  return static_cast<decltype(table.links.data())>(nullptr);
}
const DispatchCosts* FindDispatch(const CostTable& table, std::string_view device_kind);
/// @param slowdowns  CostTable::link_contention or interference
const Slowdown* FindSlowdown(std::span<const Slowdown> slowdowns,
                             std::string_view victim,
                             std::string_view aggressor);

/// Returns an op's record without timings: signature, kind, class, FLOPs and bytes. `is_proxy` is
/// false; the caller, who has the op's work, sets it.
OpMeasurement NewMeasurement(const Graph& graph, int op);

}  // namespace emplace

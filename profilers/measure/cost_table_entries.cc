#include "profilers/measure/cost_table_entries.h"

#include <algorithm>

#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"

namespace emplace {
KindCosts& KindIn(CostTable& table, const DeviceKind& kind) {
  for (KindCosts& costs : table.kinds) {
    if (costs.kind.name == kind.name) return costs;
  }
  table.kinds.push_back({.kind = kind});
  return table.kinds.back();
}

DispatchCosts& DispatchIn(CostTable& table, const std::string& device_kind) {
  for (DispatchCosts& dispatch : table.dispatch) {
    if (dispatch.device_kind == device_kind) return dispatch;
  }
  table.dispatch.push_back({.device_kind = device_kind});
  return table.dispatch.back();
}

OpMeasurement& OpIn(KindCosts& costs, const OpMeasurement& op) {
  const auto place = std::lower_bound(
      costs.ops.begin(), costs.ops.end(), op, [](const OpMeasurement& a, const OpMeasurement& b) {
        return a.signature < b.signature;
      });
  if (place != costs.ops.end() && place->signature == op.signature) return *place;
  return *costs.ops.insert(place, op);
}

const DispatchCosts* FindDispatch(const CostTable& table, std::string_view device_kind) {
  for (const DispatchCosts& dispatch : table.dispatch) {
    if (dispatch.device_kind == device_kind) return &dispatch;
  }
  return nullptr;
}

const Slowdown* FindSlowdown(std::span<const Slowdown> slowdowns,
                             std::string_view victim,
                             std::string_view aggressor) {
  for (const Slowdown& one : slowdowns) {
    if (one.victim == victim && one.aggressor == aggressor) return &one;
  }
  return nullptr;
}

OpMeasurement NewMeasurement(const Graph& graph, int id) {
  const Op& op = graph.op(id);
  return {.signature = OpSignature(graph, id),
          .kind = op.kind,
          .op_class = ClassifyOp(op.kind),
          .flops = op.flops,
          .bytes = op.bytes_accessed};
}

}  // namespace emplace

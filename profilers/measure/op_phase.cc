#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "framework/cost/allowed_devices.h"
#include "framework/cost/op_signature.h"
#include "profilers/kernels/op_work.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/measure/phases.h"

namespace emplace {
namespace {

// The timings of an op that the options ask for and the table lacks.
struct MissingTimings {
  bool warm = false, cold = false;
};

MissingTimings MissingOf(ProfilingSession& session, const OpItems::Item& item) {
  const OpMeasurement* known =
      KindIn(session.table(), session.kind_of(item.device)).Find(item.signature);
  return {known == nullptr || !known->isolated,
          session.options().cold && (known == nullptr || !known->cold)};
}

void MeasureOp(ProfilingSession& session, const OpItems::Item& item) {
  const Graph& graph = *item.graph;
  KindCosts& costs = KindIn(session.table(), session.kind_of(item.device));
  const auto [needs_warm, needs_cold] = MissingOf(session, item);

  LoneOp lone = LoneOpOf(item, item.device);
  const auto time = [&](CacheState cache) {
    lone.cache = cache;
    Backend& backend = session.backend();
    return MeasureUntilStable(backend.AloneSampler(backend.Prepare(lone)), session.options().rule);
  };
  OpMeasurement measured = NewMeasurement(graph, item.op);
  measured.is_proxy = lone.work.is_proxy();
  if (needs_warm) measured.isolated = time(CacheState::kWarm);
  if (needs_cold) measured.cold = time(CacheState::kCold);
  OpMeasurement& op = OpIn(costs, measured);
  if (needs_warm) op.isolated = measured.isolated;
  if (needs_cold) op.cold = measured.cold;
}

}  // namespace

LoneOp LoneOpOf(const OpItems::Item& item, int device) {
  const auto storage_bytes = [&](const std::vector<int>& tensors) {
    std::vector<std::int64_t> bytes;
    for (const int t : tensors)
      bytes.push_back(item.graph->tensor(item.graph->alias_root(t)).bytes);
    return bytes;
  };
  const Op& op = item.graph->op(item.op);
  return {
      device, WorkOf(*item.graph, item.op), storage_bytes(op.inputs), storage_bytes(op.outputs)};
}

OpItems FindOps(const ProfilingSession& session,
                std::span<const std::shared_ptr<const Graph>> graphs) {
  OpItems ops;
  std::set<SignatureOnDevice> seen;
  std::unordered_map<std::string, bool> has_work;
  for (const auto& graph : graphs) {
    std::set<SignatureOnDevice>& of_graph = ops.of_graph.emplace_back();
    for (int op = 0; op < graph->num_ops(); ++op) {
      const std::string signature = OpSignature(*graph, op);
      const auto [works, is_new] = has_work.emplace(signature, false);
      if (is_new) works->second = !WorkOf(*graph, op).calls.empty();
      if (!works->second) continue;
      for (const int device : session.representatives()) {
        if (!MayRunOn(graph->op(op), session.kind_of(device))) continue;
        of_graph.insert({signature, device});
        if (seen.insert({signature, device}).second) {
          ops.items.push_back({device, graph, op, signature});
        }
      }
    }
  }
  std::stable_sort(ops.items.begin(), ops.items.end(), [](const auto& a, const auto& b) {
    return a.device < b.device;
  });
  return ops;
}

std::vector<size_t> MissingOps(ProfilingSession& session, const OpItems& ops) {
  std::vector<size_t> missing;
  for (size_t i = 0; i < ops.items.size(); ++i) {
    const auto [warm, cold] = MissingOf(session, ops.items[i]);
    if (warm || cold) missing.push_back(i);
  }
  return missing;
}

std::set<SignatureOnDevice> MeasureOps(ProfilingSession& session, const OpItems& ops) {
  std::set<SignatureOnDevice> failed;
  const std::vector<size_t> missing = MissingOps(session, ops);
  for (size_t i = 0; i < missing.size() && !session.IsStopped(); ++i) {
    const OpItems::Item& item = ops.items[missing[i]];
    session.Advance("ops",
                    i,
                    missing.size(),
                    item.graph->op(item.op).kind + " on " + session.name_of(item.device));
    const bool is_done =
        session.Try({item.device}, "op " + item.signature, [&] { MeasureOp(session, item); });
    if (!is_done) failed.insert({item.signature, item.device});
  }
  return failed;
}

void MeasureDispatch(ProfilingSession& session) {
  CostTable& table = session.table();
  for (const int device : session.representatives()) {
    if (session.IsStopped()) return;
    const DeviceKind& kind = session.kind_of(device);
    if (FindDispatch(table, kind.name) != nullptr) continue;
    session.Report("dispatch on " + session.name_of(device));
    DispatchCosts costs{.device_kind = kind.name};
    const std::pair<DispatchQuantity, double*> quantities[] = {
        {DispatchQuantity::kNullKernel, &costs.null_kernel_ns},
        {DispatchQuantity::kLaunch, &costs.launch_ns},
        {DispatchQuantity::kIssue, &costs.issue_ns},
        {DispatchQuantity::kGraphLaunch, &costs.graph_launch_ns},
        {DispatchQuantity::kWait, &costs.wait_ns},
    };
    const bool is_done = session.Try({device}, "dispatch", [&] {
      for (const auto& [quantity, nanos] : quantities) {
        const std::optional<Sampler> sampler = session.backend().DispatchSampler(device, quantity);
        if (!sampler) continue;
        *nanos = MeasureUntilStable(*sampler, session.options().rule).median;
      }
    });
    if (!is_done) continue;
    DeviceKind& measured = KindIn(table, kind).kind;
    measured.issue = std::llround(costs.issue_ns);
    measured.launch = std::llround(costs.launch_ns);
    table.dispatch.push_back(costs);
  }
}

}  // namespace emplace

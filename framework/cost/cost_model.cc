#include "framework/cost/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cost/allowed_devices.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/fitted_costs.h"
#include "framework/cost/kind_model.h"
#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"

namespace emplace {
namespace {

// Relative standard error by cost source if no measurement gives one. Timers and clocks vary by a
// few percent, fits of neighbouring shapes by 15 %. Rooflines with published parameters are known
// to be off by a third, and unknown classes by a factor.
constexpr std::array<float, kNumCostSources> kUncertainty{0.05F, 0.15F, 0.35F, 0.70F, 0.0F};

struct Cost {
  double nanos;
  CostSource source;
  float uncertainty;
  std::optional<Interference> interference;  // nullopt: that of the op's class

  Cost(double nanos, CostSource source)
      : Cost(nanos, source, kUncertainty[static_cast<int>(source)]) {}
  Cost(double nanos, CostSource source, double uncertainty)
      : nanos(nanos), source(source), uncertainty(static_cast<float>(uncertainty)) {}
};

std::optional<Cost> OwnCost(const Op& op, const DeviceKind& kind) {
  for (const auto& [name, nanos] : op.cost_ns) {
    if (name == kind.name) return Cost(nanos, CostSource::kMeasured);
  }
  return std::nullopt;
}

// Returns the standard error of a median, from its 95 % interval; a single sample has none.
double RelativeError(const Timing& timing) {
  if (timing.samples < 2 || !(timing.median > 0)) {
    return kUncertainty[static_cast<int>(CostSource::kMeasured)];
  }
  return (timing.high - timing.low) / (2 * 1.96 * timing.median);
}

std::optional<Cost> TimedCost(const KindCosts& measured,
                              const std::string& signature,
                              const CostInputs& inputs) {
  const OpMeasurement* op = measured.Find(signature);
  const Timing* timing = op != nullptr ? op->Best(inputs.prefer_in_situ) : nullptr;
  if (timing == nullptr) return std::nullopt;
  const bool is_apart = inputs.apart && op->apart_ns && op->in_situ && timing == &*op->in_situ;
  Cost cost(is_apart ? *op->apart_ns : *op->Time(inputs.prefer_in_situ),
            CostSource::kMeasured,
            RelativeError(*timing));
  cost.interference = op->interference;
  return cost;
}

// Returns the standard deviation of normal errors with this median absolute value.
double ToStandardError(double median_error) {
  return 1.4826 * median_error;
}

std::optional<Cost> FittedCost(FittedCosts& costs,
                               const Op& op,
                               const std::string& signature,
                               OpClass op_class) {
  const std::optional<FittedCosts::Found> found =
      costs.Find(op.kind, op_class, signature, op.flops, static_cast<double>(op.bytes_accessed));
  if (!found) return std::nullopt;
  return Cost(found->nanos,
              found->is_of_kind ? CostSource::kNeighbour : CostSource::kRoofline,
              ToStandardError(found->fit->error));
}

Interference InterferenceOf(const DeviceKind& kind, OpClass op_class) {
  const auto found = kind.interference.find(std::string(ToString(op_class)));
  return found == kind.interference.end() ? Interference{} : found->second;
}

// Throws for a table of another machine, which would otherwise be silently ignored for every op.
void RequireCommonKind(const CostTable& table, const Cluster& cluster, const std::string& where) {
  std::vector<std::string> measured, wanted;
  for (const KindCosts& kind : table.kinds) measured.push_back(kind.kind.name);
  for (const DeviceKind& kind : cluster.kinds()) {
    if (table.Find(kind.name) != nullptr) return;
    wanted.push_back(kind.name);
  }
  throw InputError(
      fmt::format("{}: the cost table of machine \"{}\" has device kinds [{}], but cluster \"{}\" "
                  "has [{}]; expected a table with at least one kind of the cluster",
                  where,
                  table.machine,
                  fmt::join(measured, ", "),
                  cluster.name(),
                  fmt::join(wanted, ", ")));
}

// All sources of costs on one device kind.
struct KindSources {
  const DeviceKind* kind;
  KindModel model;
  std::uint64_t devices = 0;  // a bit for each device of the kind
  const KindCosts* measured = nullptr;
  std::optional<FittedCosts> fitted = {};  // if measured
  int num_modelled = 0;                    // ops whose cost the model gave
};

std::vector<KindSources> MakeSources(const Cluster& cluster, const CostInputs& inputs) {
  std::vector<KindSources> kinds;
  for (const DeviceKind& kind : cluster.kinds()) {
    KindSources& sources = kinds.emplace_back(KindSources{.kind = &kind, .model = KindModel(kind)});
    if (inputs.table != nullptr) sources.measured = inputs.table->Find(kind.name);
    if (sources.measured != nullptr) {
      sources.fitted.emplace(*sources.measured, inputs.prefer_in_situ);
    }
  }
  for (int d = 0; d < cluster.num_devices(); ++d) {
    kinds[cluster.device(d).kind].devices |= std::uint64_t{1} << d;
  }
  return kinds;
}

void WarnOfUnmeasured(const CostInputs& inputs, const KindSources& kind, const std::string& where) {
  if (kind.num_modelled == 0 || !inputs.warn) return;
  inputs.warn(
      fmt::format("{}: the cost table of machine \"{}\" does not have device kind \"{}\"; the "
                  "roofline model gives the costs of {} ops on it",
                  where,
                  inputs.table->machine,
                  kind.kind->name,
                  kind.num_modelled));
}

// Returns the cost of an op by the first source that has one.
// @param signature  OpSignature(), or empty; then computed if a source needs it
Cost FindCost(const Graph& graph,
              int op_id,
              OpClass op_class,
              std::string& signature,
              KindSources& kind,
              const CostInputs& inputs,
              const std::string& where) {
  const Op& op = graph.op(op_id);
  std::optional<Cost> cost = OwnCost(op, *kind.kind);
  if (!cost && kind.measured != nullptr) {
    if (signature.empty()) signature = OpSignature(graph, op_id);
    cost = TimedCost(*kind.measured, signature, inputs);
  }
  if (!cost && op_class == OpClass::kView) cost = Cost(0, CostSource::kFree);
  if (!cost && kind.measured != nullptr) cost = FittedCost(*kind.fitted, op, signature, op_class);
  if (!cost) {
    const KindModel::Found found = kind.model.Find(graph, op, op_class, where);
    cost = found.error ? Cost(found.nanos, found.source, ToStandardError(*found.error))
                       : Cost(found.nanos, found.source);
    ++kind.num_modelled;
  }
  if (!cost->interference) cost->interference = InterferenceOf(*kind.kind, op_class);
  return *cost;
}

}  // namespace

Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where,
                   const CostInputs& inputs) {
  if (inputs.table != nullptr) RequireCommonKind(*inputs.table, cluster, where);
  Costs costs;
  costs.num_ops = graph.num_ops();
  costs.num_devices = cluster.num_devices();
  const size_t size = static_cast<size_t>(costs.num_ops) * costs.num_devices;
  costs.time.reserve(size);
  costs.source.reserve(size);
  costs.uncertainty.reserve(size);

  const bool has_neighbors = cluster.has_neighbors();
  std::vector<KindSources> kinds = MakeSources(cluster, inputs);
  AllowedDevices allowed_devices(graph, cluster, where);
  std::unordered_map<std::string_view, OpClass> classes;
  const double limit = static_cast<double>(kMaxNanos / std::max(1, costs.num_ops));
  const Cost forbidden(static_cast<double>(kMaxNanos), CostSource::kFree);
  std::vector<Cost> cost_on_kind(kinds.size(), forbidden);
  std::string signature;
  for (int v = 0; v < costs.num_ops; ++v) {
    const Op& op = graph.op(v);
    signature.clear();
    const auto [entry, is_new] = classes.emplace(op.kind, OpClass::kUnknown);
    if (is_new) entry->second = ClassifyOp(op.kind);
    const std::uint64_t allowed = allowed_devices.Of(op);
    for (size_t k = 0; k < kinds.size(); ++k) {
      if ((allowed & kinds[k].devices) == 0) continue;
      cost_on_kind[k] = FindCost(graph, v, entry->second, signature, kinds[k], inputs, where);
      if (!(cost_on_kind[k].nanos < limit)) {
        throw InputError(fmt::format(
            "{}: op \"{}\" costs {:.4g} ns on device kind \"{}\", expected less than {:.4g} "
            "ns in a graph of {} ops",
            where,
            op.name,
            cost_on_kind[k].nanos,
            kinds[k].kind->name,
            limit,
            costs.num_ops));
      }
    }
    for (int d = 0; d < costs.num_devices; ++d) {
      const bool is_allowed = (allowed >> d & 1) != 0;
      const Cost& cost = is_allowed ? cost_on_kind[cluster.device(d).kind] : forbidden;
      costs.time.push_back(is_allowed ? std::llround(cost.nanos) : kMaxNanos);
      costs.source.push_back(cost.source);
      costs.uncertainty.push_back(cost.uncertainty);
      if (has_neighbors) costs.interference.push_back(cost.interference.value_or(Interference{}));
    }
  }
  for (const KindSources& kind : kinds) {
    if (inputs.table != nullptr && kind.measured == nullptr) WarnOfUnmeasured(inputs, kind, where);
  }
  return costs;
}

CostSourceShares ComputeCostSourceShares(const Costs& costs,
                                         std::span<const std::uint8_t> device_of_op) {
  EMPLACE_CHECK(device_of_op.size() == static_cast<size_t>(costs.num_ops));
  CostSourceShares shares{};
  double total = 0;
  for (int op = 0; op < costs.num_ops; ++op) {
    const int device = device_of_op[op];
    EMPLACE_CHECK(device < costs.num_devices && costs.allowed(op, device));
    const double time = static_cast<double>(costs.at(op, device));
    shares[static_cast<int>(costs.source_at(op, device))] += time;
    total += time;
  }
  if (total > 0) {
    for (double& share : shares) share /= total;
  }
  return shares;
}

}  // namespace emplace

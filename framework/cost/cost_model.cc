#include "framework/cost/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/fitted_costs.h"
#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"

namespace emplace {
namespace {

constexpr int kNumClasses = static_cast<int>(OpClass::kUnknown) + 1;

// Share of the peak that an op class reaches if the device kind gives none (also in FORMAT.md).
// Rounded values between those of tuned libraries on large shapes (0.7 to 0.9 of the peak for
// products) and those on the shapes of real training graphs. They matter only where FLOPs and not
// bytes determine the time.
constexpr std::array<double, kNumClasses> kDefaultEfficiency{
    0.60,  // matmul
    0.50,  // convolution
    0.50,  // elementwise
    0.30,  // reduction
    0.30,  // normalization
    0.30,  // pooling
    0.30,  // gather
    0.50,  // copy
    0.50,  // update
    1.00,  // view: free
    0.25,  // unknown
};
// Share of the memory bandwidth; streaming benchmarks reach 0.7 to 0.9 of the data sheet.
constexpr double kDefaultMemoryEfficiency = 0.70;

// Relative standard error by cost source if no measurement gives one. Timers and clocks vary by a
// few percent, fits of neighbouring shapes by 15 %. Rooflines with published parameters are known
// to be off by a third, and unknown classes by a factor.
constexpr std::array<float, kNumCostSources> kUncertainty{0.05F, 0.15F, 0.35F, 0.70F, 0.0F};

constexpr std::array<std::string_view, 5> kFloatTypes{"f64", "f32", "bf16", "f16", "f8"};
constexpr int kF32 = 1;

// The rates of one device kind, including defaults.
struct Rates {
  const DeviceKind* kind;
  const KindCosts* measured = nullptr;
  std::optional<FittedCosts> fitted = {};         // if measured
  std::array<double, kFloatTypes.size()> peak{};  // [FLOP/s]; 0: not given
  std::array<double, kNumClasses> efficiency{};   // including defaults
  std::array<bool, kNumClasses> is_told{};
  double memory_rate = 0;  // [B/s] reached
  bool memory_is_told = false;
};

Rates MakeRates(const DeviceKind& kind) {
  Rates rates{.kind = &kind};
  const auto find = [](const std::map<std::string, double>& map, std::string_view key) {
    const auto found = map.find(std::string(key));
    return found == map.end() ? 0.0 : found->second;
  };
  const double f32 = find(kind.peak, "f32");
  for (size_t i = 0; i < kFloatTypes.size(); ++i) {
    const double peak = find(kind.peak, kFloatTypes[i]);
    rates.peak[i] = peak > 0 ? peak : f32;
  }
  for (int c = 0; c < kNumClasses; ++c) {
    const double told = find(kind.efficiency, ToString(static_cast<OpClass>(c)));
    rates.is_told[c] = told > 0 && c != static_cast<int>(OpClass::kUnknown);
    rates.efficiency[c] = told > 0 ? told : kDefaultEfficiency[c];
  }
  const double memory = find(kind.efficiency, "memory");
  rates.memory_is_told = memory > 0;
  rates.memory_rate = kind.memory_bandwidth * (memory > 0 ? memory : kDefaultMemoryEfficiency);
  return rates;
}

// The properties of an op that the roofline uses.
struct Work {
  OpClass op_class;
  int dtype;  // index into kFloatTypes
};

// Returns the floating-point type of the largest tensor of the op that has one.
int FindDtype(const Graph& graph, const Op& op) {
  int dtype = kF32;
  std::int64_t largest = -1;
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (const int id : *tensors) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.bytes <= largest) continue;
      for (size_t i = 0; i < kFloatTypes.size(); ++i) {
        if (!tensor.dtype.starts_with(kFloatTypes[i])) continue;
        dtype = static_cast<int>(i);
        largest = tensor.bytes;
      }
    }
  }
  return dtype;
}

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

[[noreturn]] void RefuseKind(const std::string& where,
                             const Op& op,
                             const DeviceKind& kind,
                             const std::string& missing) {
  if (kind.device_class == DeviceClass::kNetwork) {
    throw InputError(
        fmt::format("{}: op \"{}\" ({}) has no cost_ns for device kind \"{}\" of class network, "
                    "which has no roofline; expected a cost_ns of the op, or a cost table with "
                    "times of the kind",
                    where,
                    op.name,
                    op.kind,
                    kind.name));
  }
  throw InputError(
      fmt::format("{}: op \"{}\" ({}) has no cost_ns for device kind \"{}\", and that kind has no "
                  "{}; expected a cost_ns of the op, or peak and memory_bandwidth of the kind",
                  where,
                  op.name,
                  op.kind,
                  kind.name,
                  missing));
}

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
                              const CostInputs& sources) {
  const OpMeasurement* op = measured.Find(signature);
  const Timing* timing = op != nullptr ? op->Best(sources.prefer_in_situ) : nullptr;
  if (timing == nullptr) return std::nullopt;
  const bool is_apart = sources.apart && op->apart_ns && op->in_situ && timing == &*op->in_situ;
  Cost cost(is_apart ? *op->apart_ns : *op->Time(sources.prefer_in_situ),
            CostSource::kMeasured,
            RelativeError(*timing));
  cost.interference = op->interference;
  return cost;
}

std::optional<Cost> FittedCost(FittedCosts& costs,
                               const Op& op,
                               const std::string& signature,
                               OpClass op_class) {
  const std::optional<FittedCosts::Found> found =
      costs.Find(op.kind, op_class, signature, op.flops, static_cast<double>(op.bytes_accessed));
  if (!found) return std::nullopt;
  // The standard deviation of normal errors whose median absolute value is that of the fit.
  return Cost(found->nanos,
              found->is_of_kind ? CostSource::kNeighbour : CostSource::kRoofline,
              1.4826 * found->fit->error);
}

Interference InterferenceOf(const DeviceKind& kind, OpClass op_class) {
  const auto found = kind.interference.find(std::string(ToString(op_class)));
  return found == kind.interference.end() ? Interference{} : found->second;
}

// Returns [batch, rows, columns] of the largest output of a product; nullopt without one of a known
// shape.
std::optional<std::array<double, 3>> ProductShape(const Graph& graph, const Op& op) {
  std::optional<std::array<double, 3>> largest;
  double most = 0;
  for (const int id : op.outputs) {
    const std::vector<std::int64_t>& shape = graph.tensor(id).shape;
    std::array<double, 3> product{1, 1, 1};
    for (size_t i = 0; i < shape.size(); ++i) {
      const double size = static_cast<double>(std::max<std::int64_t>(0, shape[i]));
      product[i + 2 < shape.size() ? 0 : i + 3 - shape.size()] *= size;
    }
    const double elements = shape.empty() ? 0 : product[0] * product[1] * product[2];
    if (elements <= most) continue;
    most = elements;
    largest = product;
  }
  return largest;
}

// Returns the cost by one of the kind's kernel fits; nullopt if none is for the op.
std::optional<Cost> KernelCost(const Graph& graph,
                               const Op& op,
                               const Work& work,
                               const DeviceKind& kind) {
  if (kind.fitted.empty() || kind.device_class == DeviceClass::kNetwork) return std::nullopt;
  const KernelFitEntry entry = FindKernelFit(kind, kFloatTypes[work.dtype], op.kind, work.op_class);
  if (entry.fit == nullptr) return std::nullopt;
  std::array<double, 3> product{1, 1, 1};
  if (work.op_class == OpClass::kMatmul) {
    const auto shape = ProductShape(graph, op);
    if (!shape) return std::nullopt;
    product = *shape;
  }
  const auto bytes = static_cast<double>(op.bytes_accessed);
  return Cost(FittedKernelTime(kind, entry, work.op_class, product, op.flops, bytes),
              CostSource::kRoofline,
              1.4826 * entry.fit->error);
}

Cost ModelCost(const Op& op, const Work& work, const Rates& rates, const std::string& where) {
  const double peak = rates.peak[work.dtype];
  if (!(peak > 0) || rates.kind->device_class == DeviceClass::kNetwork) {
    RefuseKind(where, op, *rates.kind, fmt::format("peak for {}", kFloatTypes[work.dtype]));
  }
  if (!(rates.memory_rate > 0)) RefuseKind(where, op, *rates.kind, "memory_bandwidth");
  const int c = static_cast<int>(work.op_class);
  const double compute = op.flops / (peak * rates.efficiency[c]);
  const double memory = static_cast<double>(op.bytes_accessed) / rates.memory_rate;
  const bool is_told = compute > memory ? rates.is_told[c] : rates.memory_is_told;
  const bool is_known = work.op_class != OpClass::kUnknown && is_told;
  return {static_cast<double>(rates.kind->overhead) + std::max(compute, memory) * 1e9,
          is_known ? CostSource::kRoofline : CostSource::kDefault};
}

// Returns a mask of the devices that an op names (Op::devices); all bits if it names none.
std::uint64_t NamedDevices(const Graph& graph,
                           const Op& op,
                           const Cluster& cluster,
                           const std::string& where) {
  if (op.devices.empty()) return ~std::uint64_t{0};
  std::uint64_t named = 0;
  for (const std::string& pattern : op.devices) {
    std::uint64_t matched = 0;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (MatchesGlob(pattern, cluster.device(d).name)) matched |= std::uint64_t{1} << d;
    }
    if (matched == 0) {
      throw InputError(
          fmt::format("{}: graph \"{}\": op \"{}\": devices: no device of cluster \"{}\" matches "
                      "\"{}\"{}",
                      where,
                      graph.name(),
                      op.name,
                      cluster.name(),
                      pattern,
                      ChoicesHint(pattern, cluster.DeviceNames())));
    }
    named |= matched;
  }
  return named;
}

[[noreturn]] void RefuseEverywhere(const std::string& where, const Op& op, const Cluster& cluster) {
  std::vector<std::string> devices, limits;
  std::string_view reason = "is of these kinds";
  if (!op.device_kinds.empty()) {
    limits.push_back(fmt::format("device_kinds [{}]", fmt::join(op.device_kinds, ", ")));
  }
  if (!op.devices.empty()) {
    limits.push_back(fmt::format("devices [{}]", fmt::join(op.devices, ", ")));
    reason = "is allowed by both";
  }
  if (limits.empty()) {
    limits.emplace_back("devices of other classes than network, as it names none");
    reason = "is one";
  }
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    devices.push_back(
        fmt::format("{} ({}, {})", cluster.device(d).name, kind.name, ToString(kind.device_class)));
  }
  throw InputError(
      fmt::format("{}: op \"{}\" may only run on {}, but no device of cluster \"{}\" {}; the "
                  "cluster has {}",
                  where,
                  op.name,
                  fmt::join(limits, " and "),
                  cluster.name(),
                  reason,
                  fmt::join(devices, ", ")));
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

void WarnOfUnmeasured(const CostInputs& sources,
                      const DeviceKind& kind,
                      int num_ops,
                      const std::string& where) {
  if (num_ops == 0 || !sources.warn) return;
  sources.warn(
      fmt::format("{}: the cost table of machine \"{}\" does not have device kind \"{}\"; the "
                  "roofline model gives the costs of {} ops on it",
                  where,
                  sources.table->machine,
                  kind.name,
                  num_ops));
}

}  // namespace

Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where,
                   const CostInputs& sources) {
  if (sources.table != nullptr) RequireCommonKind(*sources.table, cluster, where);
  Costs costs;
  costs.num_ops = graph.num_ops();
  costs.num_devices = cluster.num_devices();
  const size_t size = static_cast<size_t>(costs.num_ops) * costs.num_devices;
  costs.time.reserve(size);
  costs.source.reserve(size);
  costs.uncertainty.reserve(size);

  const bool has_neighbors = cluster.has_neighbors();
  std::vector<Rates> kinds;
  for (const DeviceKind& kind : cluster.kinds()) {
    kinds.push_back(MakeRates(kind));
    if (sources.table == nullptr) continue;
    kinds.back().measured = sources.table->Find(kind.name);
    if (kinds.back().measured == nullptr) continue;
    kinds.back().fitted.emplace(*kinds.back().measured, sources.prefer_in_situ);
  }
  std::vector<std::uint64_t> devices_of_kind(kinds.size(), 0);
  for (int d = 0; d < costs.num_devices; ++d) {
    devices_of_kind[cluster.device(d).kind] |= std::uint64_t{1} << d;
  }
  std::vector<int> num_modelled(kinds.size(), 0);
  std::unordered_map<std::string_view, OpClass> classes;
  std::map<std::vector<std::string>, std::uint64_t> named_by_list;  // NamedDevices()
  const double limit = static_cast<double>(kMaxNanos / std::max(1, costs.num_ops));
  const Cost forbidden_cost(static_cast<double>(kMaxNanos), CostSource::kFree);
  std::vector<Cost> cost_on_kind(kinds.size(), forbidden_cost);
  std::string signature;
  for (int v = 0; v < costs.num_ops; ++v) {
    const Op& op = graph.op(v);
    signature.clear();  // computed when first needed
    const auto [entry, is_new] = classes.emplace(op.kind, OpClass::kUnknown);
    if (is_new) entry->second = ClassifyOp(op.kind);
    const Work work{entry->second, FindDtype(graph, op)};
    const auto [listed, is_new_list] = named_by_list.try_emplace(op.devices, 0);
    if (is_new_list) listed->second = NamedDevices(graph, op, cluster, where);
    const std::uint64_t named = listed->second;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const bool is_named = op.devices.empty() || (named & devices_of_kind[k]) != 0;
      if (!is_named || !MayRunOn(op, *kinds[k].kind)) {
        cost_on_kind[k] = forbidden_cost;
        continue;
      }
      const KindCosts* measured = kinds[k].measured;
      std::optional<Cost> cost = OwnCost(op, *kinds[k].kind);
      if (!cost && measured != nullptr) {
        if (signature.empty()) signature = OpSignature(graph, v);
        cost = TimedCost(*measured, signature, sources);
      }
      if (!cost && work.op_class == OpClass::kView) cost = Cost(0, CostSource::kFree);
      if (!cost && measured != nullptr) {
        cost = FittedCost(*kinds[k].fitted, op, signature, work.op_class);
      }
      if (!cost) {
        cost = KernelCost(graph, op, work, *kinds[k].kind);
        if (!cost) cost = ModelCost(op, work, kinds[k], where);
        ++num_modelled[k];
      }
      if (!cost->interference) cost->interference = InterferenceOf(*kinds[k].kind, work.op_class);
      cost_on_kind[k] = *cost;
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
    bool is_allowed = false;
    for (int d = 0; d < costs.num_devices; ++d) {
      const Cost& cost = named >> d & 1 ? cost_on_kind[cluster.device(d).kind] : forbidden_cost;
      const bool forbidden = cost.nanos >= forbidden_cost.nanos;
      is_allowed |= !forbidden;
      costs.time.push_back(forbidden ? kMaxNanos : std::llround(cost.nanos));
      costs.source.push_back(cost.source);
      costs.uncertainty.push_back(cost.uncertainty);
      if (has_neighbors) costs.interference.push_back(cost.interference.value_or(Interference{}));
    }
    if (!is_allowed) RefuseEverywhere(where, op, cluster);
  }
  for (size_t k = 0; sources.table != nullptr && k < kinds.size(); ++k) {
    if (kinds[k].measured == nullptr) {
      WarnOfUnmeasured(sources, *kinds[k].kind, num_modelled[k], where);
    }
  }
  return costs;
}

bool MayRunOn(const Op& op, const DeviceKind& kind) {
  if (op.device_kinds.empty()) {
    return kind.device_class != DeviceClass::kNetwork || !op.devices.empty();
  }
  return std::any_of(op.device_kinds.begin(), op.device_kinds.end(), [&](const std::string& name) {
    return name == ToString(kind.device_class) || name == kind.name;
  });
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

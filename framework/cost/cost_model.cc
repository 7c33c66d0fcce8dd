#include "framework/cost/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kNumClasses = static_cast<int>(OpClass::kUnknown) + 1;

// Share of the peak that an op class reaches where the device kind does not tell [ours]: round
// figures between what tuned libraries reach on large shapes (0.7 to 0.9 of peak for products) and
// what the shapes of real training graphs leave of it. Matters only when FLOPs and not bytes
// decide.
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
// The same for the memory bandwidth [ours]; streaming benchmarks reach 0.7 to 0.9 of the data
// sheet.
constexpr double kDefaultMemoryEfficiency = 0.70;

// Relative standard error by rung [ours], until a calibration measures it: timers and clocks vary
// by a few percent, fits of neighbouring shapes by 15 %, rooflines with published figures are known
// to miss by a third, and a class of which nothing is known by a factor.
constexpr std::array<float, kNumRungs> kUncertainty{0.05F, 0.15F, 0.35F, 0.70F, 0.0F};

constexpr std::array<std::string_view, 5> kFloatTypes{"f64", "f32", "bf16", "f16", "f8"};
constexpr int kF32 = 1;

// One device kind with everything looked up.
struct Rates {
  const DeviceKind* kind;
  std::array<double, kFloatTypes.size()> peak{};  // [FLOP/s]; 0: not told
  std::array<double, kNumClasses> efficiency{};   // with the defaults filled in
  std::array<bool, kNumClasses> is_told{};
  double memory_rate = 0;  // [B/s] that is reached
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

// What the roofline wants to know of an op.
struct Work {
  OpClass op_class;
  int dtype;  // index into kFloatTypes
};

// The floating type of the op's largest tensor that has one.
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

bool MayRunOn(const Op& op, const DeviceKind& kind) {
  return op.device_kinds.empty() ||
         std::any_of(op.device_kinds.begin(), op.device_kinds.end(), [&](const std::string& name) {
           return name == ToString(kind.device_class) || name == kind.name;
         });
}

struct Cost {
  double nanos;
  Rung rung;
};

[[noreturn]] void RefuseKind(const std::string& where,
                             const Op& op,
                             const DeviceKind& kind,
                             const std::string& missing) {
  throw InputError(
      fmt::format("{}: op \"{}\" ({}) has no cost_ns for device kind \"{}\", and that kind has no "
                  "{}; expected a "
                  "cost_ns with the op, or peak and memory_bandwidth with the kind",
                  where,
                  op.name,
                  op.kind,
                  kind.name,
                  missing));
}

Cost ModelCost(const Op& op, const Work& work, const Rates& rates, const std::string& where) {
  const auto measured = std::find_if(op.cost_ns.begin(), op.cost_ns.end(), [&](const auto& entry) {
    return entry.first == rates.kind->name;
  });
  if (measured != op.cost_ns.end()) return {measured->second, Rung::kMeasured};
  if (work.op_class == OpClass::kView) return {0, Rung::kFree};
  const double peak = rates.peak[work.dtype];
  if (!(peak > 0)) {
    RefuseKind(where, op, *rates.kind, fmt::format("peak for {}", kFloatTypes[work.dtype]));
  }
  if (!(rates.memory_rate > 0)) RefuseKind(where, op, *rates.kind, "memory_bandwidth");
  const int c = static_cast<int>(work.op_class);
  const double compute = op.flops / (peak * rates.efficiency[c]);
  const double memory = static_cast<double>(op.bytes_accessed) / rates.memory_rate;
  const bool is_told = compute > memory ? rates.is_told[c] : rates.memory_is_told;
  const bool is_known = work.op_class != OpClass::kUnknown && is_told;
  return {static_cast<double>(rates.kind->overhead) + std::max(compute, memory) * 1e9,
          is_known ? Rung::kRoofline : Rung::kDefault};
}

[[noreturn]] void RefuseEverywhere(const std::string& where, const Op& op, const Cluster& cluster) {
  std::vector<std::string> devices;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    devices.push_back(
        fmt::format("{} ({}, {})", cluster.device(d).name, kind.name, ToString(kind.device_class)));
  }
  throw InputError(fmt::format(
      "{}: op \"{}\" may only run on device_kinds [{}], and no device of cluster \"{}\" is one of "
      "them; the cluster has {}",
      where,
      op.name,
      fmt::join(op.device_kinds, ", "),
      cluster.name(),
      fmt::join(devices, ", ")));
}

}  // namespace

Costs ComputeCosts(const Graph& graph, const Cluster& cluster, const std::string& where) {
  Costs costs;
  costs.num_ops = graph.num_ops();
  costs.num_devices = cluster.num_devices();
  const size_t size = static_cast<size_t>(costs.num_ops) * costs.num_devices;
  costs.time.reserve(size);
  costs.rung.reserve(size);
  costs.uncertainty.reserve(size);

  std::vector<Rates> kinds;
  for (const DeviceKind& kind : cluster.kinds()) kinds.push_back(MakeRates(kind));
  std::unordered_map<std::string_view, OpClass> classes;
  const double limit = static_cast<double>(kMaxNanos / std::max(1, costs.num_ops));
  constexpr Cost kForbidden{static_cast<double>(kMaxNanos), Rung::kFree};
  std::vector<Cost> cost_on_kind(kinds.size());
  for (const Op& op : graph.ops()) {
    const auto [entry, is_new] = classes.emplace(op.kind, OpClass::kUnknown);
    if (is_new) entry->second = ClassifyOp(op.kind);
    const Work work{entry->second, FindDtype(graph, op)};
    for (size_t k = 0; k < kinds.size(); ++k) {
      if (!MayRunOn(op, *kinds[k].kind)) {
        cost_on_kind[k] = kForbidden;
        continue;
      }
      cost_on_kind[k] = ModelCost(op, work, kinds[k], where);
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
    for (const Device& device : cluster.devices()) {
      const Cost& cost = cost_on_kind[device.kind];
      const bool forbidden = cost.nanos >= kForbidden.nanos;
      is_allowed |= !forbidden;
      costs.time.push_back(forbidden ? kMaxNanos : std::llround(cost.nanos));
      costs.rung.push_back(cost.rung);
      costs.uncertainty.push_back(kUncertainty[static_cast<int>(cost.rung)]);
    }
    if (!is_allowed) RefuseEverywhere(where, op, cluster);
  }
  return costs;
}

RungShares ComputeRungShares(const Costs& costs, std::span<const std::uint8_t> device_of_op) {
  EMPLACE_CHECK(device_of_op.size() == static_cast<size_t>(costs.num_ops));
  RungShares shares{};
  double total = 0;
  for (int op = 0; op < costs.num_ops; ++op) {
    const int device = device_of_op[op];
    EMPLACE_CHECK(device < costs.num_devices && costs.allowed(op, device));
    const double time = static_cast<double>(costs.at(op, device));
    shares[static_cast<int>(costs.rung_at(op, device))] += time;
    total += time;
  }
  if (total > 0) {
    for (double& share : shares) share /= total;
  }
  return shares;
}

}  // namespace emplace

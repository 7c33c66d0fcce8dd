#include "profilers/measure/calibrated_cluster.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/measure/in_situ.h"
#include "profilers/measure/interference_phase.h"
#include "profilers/statistics/link_fit.h"

namespace emplace {
namespace {

constexpr size_t kEnoughSizes = 8, kLeastSizes = 3;
constexpr std::int64_t kEnoughCopies = 20;

double WaitOf(const CostTable& table, const std::string& kind) {
  const DispatchCosts* dispatch = FindDispatch(table, kind);
  return dispatch == nullptr ? 0 : dispatch->wait_ns;
}

bool IsEnough(const LinkMeasurement& link) {
  std::int64_t copies = 0;
  for (const auto& [bytes, timing] : link.points) copies += timing.samples;
  return link.points.size() >= kEnoughSizes ||
         (link.points.size() >= kLeastSizes && copies >= kEnoughCopies);
}

bool HasCopiesInSteps(const CostTable& table) {
  return std::ranges::any_of(table.links, [](const LinkMeasurement& link) {
    return link.memory == kInSituMemory && IsEnough(link);
  });
}

LinkRange FitMeasured(const CostTable& table,
                      const std::string& from,
                      const std::string& to,
                      const std::string& memory) {
  const LinkMeasurement* in_situ = FindLink(table, from, to, kInSituMemory);
  const LinkMeasurement* alone = FindLink(table, from, to, memory);
  const bool use_in_situ = in_situ != nullptr && IsEnough(*in_situ);
  const LinkMeasurement* link = use_in_situ ? in_situ : alone;
  if (link == nullptr || link->points.size() < 2) {
    std::vector<std::string> known;
    for (const LinkMeasurement& other : table.links) {
      known.push_back(fmt::format("{}->{} ({})", other.from, other.to, other.memory));
    }
    throw InputError(
        fmt::format("cost table of machine \"{}\": no timings of the link {}->{} "
                    "({}); it has {}",
                    table.machine,
                    from,
                    to,
                    memory,
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  std::vector<LinkPoint> points;
  for (const auto& [bytes, timing] : link->points) {
    const double nanos = std::max(1.0, use_in_situ ? timing.Additive() : timing.median);
    const double weight = use_in_situ ? static_cast<double>(timing.samples) : 1 / nanos;
    points.push_back({static_cast<double>(bytes), nanos, weight});
  }
  return FitChannel(points);
}

// The best rates of any measured op [FLOP/s], [B/s].
struct Reached {
  double flops = 0, bytes = 0;
};

Reached BestRates(const KindCosts& costs) {
  Reached reached;
  for (const OpMeasurement& op : costs.ops) {
    const std::optional<double> time = op.Time();
    if (!time || !(*time > 0) || op.is_proxy) continue;
    reached.flops = std::max(reached.flops, op.flops / *time * 1e9);
    reached.bytes = std::max(reached.bytes, static_cast<double>(op.bytes) / *time * 1e9);
  }
  return reached;
}

// Limits a fitted rate to twice the best measured one. A fit may extrapolate beyond the rates of
// all ops, or may not determine a rate because another term dominates.
double Believable(double fitted, double reached) {
  return reached > 0 ? std::min(fitted, 2 * reached) : fitted;
}

void AddRates(const KindCosts& costs, DeviceKind& kind) {
  const Reached reached = BestRates(costs);
  double peak = 0, bandwidth = 0;
  std::vector<double> bandwidths, overheads;
  for (const auto& [op_class, fit] : costs.by_class) {
    peak = std::max(peak, Believable(fit.flops_per_second, reached.flops));
    const double rate = Believable(fit.bytes_per_second, reached.bytes);
    bandwidth = std::max(bandwidth, rate);
    if (rate > 0) bandwidths.push_back(rate);
    overheads.push_back(fit.overhead_ns);
  }
  if (!overheads.empty()) kind.overhead = std::llround(std::max(0.0, Median(overheads)));
  peak = std::round(peak > 0 ? peak : reached.flops);
  bandwidth = std::round(bandwidth > 0 ? bandwidth : reached.bytes);
  if (peak > 0) kind.peak = {{"f32", peak}};
  if (bandwidth > 0) kind.memory_bandwidth = bandwidth;

  kind.efficiency.clear();
  kind.fitted.clear();
  const auto set_efficiency = [&](const std::string& key, double share) {
    // More than four digits would exceed the accuracy and make the files less readable.
    if (share > 0) kind.efficiency[key] = std::clamp(std::round(share * 1e4) / 1e4, 1e-4, 1.0);
  };
  if (!bandwidths.empty()) set_efficiency("memory", Median(bandwidths) / bandwidth);
  const std::vector<std::string>& keys = EfficiencyKeys();
  for (const auto& [op_class, fit] : costs.by_class) {
    if (std::find(keys.begin(), keys.end(), op_class) == keys.end() || !(peak > 0)) continue;
    set_efficiency(op_class, Believable(fit.flops_per_second, reached.flops) / peak);
  }
}

DeviceKind CalibratedKind(const CostTable& table, const DeviceKind& kind, DispatchMode mode) {
  DeviceKind calibrated = kind;
  const KindCosts* costs = table.Find(kind.name);
  const DispatchCosts* dispatch = FindDispatch(table, kind.name);
  calibrated.issue = calibrated.launch = 0;
  if (costs != nullptr) {
    calibrated.gap = costs->kind.gap;
    calibrated.cold_read = costs->kind.cold_read;
    calibrated.interference = costs->kind.interference;
    AddRates(*costs, calibrated);
  }
  if (mode == DispatchMode::kEager && dispatch != nullptr) {
    calibrated.issue = std::llround(dispatch->issue_ns);
    calibrated.launch = std::llround(dispatch->launch_ns);
  } else if (mode == DispatchMode::kGraph && costs != nullptr) {
    const auto property = table.properties.find(kDispatchProperty);
    const bool was_graph =
        property != table.properties.end() && property->second == ToString(DispatchMode::kGraph);
    if (was_graph) calibrated.launch = costs->kind.launch;
  }
  calibrated.source = "measured on " + table.machine;
  return calibrated;
}

// Returns the link that copies from one device to another use: the first one of the backend.
// nullptr: none.
const BackendLink* LinkBetween(const Backend& backend, int from, int to) {
  for (const BackendLink& link : backend.links()) {
    if (link.from == from && link.to == to) return &link;
  }
  return nullptr;
}

}  // namespace

std::string ToString(DispatchMode mode) {
  return mode == DispatchMode::kEager ? "eager" : "graph";
}

std::string ChannelName(const Backend& backend, const BackendLink& link) {
  return backend.devices()[link.from].name + "->" + backend.devices()[link.to].name;
}

Cluster CalibratedCluster(const CostTable& table,
                          const Backend& backend,
                          const std::string& name,
                          DispatchMode mode) {
  const auto backend_devices = backend.devices();
  const int num_devices = static_cast<int>(backend_devices.size());
  std::vector<DeviceKind> kinds;
  std::vector<Device> devices;
  for (const BackendDevice& device : backend_devices) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const DeviceKind& kind) {
      return kind.name == device.kind.name;
    });
    const int kind = static_cast<int>(known - kinds.begin());
    if (known == kinds.end()) {
      kinds.push_back(CalibratedKind(table, device.kind, mode));
      const auto transfers = kinds.back().interference.find(kTransferClass);
      if (transfers != kinds.back().interference.end() && HasCopiesInSteps(table)) {
        transfers->second.sensitivity = 0;  // already in their times
      }
    }
    devices.push_back({.name = device.name, .kind = kind, .memory = device.memory});
  }
  for (Device& device : devices) {
    for (size_t e = 0; e < devices.size(); ++e) {
      if (!AreNeighbors(table, device.name, devices[e].name)) continue;
      device.neighbors |= std::uint64_t{1} << e;
    }
  }

  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(size_t(num_devices) * num_devices);
  const auto route = [&](int from, int to) -> std::vector<int>& {
    return routes[size_t(from) * num_devices + to];
  };
  for (int from = 0; from < num_devices; ++from) {
    for (int to = 0; to < num_devices; ++to) {
      const BackendLink* link = from == to ? nullptr : LinkBetween(backend, from, to);
      if (link == nullptr) continue;
      const LinkRange fit =
          FitMeasured(table, backend_devices[from].name, backend_devices[to].name, link->memory);
      const double waits = WaitOf(table, backend_devices[from].kind.name) +
                           WaitOf(table, backend_devices[to].kind.name);
      route(from, to) = {static_cast<int>(channels.size())};
      channels.push_back(
          {.name = ChannelName(backend, *link),
           .latency = std::llround(waits),
           .setup = std::llround(fit.latency_ns),
           .bandwidth = {std::max<std::int64_t>(1, std::llround(fit.bytes_per_second)), 1},
           .gap = kinds[devices[from].kind].gap,
           .occupies = link->by_source ? Occupies::kSource : Occupies::kNone});
    }
  }
  const std::vector<std::vector<int>> direct = routes;
  for (int from = 0; from < num_devices; ++from) {
    for (int to = 0; to < num_devices; ++to) {
      if (from == to || !route(from, to).empty()) continue;
      for (int host = 0; host < num_devices; ++host) {
        const std::vector<int>& up = direct[size_t(from) * num_devices + host];
        const std::vector<int>& down = direct[size_t(host) * num_devices + to];
        const bool is_cpu = kinds[devices[host].kind].device_class == DeviceClass::kCpu;
        if (!is_cpu || up.empty() || down.empty()) continue;
        route(from, to) = {up.front(), down.front()};
        break;
      }
    }
  }
  return Cluster(name, std::move(kinds), std::move(devices), std::move(channels), routes, name);
}

}  // namespace emplace

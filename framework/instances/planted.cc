#include "framework/instances/planted.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/instances/task_graph.h"

namespace emplace {
namespace {

constexpr double kMeanCost = 100'000;  // [ns]
constexpr Nanos kSpeedUnit = 1000;     // slowness of device 0

void RequireRange(const char* option, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw InputError(fmt::format(
      "planted: {}: expected a number from {} to {}, got {}", option, least, most, value));
}

struct PlantedOp {
  int device;
  Nanos start, finish;
  std::uint64_t tie;  // order of equal starts
};

/// Draws ops of about equal work that fill [0, length] on every device, sorted by start.
std::vector<PlantedOp> DrawSchedule(const PlantedOptions& options,
                                    const std::vector<Nanos>& slowness,
                                    Nanos length,
                                    Rng& rng) {
  std::vector<int> count(options.devices, 0);
  for (int v = 0; v < options.ops; ++v) {
    int least = 0;
    for (int d = 0; d < options.devices; ++d) {
      if (v < options.devices
              ? d == v
              : (count[d] + 1) * slowness[d] < (count[least] + 1) * slowness[least]) {
        least = d;
      }
    }
    ++count[least];
  }
  std::vector<PlantedOp> ops;
  for (int d = 0; d < options.devices; ++d) {
    std::vector<double> ends;
    double total = 0;
    for (int i = 0; i < count[d]; ++i) ends.push_back(total += 0.1 + 1.8 * Uniform01(rng));
    Nanos start = 0;
    for (double end : ends) {
      const Nanos finish = std::llround(end / total * static_cast<double>(length));
      ops.push_back({d, start, finish, rng()});
      start = finish;
    }
  }
  std::sort(ops.begin(), ops.end(), [](const PlantedOp& a, const PlantedOp& b) {
    return std::tie(a.start, a.tie) < std::tie(b.start, b.tie);
  });
  return ops;
}

/// Sets the bytes of each op's tensor and draws its readers. @return [num_ops] readers
std::vector<std::vector<int>> DrawReaders(const PlantedOptions& options,
                                          const std::vector<PlantedOp>& ops,
                                          Rng& rng,
                                          std::vector<Nanos>& bytes) {
  constexpr int kSoon = 4;  // readers are among this many ops that start next
  const int devices = options.devices;
  std::vector<std::vector<int>> ops_of(devices), readers(ops.size());
  for (int v = 0; v < options.ops; ++v) ops_of[ops[v].device].push_back(v);
  std::vector<Nanos> channel_free(static_cast<std::size_t>(devices) * devices, 0);
  for (int u = 0; u < options.ops; ++u) {
    const PlantedOp& op = ops[u];
    bytes.push_back(std::llround(2 * options.ccr * kMeanCost * Uniform01(rng)));
    const int whole = static_cast<int>(options.readers);
    const int count = whole + (Uniform01(rng) < options.readers - whole);
    std::vector<bool> reads(devices, false);
    const auto arrival = [&](int to) {
      const Nanos free = channel_free[static_cast<std::size_t>(op.device) * devices + to];
      return to == op.device ? op.finish : std::max(op.finish, free) + bytes[u];
    };
    const auto first_after = [&](int d, Nanos time) {
      return std::lower_bound(ops_of[d].begin(), ops_of[d].end(), time, [&](int v, Nanos t) {
        return ops[v].start < t;
      });
    };
    if (options.chains) {
      const auto next = first_after(op.device, op.finish);
      if (next != ops_of[op.device].end()) readers[u].push_back(*next);
    }
    for (int i = 0; i < count; ++i) {
      const int d = UniformInt(rng, devices);
      const auto first = first_after(d, arrival(d));
      const int choices =
          static_cast<int>(std::min<std::ptrdiff_t>(ops_of[d].end() - first, kSoon));
      if (choices == 0) continue;
      readers[u].push_back(first[UniformInt(rng, choices)]);
      reads[d] = true;
    }
    std::sort(readers[u].begin(), readers[u].end());
    readers[u].erase(std::unique(readers[u].begin(), readers[u].end()), readers[u].end());
    for (int d = 0; d < devices; ++d) {
      if (reads[d] && d != op.device) {
        channel_free[static_cast<std::size_t>(op.device) * devices + d] = arrival(d);
      }
    }
  }
  return readers;
}

}  // namespace

Instance MakePlanted(const PlantedOptions& options) {
  RequireRange("devices", options.devices, 1, kMaxDevices);
  RequireRange("ops", options.ops, options.devices, 10'000'000);
  RequireRange("readers", options.readers, 0, 100);
  RequireRange("ccr", options.ccr, 0, 1000);
  RequireRange("slowest", options.slowest, 1, 100);
  Rng rng(options.seed);
  std::vector<Nanos> slowness;
  double speed = 0;  // of all devices together, in ops of device 0
  for (int d = 0; d < options.devices; ++d) {
    const double share = d == 0 ? 0.0 : static_cast<double>(d) / (options.devices - 1);
    slowness.push_back(std::llround(kSpeedUnit * (1 + (options.slowest - 1) * share)));
    speed += static_cast<double>(kSpeedUnit) / static_cast<double>(slowness[d]);
  }
  const Nanos length = std::llround(kMeanCost * options.ops / speed);
  const std::vector<PlantedOp> planted = DrawSchedule(options, slowness, length, rng);
  std::vector<Nanos> bytes;
  const std::vector<std::vector<int>> readers = DrawReaders(options, planted, rng, bytes);

  std::vector<int> id_of(options.ops);
  std::iota(id_of.begin(), id_of.end(), 0);
  if (options.shuffle) {
    for (int v = options.ops - 1; v > 0; --v) std::swap(id_of[v], id_of[UniformInt(rng, v + 1)]);
  }
  const bool equal = options.slowest == 1;
  std::vector<DeviceKind> kinds;
  for (int d = 0; d < (equal ? 1 : options.devices); ++d) {
    kinds.push_back({.name = equal ? "processor" : fmt::format("processor{}", d),
                     .device_class = DeviceClass::kGpu,
                     .pays_transfers = false});
  }
  std::vector<Op> ops(options.ops);
  std::vector<Tensor> tensors(options.ops);
  std::vector<DeviceIndex> device_of_op(options.ops);
  for (int v = 0; v < options.ops; ++v) {
    const int id = id_of[v], device = planted[v].device;
    ops[id].name = fmt::format("op{}", id);
    ops[id].kind = "task";
    ops[id].outputs = {id};
    for (int e = 0; e < static_cast<int>(kinds.size()); ++e) {
      const Nanos cost = planted[v].finish - planted[v].start;
      const Nanos there = (cost * slowness[e] + slowness[device] - 1) / slowness[device];
      ops[id].cost_ns.emplace_back(kinds[e].name, static_cast<double>(equal ? cost : there));
    }
    tensors[id].bytes = bytes[v];
    device_of_op[id] = static_cast<DeviceIndex>(device);
    for (int reader : readers[v]) ops[id_of[reader]].inputs.push_back(id);
  }
  const std::string source = fmt::format(
      R"({{"framework": "planted", "ops": {}, "devices": {}, "readers": {}, "ccr": {}, "slowest": {}, )"
      R"("chains": {}, "shuffle": {}, "seed": {}, "optimum_ns": {}}})",
      options.ops,
      options.devices,
      options.readers,
      options.ccr,
      options.slowest,
      options.chains,
      options.shuffle,
      options.seed,
      length);
  return {Graph(fmt::format("planted_{}_{}_{}", options.ops, options.devices, options.seed),
                std::move(tensors),
                std::move(ops),
                source),
          PrivateChannels(std::move(kinds), options.devices),
          length,
          false,
          std::move(device_of_op),
          std::move(id_of)};
}

}  // namespace emplace

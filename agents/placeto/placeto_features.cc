#include "agents/placeto/placeto_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "agents/shared/features.h"
#include "agents/shared/move_features.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kDeviceColumns = 6;

Nanos FastestCost(const Problem& problem, int group) {
  Nanos fastest = kMaxNanos;
  for (int d = 0; d < problem.num_devices(); ++d) {
    if (problem.allowed(group, d)) fastest = std::min(fastest, problem.group_cost(group, d));
  }
  return fastest;
}

/// [num_groups, num_devices]
Matrix StandardizedCosts(const Problem& problem) {
  Matrix costs = Matrix::Zero(problem.num_groups(), problem.num_devices());
  double count = 0, sum = 0, squares = 0;
  for (int g = 0; g < costs.rows(); ++g) {
    for (int d = 0; d < costs.cols(); ++d) {
      if (!problem.allowed(g, d)) continue;
      const double cost = std::log1p(static_cast<double>(problem.group_cost(g, d)));
      costs(g, d) = static_cast<float>(cost);
      count += 1;
      sum += cost;
      squares += cost * cost;
    }
  }
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
  for (int g = 0; g < costs.rows(); ++g) {
    for (int d = 0; d < costs.cols(); ++d) {
      if (!problem.allowed(g, d)) continue;
      costs(g, d) = deviation > 1e-6 ? static_cast<float>((costs(g, d) - mean) / deviation) : 0;
    }
  }
  return costs;
}

/// Returns the bytes of distinct tensors by (producing group, reading group).
std::map<std::pair<int, int>, double> Flows(const Problem& problem) {
  std::map<std::pair<int, int>, double> flows;
  for (int t = 0; t < problem.graph().num_tensors(); ++t) {
    const Tensor& tensor = problem.graph().tensor(t);
    if (tensor.producer < 0) continue;
    const int from = problem.grouping().group_of(tensor.producer);
    std::set<int> to;
    for (int reader : problem.graph().readers(t)) to.insert(problem.grouping().group_of(reader));
    to.erase(from);
    for (int group : to) flows[{from, group}] += static_cast<double>(tensor.bytes);
  }
  return flows;
}

/// Returns the bytes of each group's distinct tensors that other groups read: [num_groups].
std::vector<double> OutputBytes(const Problem& problem) {
  std::vector<double> bytes(problem.num_groups());
  for (int t = 0; t < problem.graph().num_tensors(); ++t) {
    const Tensor& tensor = problem.graph().tensor(t);
    if (tensor.producer < 0) continue;
    const int from = problem.grouping().group_of(tensor.producer);
    const auto readers = problem.graph().readers(t);
    if (std::any_of(readers.begin(), readers.end(), [&](int reader) {
          return problem.grouping().group_of(reader) != from;
        })) {
      bytes[from] += static_cast<double>(tensor.bytes);
    }
  }
  return bytes;
}

}  // namespace

void PlacetoFeaturesConfig::Visit(FieldVisitor& v) {
  v.Field("devices",
          devices,
          "one_hot (the devices of the groups, for a fixed number of devices) or scored (each "
          "device separately, for any number)");
  v.Field("start_time", start_time, "add the start times of the groups in the last simulation");
  v.Field("memory", memory, "add the resident bytes of the groups");
  v.Field("device_costs", device_costs, "add the cost on each device (one_hot)");
  v.Field(
      "effects", effects, "add estimates of the effect of each choice on the schedule (scored)");
}

int PlacetoFeatures::group_width(const PlacetoFeaturesConfig& config, int num_devices) {
  return 4 + config.start_time + config.memory +
         (config.one_hot() ? num_devices * (1 + config.device_costs) : 1);
}

int PlacetoFeatures::device_width(const PlacetoFeaturesConfig& config) {
  if (config.one_hot()) return 0;
  return kDeviceColumns + (config.effects ? MoveFeatures::kCount : 0);
}

PlacetoFeatures::PlacetoFeatures(const Problem& problem,
                                 const PlacetoGraph& graph,
                                 const PlacetoFeaturesConfig& config,
                                 const std::string& key)
    : problem_(problem),
      graph_(graph),
      config_(config),
      inputs_(problem.num_groups()),
      outputs_(problem.num_groups()) {
  RequireChoice(key + ".devices", config.devices, {"one_hot", "scored"});
  if (config.device_costs && !config.one_hot()) {
    throw SettingError(key + ".device_costs", "expected false with devices: scored, got true");
  }
  if (config.effects && config.one_hot()) {
    throw SettingError(key + ".effects", "expected false with devices: one_hot, got true");
  }
  const int n = problem.num_groups();
  fixed_ = Matrix::Zero(n, 2 + config.memory + (config.device_costs ? problem.num_devices() : 0));
  const std::vector<double> bytes = OutputBytes(problem);
  for (int g = 0; g < n; ++g) {
    fixed_(g, 0) = static_cast<float>(FastestCost(problem, g));
    fixed_(g, 1) = static_cast<float>(bytes[g]);
    if (config.memory) fixed_(g, 2) = static_cast<float>(problem.group_resident_bytes(g));
  }
  for (int c = 0; c < 2 + config.memory; ++c) {
    Matrix column = fixed_.col(c);
    DivideByLargest(column);
    fixed_.col(c) = column;
  }
  if (config.device_costs) fixed_.rightCols(problem.num_devices()) = StandardizedCosts(problem);
  for (const auto& [ends, flow] : Flows(problem)) {
    outputs_[ends.first].push_back({ends.second, flow});
    inputs_[ends.second].push_back({ends.first, flow});
  }
}

PlacetoBatch PlacetoFeatures::Batch(std::span<const PlacetoState* const> states) const {
  const int count = static_cast<int>(states.size()), devices = problem_.num_devices();
  PlacetoBatch batch;
  batch.groups.resize(problem_.num_groups() * count, group_width(config_, devices));
  batch.allowed.resize(count, devices);
  batch.present = Matrix::Zero(count, devices);
  if (!config_.one_hot()) batch.devices.resize(count * devices, device_width(config_));
  for (int s = 0; s < count; ++s) {
    const PlacetoState& state = *states[s];
    batch.current.push_back(state.current);
    batch.present(s, state.placement.device[state.current]) = 1;
    FillGroups(state, s, count, batch.groups);
    for (int d = 0; d < devices; ++d) batch.allowed(s, d) = problem_.allowed(state.current, d);
    if (config_.one_hot()) continue;
    FillDevices(state, s * devices, batch.devices);
    if (!config_.effects) continue;
    batch.devices.middleRows(s * devices, devices).rightCols(MoveFeatures::kCount) = state.effects;
  }
  return batch;
}

void PlacetoFeatures::FillGroups(const PlacetoState& state,
                                 int row,
                                 int stride,
                                 Matrix& groups) const {
  const bool starts = config_.start_time && !state.start.empty();
  double largest = 0;
  const auto since_current = [&](int g) {
    return static_cast<double>(state.start[g] - state.start[state.current]);
  };
  for (int g = 0; starts && g < problem_.num_groups(); ++g) {
    largest = std::max(largest, std::abs(since_current(g)));
  }
  for (int g = 0; g < problem_.num_groups(); ++g) {
    float* x = groups.data() + (static_cast<Eigen::Index>(g) * stride + row) * groups.cols();
    *x++ = fixed_(g, 0);
    *x++ = fixed_(g, 1);
    *x++ = state.visited[g];
    *x++ = g == state.current;
    if (config_.start_time) {
      *x++ = largest > 0 ? static_cast<float>(since_current(g) / largest) : 0.0F;
    }
    for (int c = 2; c < fixed_.cols(); ++c) *x++ = fixed_(g, c);
    if (!config_.one_hot()) {
      *x = state.placement.device[g] == state.placement.device[state.current];
      continue;
    }
    std::fill_n(x, problem_.num_devices(), 0.0F);
    x[state.placement.device[g]] = 1;
  }
}

void PlacetoFeatures::FillDevices(const PlacetoState& state, int row, Matrix& devices) const {
  const int v = state.current, count = problem_.num_devices();
  auto rows = devices.middleRows(row, count);
  rows.setZero();
  const auto add_cost = [&](int group, int column) {
    const DeviceIndex d = state.placement.device[group];
    rows(d, column) += static_cast<float>(problem_.group_cost(group, d));
  };
  for (int g = 0; g < problem_.num_groups(); ++g) {
    if (g != v) add_cost(g, 2);
  }
  for (int g : graph_.members(Pool::kParallel, v)) add_cost(g, 3);
  for (const Flow& flow : inputs_[v]) {
    rows(state.placement.device[flow.neighbor], 4) += static_cast<float>(flow.bytes);
  }
  for (const Flow& flow : outputs_[v]) {
    rows(state.placement.device[flow.neighbor], 5) += static_cast<float>(flow.bytes);
  }
  double slowest = 0;
  for (int d = 0; d < count; ++d) {
    if (!problem_.allowed(v, d)) continue;
    rows(d, 1) = static_cast<float>(problem_.group_cost(v, d));
    slowest = std::max<double>(slowest, rows(d, 1));
  }
  const auto scale = [&](int column, float by) {
    if (by > 0) rows.col(column) /= by;
  };
  const float load = rows.col(2).maxCoeff();
  scale(1, static_cast<float>(slowest));
  scale(2, load);
  scale(3, load);
  scale(4, rows.col(4).sum());
  scale(5, rows.col(5).sum());
  rows(state.placement.device[v], 0) = 1;
}

}  // namespace emplace

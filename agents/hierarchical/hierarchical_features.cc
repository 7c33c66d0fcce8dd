#include "agents/hierarchical/hierarchical_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "agents/shared/features.h"
#include "agents/shared/merged_groups.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

float Log1p(double x, double scale) {
  return x < 0 ? -1.0F : static_cast<float>(std::log1p(x) / scale);
}

std::vector<UnitEdge> UnitEdges(const Problem& problem) {
  const Graph& graph = problem.graph();
  std::vector<UnitEdge> edges;
  std::vector<int> readers;
  const auto add = [&](int from, std::span<const int> ops, std::int64_t bytes) {
    readers.clear();
    for (int op : ops) readers.push_back(problem.grouping().group_of(op));
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (int to : readers) {
      if (to != from) edges.push_back({from, to, bytes});
    }
  };
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int unit = problem.grouping().group_of(v);
    for (int t : graph.op(v).outputs) add(unit, graph.readers(t), graph.tensor(t).bytes);
    add(unit, graph.control_readers(v), 0);
  }
  std::sort(edges.begin(), edges.end(), [](const UnitEdge& a, const UnitEdge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  std::vector<UnitEdge> merged;
  for (const UnitEdge& edge : edges) {
    if (!merged.empty() && merged.back().from == edge.from && merged.back().to == edge.to) {
      merged.back().bytes += edge.bytes;
    } else {
      merged.push_back(edge);
    }
  }
  return merged;
}

void FillShapes(const Problem& problem, int unit, Matrix& shapes) {
  const Graph& graph = problem.graph();
  std::vector<int> outputs;
  for (int v : problem.grouping().members(unit)) {
    outputs.insert(outputs.end(), graph.op(v).outputs.begin(), graph.op(v).outputs.end());
  }
  std::sort(outputs.begin(), outputs.end(), [&](int a, int b) {
    return std::tuple(-graph.tensor(a).bytes, a) < std::tuple(-graph.tensor(b).bytes, b);
  });
  for (int i = 0; i < std::min<int>(kMaxOutputs, static_cast<int>(outputs.size())); ++i) {
    const auto& shape = graph.tensor(outputs[i]).shape;
    for (int k = 0; k < std::min<int>(kMaxDims, static_cast<int>(shape.size())); ++k) {
      shapes(unit, i * kMaxDims + k) = static_cast<float>(shape[k]);
    }
  }
}

// Writes the positions of one unit's neighbours in one direction; `found` holds (bytes, position).
void FillNeighbors(std::vector<std::pair<std::int64_t, float>>& found, float own, float* columns) {
  std::sort(found.begin(), found.end(), [own](const auto& a, const auto& b) {
    return std::tuple(-a.first, std::abs(a.second - own), a.second) <
           std::tuple(-b.first, std::abs(b.second - own), b.second);
  });
  for (int i = 0; i < std::min<int>(kMaxNeighbors, static_cast<int>(found.size())); ++i) {
    columns[i] = found[i].second;
  }
}

Matrix NeighborPositions(const UnitFeatures& units) {
  const int n = units.num_units();
  std::vector<std::vector<std::pair<std::int64_t, float>>> in(n), out(n);
  for (const UnitEdge& edge : units.edges) {
    in[edge.to].emplace_back(edge.bytes, units.position[edge.from]);
    out[edge.from].emplace_back(edge.bytes, units.position[edge.to]);
  }
  Matrix neighbors = Matrix::Constant(n, 2 * kMaxNeighbors, -1);
  for (int unit = 0; unit < n; ++unit) {
    FillNeighbors(in[unit], units.position[unit], neighbors.row(unit).data());
    FillNeighbors(out[unit], units.position[unit], neighbors.row(unit).data() + kMaxNeighbors);
  }
  return neighbors;
}

}  // namespace

UnitFeatures::UnitFeatures(const Problem& problem, int num_parts)
    : num_ops(problem.num_groups(), 0),
      shapes(Matrix::Constant(problem.num_groups(), kMaxOutputs * kMaxDims, -1)),
      position(problem.num_groups()),
      costs(problem.num_groups(), problem.num_devices()),
      bytes(Matrix::Zero(problem.num_groups(), 2)),
      edges(UnitEdges(problem)),
      part(num_parts > 0 ? MergedGroups(problem, num_parts) : std::vector<int>()) {
  const Graph& graph = problem.graph();
  const int n = problem.num_groups();
  std::map<std::string, int> column;
  for (const Op& op : graph.ops()) column.emplace(op.kind, 0);
  for (auto& [kind, index] : column) {
    index = static_cast<int>(kinds.size());
    kinds.push_back(kind);
  }
  std::vector<Eigen::Triplet<float>> counts;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int unit = problem.grouping().group_of(v);
    ++num_ops[unit];
    counts.emplace_back(unit, column[graph.op(v).kind], 1.0F);
    for (int t : graph.op(v).outputs) {
      const Tensor& tensor = graph.tensor(t);
      if (tensor.alias_of >= 0) continue;
      bytes(unit, IsResident(tensor) ? 0 : 1) += static_cast<float>(tensor.bytes);
    }
  }
  kind_counts.resize(n, static_cast<int>(kinds.size()));
  kind_counts.setFromTriplets(counts.begin(), counts.end());
  for (int i = 0; i < n; ++i) {
    position[problem.group_order()[i]] = static_cast<float>(i) / static_cast<float>(n);
  }
  for (int unit = 0; unit < n; ++unit) {
    FillShapes(problem, unit, shapes);
    for (int d = 0; d < problem.num_devices(); ++d) {
      costs(unit, d) =
          problem.allowed(unit, d) ? static_cast<float>(problem.group_cost(unit, d)) : -1.0F;
    }
  }
  neighbors = NeighborPositions(*this);
}

Matrix GrouperInput(const UnitFeatures& units, const FeatureConfig& config, bool standardize) {
  constexpr int kPositionColumns = 1 + 2 * kPositionOctaves;
  const int num_devices = units.num_devices(), n = units.num_units();
  const int width = kMaxOutputs * kMaxDims + 2 * kMaxNeighbors + (config.costs ? num_devices : 0) +
                    (config.bytes ? 2 : 0) + (config.position ? kPositionColumns : 0);
  Matrix input(n, width);
  int begin = 0;
  const auto put = [&](const Matrix& block) {
    input.middleCols(begin, block.cols()) = block;
    begin += static_cast<int>(block.cols());
  };
  put(units.shapes.unaryExpr([](float x) { return Log1p(x, 10); }));
  put(units.neighbors);
  if (config.costs) put(units.costs.unaryExpr([](float x) { return Log1p(x, 20); }));
  if (config.bytes) put(units.bytes.unaryExpr([](float x) { return Log1p(x, 20); }));
  if (config.position) {
    put(PositionWaves(std::vector<double>(units.position.begin(), units.position.end()),
                      kPositionOctaves));
  }
  if (standardize) {
    for (int c = 0; c < width; ++c) {
      const Eigen::ArrayXd column = input.col(c).cast<double>().array();
      const Eigen::ArrayXd centred = column - column.mean();
      const double deviation = std::sqrt(centred.square().mean());
      input.col(c) = (centred / std::max(deviation, 1e-6)).cast<float>().matrix();
    }
  }
  return input;
}

int PlacerInputWidth(const UnitFeatures& units, int num_groups, const FeatureConfig& config) {
  return static_cast<int>(units.kinds.size()) + kMaxOutputs * kMaxDims + num_groups +
         (config.costs ? units.num_devices() : 0) + (config.bytes ? 2 : 0) +
         (config.position ? 2 : 0);
}

GroupSequence MakeGroupSequence(const Problem& problem,
                                const UnitFeatures& units,
                                std::span<const int> group_of_unit,
                                int num_groups,
                                const FeatureConfig& config,
                                bool by_position) {
  std::vector<double> ops(num_groups, 0), size(num_groups, 0), mean(num_groups, 0),
      squares(num_groups, 0);
  for (int unit = 0; unit < units.num_units(); ++unit) {
    const int group = group_of_unit[unit];
    ops[group] += units.num_ops[unit];
    ++size[group];
    mean[group] += units.position[unit];
    squares[group] += double{units.position[unit]} * units.position[unit];
  }
  GroupSequence sequence;
  for (int group = 0; group < num_groups; ++group) {
    if (size[group] == 0) continue;
    mean[group] /= size[group];
    sequence.groups.push_back(group);
  }
  if (by_position) {
    std::stable_sort(sequence.groups.begin(), sequence.groups.end(), [&](int a, int b) {
      return mean[a] < mean[b];
    });
  }
  const int length = static_cast<int>(sequence.groups.size());
  std::vector<int> row(num_groups, -1);
  for (int i = 0; i < length; ++i) row[sequence.groups[i]] = i;

  const int num_kinds = static_cast<int>(units.kinds.size()), num_devices = units.num_devices();
  const int shapes = num_kinds, adjacency = shapes + kMaxOutputs * kMaxDims;
  const int costs = adjacency + num_groups, bytes = costs + (config.costs ? num_devices : 0);
  const int position = bytes + (config.bytes ? 2 : 0);
  Matrix& input = sequence.input;
  input = Matrix::Zero(length, PlacerInputWidth(units, num_groups, config));
  sequence.allowed = Matrix::Zero(length, num_devices);
  for (int unit = 0; unit < units.num_units(); ++unit) {
    const int r = row[group_of_unit[unit]];
    for (SparseMatrix::InnerIterator it(units.kind_counts, unit); it; ++it) {
      input(r, it.col()) += it.value() / static_cast<float>(ops[group_of_unit[unit]]);
    }
    input.row(r).segment(shapes, kMaxOutputs * kMaxDims) += units.shapes.row(unit).cwiseMax(0.0F);
    if (config.costs)
      input.row(r).segment(costs, num_devices) += units.costs.row(unit).cwiseMax(0.0F);
    if (config.bytes) input.row(r).segment(bytes, 2) += units.bytes.row(unit);
    for (int d = 0; d < num_devices; ++d) {
      if (problem.allowed(unit, d)) sequence.allowed(r, d) = 1;
    }
  }
  for (int i = 0; i < length; ++i) input(i, adjacency + sequence.groups[i]) = 1;
  for (const UnitEdge& edge : units.edges) {
    input(row[group_of_unit[edge.to]], adjacency + group_of_unit[edge.from]) = 1;
  }
  const auto divide_by_mean = [&](int begin, int count) {
    for (int c = begin; c < begin + count; ++c) {
      const double sum = input.col(c).cast<double>().sum();
      if (sum > 0) input.col(c) *= static_cast<float>(length / sum);
    }
  };
  divide_by_mean(shapes, kMaxOutputs * kMaxDims);
  divide_by_mean(costs, position - costs);
  if (config.position) {
    for (int i = 0; i < length; ++i) {
      const int group = sequence.groups[i];
      const double variance = squares[group] / size[group] - mean[group] * mean[group];
      input(i, position) = static_cast<float>(mean[group]);
      input(i, position + 1) = static_cast<float>(std::sqrt(std::max(0.0, variance)));
    }
  }
  return sequence;
}

Placement PlaceUnits(const Problem& problem,
                     std::span<const int> group_of_unit,
                     std::span<const int> device_of_group) {
  Placement placement;
  placement.device.resize(problem.num_groups());
  for (int unit = 0; unit < problem.num_groups(); ++unit) {
    int device = device_of_group[group_of_unit[unit]];
    if (!problem.allowed(unit, device)) {
      device = 0;
      for (int d = 1; d < problem.num_devices(); ++d) {
        if (problem.group_cost(unit, d) < problem.group_cost(unit, device)) device = d;
      }
    }
    placement.device[unit] = static_cast<DeviceIndex>(device);
  }
  return placement;
}

}  // namespace emplace

#include "agents/seq2seq/seq2seq_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "agents/shared/features.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kFrequencies = 4;

std::shared_ptr<const SparseMatrix> Sparse(int rows,
                                           int cols,
                                           const std::map<std::pair<int, int>, float>& entries) {
  std::vector<Eigen::Triplet<float>> triplets;
  for (const auto& [place, value] : entries) {
    triplets.emplace_back(place.first, place.second, value);
  }
  auto matrix = std::make_shared<SparseMatrix>(rows, cols);
  matrix->setFromTriplets(triplets.begin(), triplets.end());
  return matrix;
}

/// Returns the position of each group in the order: [T].
std::vector<int> Positions(const Problem& problem) {
  std::vector<int> position(problem.num_groups());
  for (int t = 0; t < problem.num_groups(); ++t) position[problem.group_order()[t]] = t;
  return position;
}

std::shared_ptr<const SparseMatrix> Kinds(const Problem& problem,
                                          const std::vector<std::string>& kinds) {
  std::map<std::pair<int, int>, float> shares;
  for (int t = 0; t < problem.num_groups(); ++t) {
    const std::span<const int> members = problem.grouping().members(problem.group_order()[t]);
    for (int op : members) {
      const std::string& kind = problem.graph().op(op).kind;
      const auto known = std::lower_bound(kinds.begin(), kinds.end(), kind);
      if (known == kinds.end() || *known != kind) continue;
      shares[{t, static_cast<int>(known - kinds.begin())}] +=
          1 / static_cast<float>(members.size());
    }
  }
  return Sparse(problem.num_groups(), static_cast<int>(kinds.size()), shares);
}

std::shared_ptr<const SparseMatrix> NeighborMatrix(const Problem& problem, int width) {
  const std::vector<int> position = Positions(problem);
  std::map<std::pair<int, int>, float> entries;
  for (int op = 0; op < problem.num_ops(); ++op) {
    const int to = position[problem.grouping().group_of(op)];
    for (int producer : problem.graph().predecessors(op)) {
      const int from = position[problem.grouping().group_of(producer)];
      if (from == to) continue;
      if (from < width) entries[{to, from}] = 1;
      if (to < width) entries[{from, width + to}] = 1;
    }
  }
  return Sparse(problem.num_groups(), 2 * width, entries);
}

/// [T, count]
Matrix OutputSizes(const Problem& problem, int count) {
  Matrix sizes = Matrix::Zero(problem.num_groups(), count);
  for (int t = 0; t < problem.num_groups(); ++t) {
    std::vector<std::int64_t> bytes;
    for (int op : problem.grouping().members(problem.group_order()[t])) {
      for (int tensor : problem.graph().op(op).outputs) {
        bytes.push_back(problem.graph().tensor(tensor).bytes);
      }
    }
    std::sort(bytes.begin(), bytes.end(), std::greater<>());
    for (int i = 0; i < std::min(count, static_cast<int>(bytes.size())); ++i) {
      sizes(t, i) = std::log1p(static_cast<float>(bytes[i]));
    }
  }
  DivideByLargest(sizes);
  return sizes;
}

/// [T, D]
Matrix DeviceCosts(const Problem& problem) {
  Matrix costs = Matrix::Zero(problem.num_groups(), problem.num_devices());
  double count = 0, sum = 0, squares = 0;
  const auto for_allowed = [&](const auto& function) {
    for (int t = 0; t < costs.rows(); ++t) {
      const int group = problem.group_order()[t];
      for (int d = 0; d < costs.cols(); ++d) {
        if (problem.allowed(group, d)) function(group, d, costs(t, d));
      }
    }
  };
  for_allowed([&](int group, int d, float& cost) {
    cost = std::log1p(static_cast<float>(problem.group_cost(group, d)));
    count += 1;
    sum += cost;
    squares += static_cast<double>(cost) * cost;
  });
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
  for_allowed([&](int, int, float& cost) {
    cost = deviation > 1e-6 ? static_cast<float>((cost - mean) / deviation) : 0;
  });
  return costs;
}

/// [T, 1]
Matrix ResidentBytes(const Problem& problem) {
  Matrix bytes(problem.num_groups(), 1);
  for (int t = 0; t < bytes.rows(); ++t) {
    bytes(t, 0) =
        std::log1p(static_cast<float>(problem.group_resident_bytes(problem.group_order()[t])));
  }
  DivideByLargest(bytes);
  return bytes;
}

/// [T, 1 + 2 kFrequencies]
Matrix Position(int num_groups) {
  std::vector<double> share(num_groups);
  for (int t = 0; t < num_groups; ++t) share[t] = static_cast<double>(t) / num_groups;
  return PositionWaves(share, kFrequencies);
}

}  // namespace

Seq2SeqVocabulary MakeSeq2SeqVocabulary(std::span<const std::shared_ptr<const Problem>> problems) {
  EMPLACE_CHECK(!problems.empty());
  const Problem& first = *problems.front();
  Seq2SeqVocabulary vocabulary;
  vocabulary.num_devices = first.num_devices();
  std::set<std::string> kinds;
  for (const auto& problem : problems) {
    if (problem->num_devices() != vocabulary.num_devices) {
      throw InputError(fmt::format(
          "agent seq2seq: expected problems with one number of devices, got {} for graph \"{}\" "
          "and {} for graph \"{}\"",
          vocabulary.num_devices,
          first.graph().name(),
          problem->num_devices(),
          problem->graph().name()));
    }
    vocabulary.num_groups = std::max(vocabulary.num_groups, problem->num_groups());
    for (const Op& op : problem->graph().ops()) kinds.insert(op.kind);
  }
  vocabulary.kinds.assign(kinds.begin(), kinds.end());
  return vocabulary;
}

int Seq2SeqDenseWidth(const Seq2SeqFeaturesConfig& config, int num_devices) {
  return config.output_sizes + (config.device_costs ? num_devices : 0) +
         (config.resident_bytes ? 1 : 0) + (config.position ? 1 + 2 * kFrequencies : 0);
}

Seq2SeqFeatures MakeSeq2SeqFeatures(const Problem& problem,
                                    const Seq2SeqVocabulary& vocabulary,
                                    const Seq2SeqFeaturesConfig& config) {
  EMPLACE_CHECK(problem.num_devices() == vocabulary.num_devices);
  std::vector<Matrix> parts{OutputSizes(problem, config.output_sizes)};
  if (config.device_costs) parts.push_back(DeviceCosts(problem));
  if (config.resident_bytes) parts.push_back(ResidentBytes(problem));
  if (config.position) parts.push_back(Position(problem.num_groups()));

  int width = 0;
  for (const Matrix& part : parts) width += static_cast<int>(part.cols());
  Matrix dense(problem.num_groups(), width);
  for (int begin = 0; const Matrix& part : parts) {
    dense.middleCols(begin, part.cols()) = part;
    begin += static_cast<int>(part.cols());
  }
  return {Kinds(problem, vocabulary.kinds),
          NeighborMatrix(problem, config.adjacency ? vocabulary.num_groups : 0),
          std::move(dense)};
}

}  // namespace emplace

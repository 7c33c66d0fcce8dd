#include "agents/hierarchical/grouper.h"

#include <cmath>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

std::shared_ptr<const SparseMatrix> KindShares(const UnitFeatures& units) {
  auto shares = std::make_shared<SparseMatrix>(units.kind_counts);
  for (int unit = 0; unit < units.num_units(); ++unit) {
    for (SparseMatrix::InnerIterator it(*shares, unit); it; ++it) {
      it.valueRef() /= static_cast<float>(units.num_ops[unit]);
    }
  }
  return shares;
}

}  // namespace

Grouper::Grouper(const GrouperConfig& config,
                 const UnitFeatures& units,
                 int num_groups,
                 ParameterSet& parameters,
                 Rng& rng)
    : config_(config),
      kind_shares_(KindShares(units)),
      input_(GrouperInput(units, config.features, config.standardize)),
      types_(&parameters.AddUniform("grouper.types",
                                    static_cast<int>(units.kinds.size()),
                                    config.type_embedding,
                                    1.0F,
                                    rng)),
      hidden_(parameters,
              "grouper.hidden",
              config.type_embedding + static_cast<int>(input_.cols()),
              config.hidden,
              rng),
      output_(parameters, "grouper.output", config.hidden, num_groups, rng) {
}

Var Grouper::Logits(Tape& tape) const {
  const Var types = SparseMatMul(tape, kind_shares_, tape.Use(*types_));
  const Var hidden = hidden_(tape, ConcatCols(tape, {types, tape.ConstantView(input_)}));
  return output_(tape, Scale(tape, Relu(tape, hidden), static_cast<float>(config_.gain)));
}

std::vector<int> SampleGroups(const Matrix& logits, Rng& rng) {
  std::vector<int> group(logits.rows());
  Eigen::Array<float, 1, Eigen::Dynamic> weight(logits.cols());
  for (Eigen::Index row = 0; row < logits.rows(); ++row) {
    weight = (logits.row(row).array() - logits.row(row).maxCoeff()).exp();
    double sum = 0;
    for (float w : weight) sum += w;
    if (!std::isfinite(sum)) {
      throw RunError(fmt::format("unit {}: the logits of its groups are not numbers", row));
    }
    double left = Uniform01(rng) * sum;
    int column = 0, last = 0;  // `last` is taken if rounding leaves a positive rest
    for (; column < weight.size(); ++column) {
      if (weight[column] > 0) last = column;
      left -= weight[column];
      if (left < 0) break;
    }
    group[row] = column < weight.size() ? column : last;
  }
  return group;
}

}  // namespace emplace

#include "agents/hierarchical/grouper.h"

namespace emplace {
namespace {

// The weights with which each unit sums the vectors of kinds and, if there are any, of parts.
std::shared_ptr<const SparseMatrix> Weights(const UnitFeatures& units, int num_groups) {
  const auto num_kinds = static_cast<int>(units.kinds.size());
  const int num_parts = units.part.empty() ? 0 : num_groups;
  std::vector<Eigen::Triplet<float>> entries;
  for (int unit = 0; unit < units.num_units(); ++unit) {
    for (SparseMatrix::InnerIterator it(units.kind_counts, unit); it; ++it) {
      entries.emplace_back(unit, it.col(), it.value() / static_cast<float>(units.num_ops[unit]));
    }
    if (num_parts > 0) entries.emplace_back(unit, num_kinds + units.part[unit], 1.0F);
  }
  auto weights = std::make_shared<SparseMatrix>(units.num_units(), num_kinds + num_parts);
  weights->setFromTriplets(entries.begin(), entries.end());
  return weights;
}

}  // namespace

Grouper::Grouper(const GrouperConfig& config,
                 const UnitFeatures& units,
                 int num_groups,
                 ParameterSet& parameters,
                 Rng& rng)
    : config_(config),
      units_(units),
      weights_(Weights(units, num_groups)),
      input_(GrouperInput(units, config.features, config.standardize)),
      types_(&parameters.AddUniform("grouper.types",
                                    static_cast<int>(weights_->cols()),
                                    config.type_embedding,
                                    1.0F,
                                    rng)),
      hidden_(&parameters.AddGlorot("grouper.hidden.weights",
                                    config.type_embedding + static_cast<int>(input_.cols()),
                                    config.hidden,
                                    rng)),
      hidden_bias_(&parameters.Add("grouper.hidden.bias", 1, config.hidden)),
      output_(parameters, "grouper.output", config.hidden, num_groups, rng) {
}

Var Grouper::Logits(Tape& tape) const {
  // [types, input] W = types W_types + input W_input: only the types need a gradient, and there are
  // fewer of them than units.
  const Var weights = tape.Use(*hidden_);
  const int width = config_.type_embedding, inputs = static_cast<int>(input_.cols());
  const Var of_kind = MatMul(tape, tape.Use(*types_), SliceRows(tape, weights, 0, width));
  const Var of_input = Affine(tape,
                              tape.ConstantView(input_),
                              SliceRows(tape, weights, width, inputs),
                              tape.Use(*hidden_bias_));
  const Var hidden = Relu(tape, Add(tape, of_input, SparseMatMul(tape, weights_, of_kind)));
  return output_(tape, Scale(tape, hidden, static_cast<float>(config_.gain)));
}

Var Grouper::MeanLogProbabilityOfParts(Tape& tape) const {
  return MeanAll(tape, Pick(tape, LogSoftmax(tape, Logits(tape)), units_.part));
}

}  // namespace emplace

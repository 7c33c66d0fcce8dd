#include "agents/hierarchical/grouper.h"

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
      hidden_(&parameters.AddGlorot("grouper.hidden.weights",
                                    config.type_embedding + static_cast<int>(input_.cols()),
                                    config.hidden,
                                    rng)),
      hidden_bias_(&parameters.Add("grouper.hidden.bias", 1, config.hidden)),
      output_(parameters, "grouper.output", config.hidden, num_groups, rng) {
}

Var Grouper::Logits(Tape& tape) const {
  // [types, input] W = types W_types + input W_input: only the types need a gradient, and there are
  // fewer kinds than units.
  const Var weights = tape.Use(*hidden_);
  const int width = config_.type_embedding, inputs = static_cast<int>(input_.cols());
  const Var of_kind = MatMul(tape, tape.Use(*types_), SliceRows(tape, weights, 0, width));
  const Var of_input = Affine(tape,
                              tape.ConstantView(input_),
                              SliceRows(tape, weights, width, inputs),
                              tape.Use(*hidden_bias_));
  const Var hidden = Relu(tape, Add(tape, of_input, SparseMatMul(tape, kind_shares_, of_kind)));
  return output_(tape, Scale(tape, hidden, static_cast<float>(config_.gain)));
}

}  // namespace emplace

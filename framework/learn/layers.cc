#include "framework/learn/layers.h"

#include <cmath>
#include <utility>

#include "framework/base/error.h"

namespace emplace {

Linear::Linear(ParameterSet& parameters, const std::string& name, int in, int out, Rng& rng)
    : weights_(&parameters.AddGlorot(name + ".weights", in, out, rng)),
      bias_(&parameters.Add(name + ".bias", 1, out)) {
}

Var Linear::operator()(Tape& tape, Var x) const {
  return Affine(tape, x, tape.Use(*weights_), tape.Use(*bias_));
}

Var Linear::WithRelu(Tape& tape, Var x) const {
  return AffineRelu(tape, x, tape.Use(*weights_), tape.Use(*bias_));
}

Lstm::Lstm(ParameterSet& parameters, const std::string& name, int in, int hidden, Rng& rng)
    : hidden_(hidden) {
  EMPLACE_CHECK(hidden > 0);
  const float bound = 1 / std::sqrt(static_cast<float>(hidden));
  weights_ = &parameters.AddUniform(name + ".weights", in, 4 * hidden, bound, rng);
  recurrent_ = &parameters.AddUniform(name + ".recurrent", hidden, 4 * hidden, bound, rng);
  bias_ = &parameters.AddUniform(name + ".bias", 1, 4 * hidden, bound, rng);
  bias_->value.middleCols(hidden, hidden).setOnes();
}

LstmState Lstm::Zero(Tape& tape, int rows) const {
  return {tape.Constant(Matrix::Zero(rows, hidden_)), tape.Constant(Matrix::Zero(rows, hidden_))};
}

LstmState Lstm::StepFromGates(Tape& tape, Var x_gates, const LstmState& state) const {
  const Var gates = AddMatMul(tape, x_gates, state.hidden, tape.Use(*recurrent_));
  return LstmCell(tape, gates, state.cell);
}

Var Lstm::InputGates(Tape& tape, Var x) const {
  return Affine(tape, x, tape.Use(*weights_), tape.Use(*bias_));
}

Var Lstm::SequenceFromGates(Tape& tape, Var x_gates, bool backward_in_time) const {
  return LstmSequence(tape, x_gates, tape.Use(*recurrent_), backward_in_time);
}

}  // namespace emplace

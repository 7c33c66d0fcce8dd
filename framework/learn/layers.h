#pragma once

// Layers: a few parameters and the operations on them. The constructor of a layer adds the
// parameters to `parameters`, named `name` and a suffix ("encoder.weights"), with initial values
// drawn from `rng`. `parameters` must outlive the layer. Shapes in brackets: [rows, cols].

#include <string>

#include "framework/learn/ops.h"

namespace emplace {

/// y = x W + b. The weights are Glorot-uniform, the bias is zero.
class Linear {
 public:
  Linear(ParameterSet& parameters, const std::string& name, int in, int out, Rng& rng);
  /// Returns x W + b: [n, in] -> [n, out].
  Var operator()(Tape& tape, Var x) const;
  /// Returns relu(x W + b).
  Var WithRelu(Tape& tape, Var x) const;

 private:
  Parameter* weights_;  // [in, out]
  Parameter* bias_;     // [1, out]
};

/// LSTM with gates x W + h U + b, initially uniform in +-1/sqrt(hidden) with forget bias 1.
class Lstm {
 public:
  Lstm(ParameterSet& parameters, const std::string& name, int in, int hidden, Rng& rng);
  int hidden() const { return hidden_; }
  /// Returns the state before the first step: zeros, [rows, H] each.
  LstmState Zero(Tape& tape, int rows) const;
  /// Runs one step from precomputed input gates x W + b: [n, 4H]; state [n, H].
  LstmState StepFromGates(Tape& tape, Var x_gates, const LstmState& state) const;
  /// Returns x W + b: [n, in] -> [n, 4H].
  Var InputGates(Tape& tape, Var x) const;
  /// Runs a sequence of batch 1 from precomputed input gates x W + b: [T, 4H] -> [T, 2H] hidden and
  /// cell (ops.h: LstmSequence).
  Var SequenceFromGates(Tape& tape, Var x_gates, bool backward_in_time = false) const;

 private:
  int hidden_;
  Parameter *weights_, *recurrent_, *bias_;  // [in, 4H], [H, 4H], [1, 4H]
};

}  // namespace emplace

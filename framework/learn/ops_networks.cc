// LSTM.

#include <utility>

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

using Eigen::Index;
using internal::CheckShapes;

// Returns the columns of one gate in a matrix [n, 4H].
auto Gate(const Matrix& gates, int which) {
  const Index hidden = gates.cols() / 4;
  return gates.middleCols(which * hidden, hidden).array();
}
auto Gate(Matrix& gates, int which) {
  const Index hidden = gates.cols() / 4;
  return gates.middleCols(which * hidden, hidden).array();
}
enum { kInput, kForget, kCandidate, kOutput };

}  // namespace

LstmState LstmCell(Tape& tape, Var gates, Var cell) {
  const Matrix &in = tape.value(gates), &before = tape.value(cell);
  CheckShapes(
      in.rows() == before.rows() && in.cols() == 4 * before.cols(), "lstm_cell", in, before);
  Matrix after = (Gate(in, kForget).logistic() * before.array() +
                  Gate(in, kInput).logistic() * Gate(in, kCandidate).tanh())
                     .matrix();
  const Var next =
      tape.Record("lstm_cell", std::move(after), {gates, cell}, [=](Tape& t, const Matrix& g) {
        const Matrix& in = t.value(gates);
        if (t.needs_gradient(gates)) {
          Matrix& d = t.MutableGradient(gates);
          const Matrix i = Gate(in, kInput).logistic(), f = Gate(in, kForget).logistic(),
                       u = Gate(in, kCandidate).tanh();
          Gate(d, kInput) += g.array() * u.array() * i.array() * (1 - i.array());
          Gate(d, kForget) += g.array() * t.value(cell).array() * f.array() * (1 - f.array());
          Gate(d, kCandidate) += g.array() * i.array() * (1 - u.array().square());
        }
        t.AddGradient(cell, (g.array() * Gate(in, kForget).logistic()).matrix());
      });
  Matrix hidden = (Gate(in, kOutput).logistic() * tape.value(next).array().tanh()).matrix();
  const Var output =
      tape.Record("lstm_hidden", std::move(hidden), {gates, next}, [=](Tape& t, const Matrix& g) {
        const Matrix o = Gate(t.value(gates), kOutput).logistic(), u = t.value(next).array().tanh();
        if (t.needs_gradient(gates)) {
          Gate(t.MutableGradient(gates), kOutput) +=
              g.array() * u.array() * o.array() * (1 - o.array());
        }
        t.AddGradient(next, (g.array() * o.array() * (1 - u.array().square())).matrix());
      });
  return {output, next};
}

Var LstmSequence(Tape& tape, Var x_gates, Var recurrent, bool backward_in_time) {
  const Matrix &x = tape.value(x_gates), &u = tape.value(recurrent);
  CheckShapes(x.cols() == u.cols() && u.cols() == 4 * u.rows(), "lstm_sequence", x, u);
  const Index steps = x.rows(), hidden = u.rows();
  // Returns the row of each time step.
  const auto row_at = [=](Index step) { return backward_in_time ? steps - 1 - step : step; };
  Matrix gates = x, y(steps, 2 * hidden);  // after the non-linearities; hidden and cell
  for (Index step = 0; step < steps; ++step) {
    const Index now = row_at(step);
    auto row = gates.row(now);
    auto gate = [&](int which) { return row.segment(which * hidden, hidden).array(); };
    if (step > 0) row.noalias() += y.row(row_at(step - 1)).head(hidden) * u;
    gate(kInput) = gate(kInput).logistic();
    gate(kForget) = gate(kForget).logistic();
    gate(kCandidate) = gate(kCandidate).tanh();
    gate(kOutput) = gate(kOutput).logistic();
    auto cell = y.row(now).tail(hidden).array();
    cell = gate(kInput) * gate(kCandidate);
    if (step > 0) cell += gate(kForget) * y.row(row_at(step - 1)).tail(hidden).array();
    y.row(now).head(hidden) = (gate(kOutput) * cell.tanh()).matrix();
  }
  const Var kept = tape.Constant(std::move(gates)), out = internal::Next(tape);
  return tape.Record(
      "lstm_sequence", std::move(y), {x_gates, recurrent}, [=](Tape& t, const Matrix& g) {
        const Matrix &y = t.value(out), &gates = t.value(kept), &u = t.value(recurrent);
        Matrix d_gates(steps, 4 * hidden);
        Eigen::Array<float, 1, Eigen::Dynamic> d_hidden, d_cell, tanh_cell;
        d_cell.setZero(hidden);
        for (Index step = steps - 1; step >= 0; --step) {
          const Index now = row_at(step);
          const auto gate = [&](int which) {
            return gates.row(now).segment(which * hidden, hidden).array();
          };
          const auto d_gate = [&](int which) {
            return d_gates.row(now).segment(which * hidden, hidden).array();
          };
          d_hidden = g.row(now).head(hidden).array();
          if (step < steps - 1) {
            d_hidden.matrix().noalias() += d_gates.row(row_at(step + 1)) * u.transpose();
          }
          tanh_cell = y.row(now).tail(hidden).array().tanh();
          d_cell +=
              g.row(now).tail(hidden).array() + d_hidden * gate(kOutput) * (1 - tanh_cell.square());
          d_gate(kOutput) = d_hidden * tanh_cell * gate(kOutput) * (1 - gate(kOutput));
          d_gate(kInput) = d_cell * gate(kCandidate) * gate(kInput) * (1 - gate(kInput));
          d_gate(kCandidate) = d_cell * gate(kInput) * (1 - gate(kCandidate).square());
          if (step > 0) {
            d_gate(kForget) = d_cell * y.row(row_at(step - 1)).tail(hidden).array() *
                              gate(kForget) * (1 - gate(kForget));
          } else {
            d_gate(kForget).setZero();
          }
          d_cell *= gate(kForget);
        }
        if (steps > 1) {
          // Each step except the first read the hidden state of the previous step.
          const Index from = backward_in_time ? 1 : 0, to = 1 - from;
          t.AddGradient(
              recurrent,
              y.block(from, 0, steps - 1, hidden).transpose() * d_gates.middleRows(to, steps - 1));
        }
        t.AddGradient(x_gates, d_gates);
      });
}

}  // namespace emplace

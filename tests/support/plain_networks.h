#pragma once

// Layers in plain loops and double precision, for networks written a second time: what the real
// ones and their gradients are held against.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/learn/parameter.h"
#include "framework/search/problem.h"

namespace emplace::testing::plain {

using Row = std::vector<double>;
using Table = std::vector<Row>;

inline Table TableOf(const Matrix& matrix) {
  Table table;
  for (const auto& row : matrix.rowwise()) table.emplace_back(row.begin(), row.end());
  return table;
}

inline Table ValueOf(const ParameterSet& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.name == name) return TableOf(parameter.value);
  }
  FAIL("no parameter " << name);
  return {};
}

inline Row Times(const Row& x, const Table& weights) {
  EMPLACE_CHECK(x.size() == weights.size());
  Row y(weights.empty() ? 0 : weights[0].size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * weights[i][j];
  }
  return y;
}

inline Row Plus(Row a, const Row& b) {
  EMPLACE_CHECK(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

inline Row Joined(Row a, const Row& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline double Logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

/// -infinity where `allowed` is false.
inline Row LogSoftmax(Row logits, const std::vector<bool>& allowed) {
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += allowed[i] ? std::exp(logits[i]) : 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = allowed[i] ? logits[i] - std::log(sum) : -INFINITY;
  }
  return logits;
}
inline Row LogSoftmax(const Row& logits) {
  return LogSoftmax(logits, std::vector<bool>(logits.size(), true));
}

/// [nats]
inline double Entropy(const Row& log_probabilities) {
  double sum = 0;
  for (double l : log_probabilities) sum -= l == -INFINITY ? 0 : std::exp(l) * l;
  return sum;
}

inline std::vector<bool> AllowedDevices(const Problem& problem, int group) {
  std::vector<bool> allowed;
  for (int d = 0; d < problem.num_devices(); ++d) allowed.push_back(problem.allowed(group, d));
  return allowed;
}

struct CellState {
  Row hidden, cell;
};

/// @param gates  input, forget, candidate and output, before their non-linearities
inline CellState LstmStep(const Row& gates, const CellState& state) {
  const std::size_t width = state.cell.size();
  CellState next = state;
  for (std::size_t i = 0; i < width; ++i) {
    next.cell[i] = Logistic(gates[width + i]) * state.cell[i] +
                   Logistic(gates[i]) * std::tanh(gates[2 * width + i]);
    next.hidden[i] = Logistic(gates[3 * width + i]) * std::tanh(next.cell[i]);
  }
  return next;
}

}  // namespace emplace::testing::plain

// The part of framework/learn/ops.h on LSTM and attention, against plain loops.

#include <algorithm>
#include <cmath>
#include <tuple>

#include <doctest/doctest.h>

#include "tests/framework/learn/check_op.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

double PreciseSigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct PlainState {
  std::vector<double> hidden, cell;
};

// One row of LstmCell. @param gates  [4H]
PlainState PlainCell(const std::vector<double>& gates, const std::vector<double>& cell) {
  const size_t width = cell.size();
  PlainState next{cell, cell};
  for (size_t j = 0; j < width; ++j) {
    const double i = PreciseSigmoid(gates[j]), f = PreciseSigmoid(gates[width + j]),
                 g = std::tanh(gates[2 * width + j]), o = PreciseSigmoid(gates[3 * width + j]);
    next.cell[j] = f * cell[j] + i * g;
    next.hidden[j] = o * std::tanh(next.cell[j]);
  }
  return next;
}

TEST_CASE("LSTM cell") {
  Rng rng(2);
  for (const auto& [n, width] : {std::pair{0, 3}, {2, 0}, {1, 1}, {1, 5}, {5, 4}, {3, 19}}) {
    const Matrix gates = RandomMatrix(n, 4 * width, rng, -2, 2), cell = RandomMatrix(n, width, rng);
    Matrix hidden_and_cell(n, 2 * width);
    for (int row = 0; row < n; ++row) {
      std::vector<double> in(4 * width), before(width);
      for (int j = 0; j < 4 * width; ++j) in[j] = gates(row, j);
      for (int j = 0; j < width; ++j) before[j] = cell(row, j);
      const PlainState next = PlainCell(in, before);
      for (int j = 0; j < width; ++j) {
        hidden_and_cell(row, j) = static_cast<float>(next.hidden[j]);
        hidden_and_cell(row, width + j) = static_cast<float>(next.cell[j]);
      }
    }
    const Operation both = [](Tape& t, const Vars& v) {
      const LstmState state = LstmCell(t, v[0], v[1]);
      return ConcatCols(t, {state.hidden, state.cell});
    };
    Tape tape;
    const Var y = both(tape, {tape.Constant(gates), tape.Constant(cell)});
    CHECK(Distance(tape.value(y), hidden_and_cell) <= 1e-5);
    CheckGradients(both, {gates, cell});
    CheckGradients([](Tape& t, const Vars& v) { return LstmCell(t, v[0], v[1]).hidden; },
                   {gates, cell});
    CheckGradients([](Tape& t, const Vars& v) { return LstmCell(t, v[0], v[1]).cell; },
                   {gates, cell});
  }
}

TEST_CASE("LSTM sequence: equals its steps, in both directions") {
  Rng rng(3);
  for (const bool backward_in_time : {false, true}) {
    for (const auto& [steps, width] :
         {std::pair{0, 2}, {3, 0}, {1, 1}, {1, 3}, {2, 3}, {6, 2}, {4, 17}}) {
      CAPTURE(backward_in_time);
      CAPTURE(steps);
      CAPTURE(width);
      const Matrix gates = RandomMatrix(steps, 4 * width, rng, -2, 2),
                   recurrent = RandomMatrix(width, 4 * width, rng);
      Matrix expected(steps, 2 * width);
      PlainState state{std::vector<double>(width), std::vector<double>(width)};
      for (int step = 0; step < steps; ++step) {
        const int row = backward_in_time ? steps - 1 - step : step;
        std::vector<double> in(4 * width);
        for (int j = 0; j < 4 * width; ++j) {
          in[j] = gates(row, j);
          for (int h = 0; h < width; ++h) in[j] += state.hidden[h] * recurrent(h, j);
        }
        state = PlainCell(in, state.cell);
        for (int j = 0; j < width; ++j) {
          expected(row, j) = static_cast<float>(state.hidden[j]);
          expected(row, width + j) = static_cast<float>(state.cell[j]);
        }
      }
      const Operation op = [=](Tape& t, const Vars& v) {
        return LstmSequence(t, v[0], v[1], backward_in_time);
      };
      Tape tape;
      const Var y = op(tape, {tape.Constant(gates), tape.Constant(recurrent)});
      CHECK(Distance(tape.value(y), expected) <= 1e-5);
      CheckGradients(op, {gates, recurrent});
    }
  }
}

TEST_CASE("additive attention") {
  Rng rng(4);
  for (const auto& [n, s, width] : {std::tuple{0, 3, 2},
                                    {2, 0, 3},
                                    {2, 3, 0},
                                    {1, 1, 1},
                                    {1, 4, 5},
                                    {3, 1, 2},
                                    {4, 5, 3},
                                    {3, 6, 37}}) {
    CAPTURE(n);
    CAPTURE(s);
    CAPTURE(width);
    const Matrix query = RandomMatrix(n, width, rng, -2, 2),
                 keys = RandomMatrix(s, width, rng, -2, 2), v = RandomMatrix(1, width, rng);
    Matrix expected(n, s);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      std::vector<double> weights(s);
      for (int j = 0; j < s; ++j) {
        double score = 0;
        for (int a = 0; a < width; ++a)
          score += v(0, a) * std::tanh(double{query(i, a)} + keys(j, a));
        sum += weights[j] = std::exp(score);
      }
      for (int j = 0; j < s; ++j) expected(i, j) = static_cast<float>(weights[j] / sum);
    }
    const Operation op = [](Tape& t, const Vars& x) {
      return AdditiveAttention(t, x[0], {t, x[1]}, x[2]);
    };
    Tape tape;
    const Var y = op(tape, {tape.Constant(query), tape.Constant(keys), tape.Constant(v)});
    CHECK(Distance(tape.value(y), expected) <= 1e-5);
    CheckGradients(op, {query, keys, v});
  }
}

TEST_CASE("additive attention: tanh that saturates, large terms that cancel, the largest terms") {
  // One column, v = 1: the weights are those of the scores tanh(q + k), both within +-43.
  const std::pair<double, std::vector<double>> cases[] = {
      {0, {0, 500, -500}},
      {1.5, {-1.5, 41, -41, 2}},
      {30, {-30, -29.5, 1e6, -42}},
      {-40, {40, 41, 39.5, -1e6}},
      {43, {-43, -42, -42.5, 500}},
      {-1e6, {1e-3, -1e6, 20, 1e6}},
      {1e6, {-1e6, 1e6, 0}},
  };
  for (const auto& [q, k] : cases) {
    Matrix keys(k.size(), 1), expected(1, k.size());
    for (size_t i = 0; i < k.size(); ++i) {
      keys(i, 0) = static_cast<float>(k[i]);
      expected(0, i) = static_cast<float>(
          std::exp(std::tanh(std::clamp(q, -43.0, 43.0) + std::clamp(k[i], -43.0, 43.0))));
    }
    expected /= expected.sum();
    Tape tape;
    const Var query = tape.Constant(Matrix::Constant(1, 1, static_cast<float>(q)));
    const Var y = AdditiveAttention(
        tape, query, {tape, tape.Constant(keys)}, tape.Constant(Matrix::Ones(1, 1)));
    CHECK(Distance(tape.value(y), expected) <= 1e-5);
  }
}

// Each row alone, with its keys alone, is the reference.
TEST_CASE("attention of rows to ranges of keys") {
  Rng rng(6);
  for (int trial = 0; trial < 30; ++trial) {
    const int s = 1 + UniformInt(rng, 40), width = 1 + UniformInt(rng, 20), n = UniformInt(rng, 9);
    const Matrix query = RandomMatrix(n, width, rng, -2, 2),
                 keys = RandomMatrix(s, width, rng, -2, 2), v = RandomMatrix(1, width, rng),
                 values = RandomMatrix(s, 3, rng);
    std::vector<RowRange> ranges;
    int most = 0;
    for (int i = 0; i < n; ++i) {
      if (i > 0 && Uniform01(rng) < 0.5) {
        ranges.push_back(ranges.back());
      } else {
        const int begin = UniformInt(rng, s);
        ranges.push_back({begin, 1 + UniformInt(rng, s - begin)});
      }
      most = std::max(most, ranges.back().count);
    }
    if (n == 0) continue;  // an empty list of ranges stands for all keys
    const Operation attention = [&](Tape& t, const Vars& x) {
      return AdditiveAttention(t, x[0], {t, x[1]}, x[2], ranges);
    };
    const Operation sums = [&](Tape& t, const Vars& x) {
      return WeightedRowSums(t, x[0], x[1], ranges);
    };
    Matrix expected = Matrix::Zero(n, most), expected_sums(n, 3);
    Tape tape;
    for (int i = 0; i < n; ++i) {
      const Matrix own = keys.middleRows(ranges[i].begin, ranges[i].count);
      const Var row = AdditiveAttention(
          tape, tape.Constant(query.row(i)), {tape, tape.Constant(own)}, tape.Constant(v));
      expected.row(i).head(ranges[i].count) = tape.value(row);
      expected_sums.row(i) = tape.value(row) * values.middleRows(ranges[i].begin, ranges[i].count);
    }
    const Var found =
        attention(tape, {tape.Constant(query), tape.Constant(keys), tape.Constant(v)});
    CHECK(Distance(tape.value(found), expected) <= 1e-5);
    CHECK(Distance(tape.value(sums(tape, {found, tape.Constant(values)})), expected_sums) <= 1e-5);
    CheckGradients(attention, {query, keys, v});
    CheckGradients(sums, {expected, values});
  }
}

TEST_CASE("ranges that do not fit are named with the operation") {
  const auto sums = [](std::vector<RowRange> ranges) {
    return [=](Tape& t, Var a, Var b) { return WeightedRowSums(t, a, b, ranges); };
  };
  CheckRefusedShapes(
      {
          {sums({{0, 3}}), "weighted_row_sums: 2 rows and 1 ranges"},
          {sums({{0, 3}, {2, 3}}), "weighted_row_sums: 4 keys and the range [2, 5)"},
          {sums({{0, 2}, {2, 2}}), "weighted_row_sums: [2, 3] and [4, 2]"},
      },
      Matrix::Zero(2, 3),
      Matrix::Zero(4, 2));
}

TEST_CASE("shapes that do not fit are named with the operation") {
  CheckRefusedShapes(
      {
          {[](Tape& t, Var a, Var b) { return LstmCell(t, a, b).hidden; },
           "lstm_cell: [2, 8] and [1, 3]"},
          {[](Tape& t, Var a, Var b) { return LstmSequence(t, a, b); },
           "lstm_sequence: [2, 8] and [1, 3]"},
          {[](Tape& t, Var a, Var b) {
             return AdditiveAttention(t, a, {t, b}, b);
           },
           "additive_attention: [2, 8] and [1, 3]"},
          {[](Tape& t, Var a, Var b) {
             return AdditiveAttention(t, a, {t, a}, b);
           },
           "additive_attention: [2, 8] and [1, 3]"},
      },
      Matrix::Zero(2, 8),
      Matrix::Zero(1, 3));
}

}  // namespace

// The part of framework/learn/ops.h on distributions.

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/framework/learn/check_op.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr float kDistributionsInfinity = std::numeric_limits<float>::infinity();

// Logarithms of probabilities in plain loops, in double; -infinity where allowed(i, j) is 0.
Matrix PlainLogSoftmax(const Matrix& logits, const Matrix& allowed) {
  Matrix y(logits.rows(), logits.cols());
  for (int i = 0; i < y.rows(); ++i) {
    double sum = 0;
    for (int j = 0; j < y.cols(); ++j)
      sum += allowed(i, j) != 0 ? std::exp(double{logits(i, j)}) : 0;
    for (int j = 0; j < y.cols(); ++j) {
      y(i, j) = allowed(i, j) != 0 ? static_cast<float>(logits(i, j) - std::log(sum))
                                   : -kDistributionsInfinity;
    }
  }
  return y;
}

// With the masked entries, which have to agree, set to 0.
double DistanceOfMasked(const Matrix& a, const Matrix& b) {
  REQUIRE(((a.array() == -kDistributionsInfinity) == (b.array() == -kDistributionsInfinity)).all());
  return Distance((a.array() == -kDistributionsInfinity).select(0, a),
                  (b.array() == -kDistributionsInfinity).select(0, b));
}

std::vector<int> RandomColumns(int n, int m, Rng& rng) {
  std::vector<int> col(n);
  for (int& c : col) c = UniformInt(rng, m);
  return col;
}

TEST_CASE("log-softmax, log-probability, entropy") {
  Rng rng(1);
  for (const auto& [n, m] : kShapes) {
    CAPTURE(n);
    CAPTURE(m);
    const Matrix logits = RandomMatrix(n, m, rng, -2, 2);
    const Matrix expected = PlainLogSoftmax(logits, Matrix::Ones(n, m));
    Tape tape;
    const Var x = tape.Constant(logits), y = LogSoftmax(tape, x);
    CHECK(Distance(tape.value(y), expected) <= 2e-6);
    Matrix entropy = Matrix::Zero(n, 1);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < m; ++j) entropy(i, 0) -= std::exp(expected(i, j)) * expected(i, j);
    }
    CHECK(Distance(tape.value(Entropy(tape, y)), entropy) <= 1e-5);
    CheckGradients([](Tape& t, const Vars& v) { return LogSoftmax(t, v[0]); }, {logits});
    CheckGradients([](Tape& t, const Vars& v) { return Entropy(t, v[0]); }, {expected});
    CheckGradients([](Tape& t, const Vars& v) { return Entropy(t, LogSoftmax(t, v[0])); },
                   {logits});
    if (n > 0 && m == 0) continue;  // nothing to pick
    const std::vector<int> col = RandomColumns(n, m, rng);
    Matrix picked(n, 1);
    for (int i = 0; i < n; ++i) picked(i, 0) = expected(i, col[i]);
    CHECK(Distance(tape.value(Pick(tape, y, col)), picked) <= 2e-6);
    CheckGradients([&](Tape& t, const Vars& v) { return Pick(t, v[0], col); }, {logits});
  }
}

TEST_CASE("large logits neither overflow nor vanish") {
  Matrix logits(2, 3);
  logits << 1000, 999, -1000, -3e38F, -3e38F, -3e38F;
  // log(1 / (1 + e^-1)) = -0.313262
  Matrix expected(2, 3);
  expected << -0.313262F, -1.313262F, -2000.313262F, -1.098612F, -1.098612F, -1.098612F;
  Tape tape;
  const Var x = tape.Constant(logits);
  CHECK(Distance(tape.value(LogSoftmax(tape, x)), expected) <= 1e-4);
}

TEST_CASE("masked columns: -infinity, no gradient, not a NaN anywhere") {
  Rng rng(2);
  for (const bool one_row : {false, true}) {
    for (const auto& [n, m] : {std::pair{0, 3}, {1, 1}, {1, 4}, {6, 5}, {3, 40}}) {
      Matrix allowed = Matrix::Zero(one_row ? 1 : n, m);
      std::vector<int> col(n);
      for (int i = 0; i < allowed.rows(); ++i) {
        for (int j = 0; j < m; ++j) allowed(i, j) = Uniform01(rng) < 0.5 ? 3 : 0;
        allowed(i, UniformInt(rng, m)) = 1;
      }
      const Matrix mask = one_row ? Matrix(allowed.replicate(n, 1)) : allowed;
      for (int i = 0; i < n; ++i) {
        do {
          col[i] = UniformInt(rng, m);
        } while (mask(i, col[i]) == 0);
      }
      const Matrix logits = RandomMatrix(n, m, rng, -2, 2);
      const Matrix expected = PlainLogSoftmax(logits, mask);
      Tape tape;
      const Var y = LogSoftmax(tape, tape.Constant(logits), &allowed);
      CHECK(DistanceOfMasked(tape.value(y), expected) <= 2e-6);
      Matrix entropy = Matrix::Zero(n, 1);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) {
          if (mask(i, j) != 0) entropy(i, 0) -= std::exp(expected(i, j)) * expected(i, j);
        }
      }
      CHECK(Distance(tape.value(Entropy(tape, y)), entropy) <= 1e-5);

      const Operation sum = [&](Tape& t, const Vars& v) {
        const Var log_probabilities = LogSoftmax(t, v[0], &allowed);
        return Add(t, Entropy(t, log_probabilities), Pick(t, log_probabilities, col));
      };
      CheckGradients(sum, {logits});
      ParameterSet parameters;
      Parameter& w = parameters.Add("logits", n, m);
      w.value = logits;
      Tape recorded;
      recorded.Backward(SumAll(recorded, sum(recorded, {recorded.Use(w)})));
      CHECK((mask.array() == 0).select(w.gradient, 0).isZero(0));
      CHECK(recorded.FirstNonFinite() == "");
      // A gradient that comes to what is masked goes no further: dx = w - p sum(w) over the others.
      const Matrix outside = RandomMatrix(n, m, rng);
      ParameterSet others;
      Parameter& other = others.Add("logits", n, m);
      other.value = logits;
      recorded.Clear();
      const Var masked = LogSoftmax(recorded, recorded.Use(other), &allowed);
      recorded.Backward(SumAll(recorded, Multiply(recorded, masked, recorded.Constant(outside))));
      const Matrix w_allowed = (mask.array() == 0).select(0, outside);
      const Matrix p = expected.array().exp();
      const Matrix dx =
          w_allowed - (p.array().colwise() * w_allowed.rowwise().sum().array()).matrix();
      CHECK(Distance(other.gradient, dx) <= 1e-5);
      CHECK((mask.array() == 0).select(other.gradient, 0).isZero(0));
    }
  }
}

// KL(old || new), mean over the rows, in plain loops; what `allowed` masks is left out.
double PlainKl(const Matrix& old_logits, const Matrix& logits, const Matrix& allowed) {
  const Matrix before = PlainLogSoftmax(old_logits, allowed);
  const Matrix after = PlainLogSoftmax(logits, allowed);
  double sum = 0;
  for (int i = 0; i < before.rows(); ++i) {
    for (int j = 0; j < before.cols(); ++j) {
      if (allowed(i, j) == 0) continue;
      sum += std::exp(double{before(i, j)}) * (double{before(i, j)} - double{after(i, j)});
    }
  }
  return sum / std::max<double>(1, before.rows());
}

TEST_CASE("the divergence of categorical distributions") {
  Rng rng(6);
  for (const auto& [n, m] : {std::pair{0, 3}, {1, 1}, {1, 6}, {4, 7}, {3, 33}}) {
    for (const bool masked : {false, true}) {
      CAPTURE(n);
      CAPTURE(m);
      Matrix allowed = Matrix::Ones(n, m);
      for (int i = 0; masked && i < n; ++i) {
        for (int j = 0; j < m; ++j) allowed(i, j) = Uniform01(rng) < 0.5 ? 1 : 0;
        allowed(i, UniformInt(rng, m)) = 1;
      }
      const Matrix before = RandomMatrix(n, m, rng, -2, 2), after = RandomMatrix(n, m, rng, -2, 2);
      Tape tape;
      const Var x = LogSoftmax(tape, tape.Constant(after), &allowed);
      const Matrix old = PlainLogSoftmax(before, allowed);
      const double kl = tape.value(KlDivergence(tape, old, x))(0, 0);
      CHECK(kl == doctest::Approx(PlainKl(before, after, allowed)).epsilon(1e-5));
      CHECK(tape.value(KlDivergence(tape, tape.value(x), x))(0, 0) == 0);
      CheckGradients(
          [&](Tape& t, const Vars& v) {
            return KlDivergence(t, old, LogSoftmax(t, v[0], &allowed));
          },
          {after});
      // Each row with a weight: the mean of the rows' own divergences times these.
      const Matrix weights = RandomMatrix(n, 1, rng, 0, 3);
      double weighted = 0;
      for (int i = 0; i < n; ++i) {
        weighted += weights(i, 0) * PlainKl(before.row(i), after.row(i), allowed.row(i)) / n;
      }
      CHECK(tape.value(KlDivergence(tape, old, x, &weights))(0, 0) ==
            doctest::Approx(weighted).epsilon(1e-5));
      CheckGradients(
          [&](Tape& t, const Vars& v) {
            return KlDivergence(t, old, LogSoftmax(t, v[0], &allowed), &weights);
          },
          {after});
    }
  }
  // [1/4, 3/4, 0] to [1/2, 1/2, 0]: 1/4 log 1/2 + 3/4 log 3/2 = -0.173287 + 0.304099
  const Matrix old =
      (Matrix(1, 3) << std::log(0.25F), std::log(0.75F), -kDistributionsInfinity).finished();
  ParameterSet parameters;
  Parameter& now = parameters.Add("now", 1, 3);
  now.value << std::log(0.5F), std::log(0.5F), -kDistributionsInfinity;
  Tape tape;
  const Var kl = KlDivergence(tape, old, tape.Use(now));
  CHECK(tape.value(kl)(0, 0) == doctest::Approx(0.130812));
  tape.Backward(Scale(tape, kl, 2));
  CHECK(Distance(now.gradient, (Matrix(1, 3) << -0.5F, -1.5F, 0).finished()) <= 1e-6);
  // What was possible and is no more is infinitely far.
  now.value(0, 1) = -kDistributionsInfinity;
  tape.Clear();
  CHECK(tape.value(KlDivergence(tape, old, tape.Use(now)))(0, 0) == kDistributionsInfinity);
}

TEST_CASE("logits of -infinity are masked too") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("logits", 1, 3);
  w.value << 0, -kDistributionsInfinity, 0;
  Tape tape;
  const Var logits = tape.Use(w), y = LogSoftmax(tape, logits);
  CHECK(tape.value(y)(0, 1) == -kDistributionsInfinity);
  CHECK(tape.value(y)(0, 0) == doctest::Approx(-std::log(2)));
  const Var loss = Add(tape, Pick(tape, y, {2}), Entropy(tape, y));
  CHECK(tape.value(loss)(0, 0) == doctest::Approx(0));
  tape.Backward(loss);
  // d log p_2 = [-1/2, 0, 1/2]; the entropy is at its largest.
  CHECK(Distance(w.gradient, (Matrix(1, 3) << -0.5F, 0, 0.5F).finished()) <= 1e-6);
  CHECK(w.gradient(0, 1) == 0);
}

TEST_CASE("shapes that do not fit are named with the operation") {
  const Matrix nothing = (Matrix(2, 3) << 1, 0, 0, 0, 0, 0).finished();
  CheckRefusedShapes({
      {[](Tape& t, Var a, Var) { return Pick(t, a, {0}); }, "pick: [2, 3] and 1"},
      {[](Tape& t, Var a, Var) {
         return Pick(t, a, {0, 3});
       },
       "pick: [2, 3] and 3"},
      {[](Tape& t, Var a, Var) {
         return Pick(t, a, {-1, 0});
       },
       "pick: [2, 3] and -1"},
      {[](Tape& t, Var a, Var b) { return LogSoftmax(t, a, &t.value(b)); },
       "log_softmax: [2, 3] and [2, 4]"},
      {[&](Tape& t, Var a, Var) { return LogSoftmax(t, a, &nothing); },
       "log_softmax: no column is allowed: [2, 3] and 1"},
      {[](Tape& t, Var a, Var b) { return KlDivergence(t, t.value(b), a); },
       "kl_divergence: [2, 4] and [2, 3]"},
  });
}

}  // namespace

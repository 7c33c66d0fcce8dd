// Distributions over the columns of each row.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

using Eigen::Index;
using internal::CheckShape;
using internal::CheckShapes;

using RowArray = Eigen::Array<float, 1, Eigen::Dynamic>;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

void CheckColumns(const char* op, const Matrix& x, const std::vector<int>& col) {
  CheckShape(x.rows() == std::ssize(col), op, x, std::ssize(col));
  for (const int c : col) CheckShape(c >= 0 && c < x.cols(), op, x, c);
}

}  // namespace

Var LogSoftmax(Tape& tape, Var logits, const Matrix* allowed) {
  Matrix y = tape.value(logits);
  if (allowed != nullptr) {
    const bool one_row = allowed->rows() == 1;
    CheckShapes(allowed->cols() == y.cols() && (one_row || allowed->rows() == y.rows()),
                "log_softmax",
                y,
                *allowed);
    for (Index i = 0; i < y.rows(); ++i) {
      const auto mask = allowed->row(one_row ? 0 : i).array();
      CheckShape((mask != 0).any(), "log_softmax: no column is allowed", y, i);
      y.row(i) = (mask != 0).select(y.row(i).array(), kMasked).matrix();
    }
  }
  for (Index i = 0; y.cols() > 0 && i < y.rows(); ++i) {
    auto row = y.row(i).array();
    row -= row.maxCoeff();
    row -= std::log(row.exp().sum());
  }
  const Var out = internal::Next(tape);
  return tape.Record("log_softmax", std::move(y), {logits}, [=](Tape& t, const Matrix& g) {
    Matrix& dx = t.MutableGradient(logits);
    RowArray dy(g.cols()), p(g.cols());
    for (Index i = 0; i < g.rows(); ++i) {
      const auto row = t.value(out).row(i).array();
      dy = (row == kMasked).select(0.0F, g.row(i).array());
      p = row.exp();  // exp(-infinity) is not exactly 0 with every instruction set
      dx.row(i).array() += (row == kMasked).select(0.0F, dy - dy.sum() * p);
    }
  });
}

Var Pick(Tape& tape, Var x, std::vector<int> col) {
  const Matrix& in = tape.value(x);
  CheckColumns("pick", in, col);
  Matrix y(in.rows(), 1);
  for (Index i = 0; i < in.rows(); ++i) y(i, 0) = in(i, col[i]);
  return tape.Record(
      "pick", std::move(y), {x}, [x, col = std::move(col)](Tape& t, const Matrix& g) {
        Matrix& dx = t.MutableGradient(x);
        for (Index i = 0; i < g.rows(); ++i) dx(i, col[i]) += g(i, 0);
      });
}

Var Entropy(Tape& tape, Var log_probabilities) {
  const Matrix& x = tape.value(log_probabilities);
  Matrix y(x.rows(), 1);
  RowArray p(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    const auto row = x.row(i).array();
    p = row.exp();  // not within select(), which would not be vectorised
    y(i, 0) = -(row == kMasked).select(0.0F, p * row).sum();
  }
  return tape.Record("entropy", std::move(y), {log_probabilities}, [=](Tape& t, const Matrix& g) {
    Matrix& dx = t.MutableGradient(log_probabilities);
    RowArray p(dx.cols());
    for (Index i = 0; i < g.rows(); ++i) {
      const auto row = t.value(log_probabilities).row(i).array();
      p = row.exp();
      dx.row(i).array() -= (row == kMasked).select(0.0F, g(i, 0) * p * (row + 1));
    }
  });
}

Var KlDivergence(Tape& tape, const Matrix& old, Var log_probabilities, const Matrix* weights) {
  const Matrix& x = tape.value(log_probabilities);
  CheckShapes(old.rows() == x.rows() && old.cols() == x.cols(), "kl_divergence", old, x);
  const auto possible = old.array() != kMasked;
  Matrix p = possible.select(old.array().exp(), 0.0F);
  if (weights != nullptr) p.array().colwise() *= weights->col(0).array();
  const Matrix terms = possible.select(p.array() * (old - x).array(), 0.0F);
  const float share = 1 / static_cast<float>(std::max<Index>(1, x.rows()));
  return tape.Record("kl_divergence",
                     Matrix::Constant(1, 1, share * terms.sum()),
                     {log_probabilities},
                     [=, p = std::move(p)](Tape& t, const Matrix& g) {
                       const Matrix dx = -(share * g(0, 0)) * p;
                       t.AddGradient(log_probabilities, dx);
                     });
}

}  // namespace emplace

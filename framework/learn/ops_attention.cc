// Additive attention.

#include <utility>

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

using Eigen::Index;

// Returns exp(2 x), for tanh(x + z) = 1 - 2 / (1 + exp(2 x) exp(2 z)). This needs one exponential
// for each row instead of one for each pair of rows. The limit prevents an overflow of the factors.
// If their product overflows to infinity, tanh is 1, which is correct.
Matrix ExpTwice(const Matrix& x) {
  constexpr float kLimit = 43;
  return (2 * x.array().max(-kLimit).min(kLimit)).exp().matrix();
}

// Adds the gradients of one row of query and one row of keys, with A columns. Adds d s / d (query +
// keys) times `ds` to d_query and d_key, and -ds (1 - tanh) / 2 [A] to dv. Plain pointers let the
// compiler generate one vectorised loop.
void AddPairGradient(Index width,
                     float ds,
                     const float* __restrict query,
                     const float* __restrict key,
                     float* __restrict d_query,
                     float* __restrict d_key,
                     float* __restrict dv) {
  for (Index a = 0; a < width; ++a) {
    const float half = 1 / (1 + query[a] * key[a]);  // (1 - tanh) / 2
    const float slope = ds * (half - half * half);   // (1 - tanh^2) / 4
    d_query[a] += slope;
    d_key[a] += slope;
    dv[a] -= ds * half;
  }
}

}  // namespace

Var AdditiveAttention(Tape& tape, Var query, Var keys, Var v) {
  const Matrix &q = tape.value(query), &k = tape.value(keys), &weights = tape.value(v);
  internal::CheckShapes(q.cols() == k.cols(), "additive_attention", q, k);
  internal::CheckShapes(
      weights.rows() == 1 && weights.cols() == k.cols(), "additive_attention", k, weights);
  const Matrix exp_q = ExpTwice(q), exp_k = ExpTwice(k);
  Matrix y(q.rows(), k.rows());
  for (Index s = 0; s < k.rows(); ++s) {
    for (Index n = 0; n < q.rows(); ++n) {
      // sum_a v tanh = sum_a v - 2 sum_a v / (1 + ...); the softmax cancels the first sum.
      y(n, s) = -2 * (weights.array() / (1 + exp_q.row(n).array() * exp_k.row(s).array())).sum();
    }
  }
  for (Index n = 0; k.rows() > 0 && n < q.rows(); ++n) {
    auto row = y.row(n).array();
    row = (row - row.maxCoeff()).exp();
    row /= row.sum();
  }
  const Var out = internal::Next(tape);
  return tape.Record(
      "additive_attention", std::move(y), {query, keys, v}, [=](Tape& t, const Matrix& g) {
        const Matrix& p = t.value(out);
        const Matrix exp_q = ExpTwice(t.value(query)), exp_k = ExpTwice(t.value(keys));
        Matrix ds(g.rows(), g.cols());
        for (Index n = 0; n < g.rows(); ++n) {
          ds.row(n) = (p.row(n).array() * (g.row(n).array() - g.row(n).dot(p.row(n)))).matrix();
        }
        Matrix dq = Matrix::Zero(exp_q.rows(), exp_q.cols()),
               dk = Matrix::Zero(exp_k.rows(), exp_k.cols()), dv = Matrix::Zero(1, exp_q.cols());
        for (Index s = 0; s < g.cols(); ++s) {
          for (Index n = 0; n < g.rows(); ++n) {
            AddPairGradient(dv.cols(),
                            ds(n, s),
                            exp_q.row(n).data(),
                            exp_k.row(s).data(),
                            dq.row(n).data(),
                            dk.row(s).data(),
                            dv.data());
          }
        }
        const auto slope = 4 * t.value(v).row(0).array();
        t.AddGradient(query, (dq.array().rowwise() * slope).matrix());
        t.AddGradient(keys, (dk.array().rowwise() * slope).matrix());
        t.AddGradient(v, 2 * dv);
      });
}

}  // namespace emplace

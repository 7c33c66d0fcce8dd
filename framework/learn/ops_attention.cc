// Additive attention.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "framework/learn/lanes.h"
#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

using Eigen::Index;
using internal::kLanes;
using internal::Lanes;
using internal::Load;
using internal::Store;

// Returns exp(2 x), for tanh(x + z) = 1 - 2 / (1 + exp(2 x) exp(2 z)). This needs one exponential
// for each row instead of one for each pair of rows. The limit prevents an overflow of the factors.
// If their product overflows to infinity, tanh is 1, which is correct.
Matrix ExpTwice(const Matrix& x) {
  constexpr float kLimit = 43;
  return (2 * x.array().max(-kLimit).min(kLimit)).exp().matrix();
}

// Rows whose sums are kept in registers.
constexpr int kMostRows = 5;

// Replaces each x in [1, infinity] by 1 / x with one division for all, which takes longer than ten
// products. Larger numbers count as kLargest, so that the product is finite; 1 - 2 / kLargest
// differs from 1 by no more than a rounding of tanh.
template <int kRows>
void Invert(Lanes (&x)[kRows]) {
  constexpr float kLargest = 1e7F;
  static_assert(kMostRows <= 5);
  Lanes product[kRows];
  for (int n = 0; n < kRows; ++n) {
    x[n] = x[n] > kLargest ? kLargest + Lanes{} : x[n];  // preserves NaN
    product[n] = n > 0 ? product[n - 1] * x[n] : x[n];
  }
  Lanes inverse = 1.0F / product[kRows - 1];
  for (int n = kRows - 1; n > 0; --n) {
    const Lanes own = inverse * product[n - 1];
    inverse *= x[n];
    x[n] = own;
  }
  x[0] = inverse;
}

// Calls f(first, count as a constant) for blocks of rows.
template <typename Function>
void ForBlocksOfRows(Index rows, const Function& f) {
  for (Index n = 0; n < rows; n += kMostRows) {
    internal::WithConstant<kMostRows>(static_cast<int>(std::min<Index>(kMostRows, rows - n)),
                                      [&](auto count) { f(n, count); });
  }
}

// Calls f(first, count) for blocks of kLanes columns.
template <typename Function>
void ForBlocksOfCols(Index cols, const Function& f) {
  for (Index c = 0; c < cols; c += kLanes) {
    f(c, static_cast<int>(std::min<Index>(kLanes, cols - c)));
  }
}

// Rows [first, first + rows) that attend to the same keys.
struct Run {
  Index first, rows;
  RowRange keys;
};

// @return the runs of equal ranges; one for all rows, with all keys, if there are no ranges
std::vector<Run> RunsOf(const char* op, Index rows, Index num_keys, std::span<const RowRange> all) {
  if (all.empty()) return {{0, rows, {0, static_cast<int>(num_keys)}}};
  EMPLACE_CHECK(std::ssize(all) == rows,
                fmt::format("{}: {} rows and {} ranges", op, rows, all.size()));
  std::vector<Run> runs;
  for (Index n = 0; n < rows; ++n) {
    EMPLACE_CHECK(all[n].begin >= 0 && all[n].count >= 0 && all[n].begin + all[n].count <= num_keys,
                  fmt::format("{}: {} keys and the range [{}, {})",
                              op,
                              num_keys,
                              all[n].begin,
                              all[n].begin + all[n].count));
    if (n > 0 && all[n] == all[n - 1]) {
      ++runs.back().rows;
    } else {
      runs.push_back({n, 1, all[n]});
    }
  }
  return runs;
}

Index MostKeys(const std::vector<Run>& runs) {
  int most = 0;
  for (const Run& run : runs) most = std::max(most, run.keys.count);
  return most;
}

// Computes the scores of `count` keys for kRows rows of query, less a term that the softmax
// cancels: sum_a v tanh = sum_a v - 2 sum_a v / (1 + ...).
// @param query  [kRows, A] and keys [A, num_keys]: exponentials   @param v  [A]
// @param scores  [kRows, num_scores]
template <int kRows>
void ScoreKeys(const float* query,
               const float* keys,
               const float* v,
               Index width,
               Index num_keys,
               int count,
               float* scores,
               Index num_scores) {
  Lanes sum[kRows] = {};
  for (Index a = 0; a < width; ++a) {
    const Lanes key = Load(keys + a * num_keys, count);
    Lanes half[kRows];  // (1 - tanh) / 2
    for (int n = 0; n < kRows; ++n) half[n] = 1.0F + query[n * width + a] * key;
    Invert(half);
    for (int n = 0; n < kRows; ++n) sum[n] += v[a] * half[n];
  }
  for (int n = 0; n < kRows; ++n) Store(-2.0F * sum[n], scores + n * num_scores, count);
}

// The gradients of kRows rows of query and of their keys. Pointers to rows are to the first of
// these rows and of the columns at hand; rows have A columns.
struct PairGradients {
  Index width, num_keys, num_scores;
  const float *query, *keys;  // exponentials
  const float* ds;            // [kRows, num_scores] gradients of the scores
  const float* v;
  float *d_query, *d_keys, *d_v;
};

// Adds d s / d (query + keys) times `ds` to d_query and d_keys, and ds tanh to d_v less its term
// that the softmax cancels, in `count` columns. Each sum is in the order of the keys and within a
// key in that of the queries.
template <int kRows>
void AddPairGradients(const PairGradients& p, int count) {
  Lanes query[kRows], d_query[kRows] = {}, d_v = {};
  const Lanes slope_of_all = 4.0F * Load(p.v, count);
  for (int n = 0; n < kRows; ++n) query[n] = Load(p.query + n * p.width, count);
  for (Index s = 0; s < p.num_keys; ++s) {
    const Lanes key = Load(p.keys + s * p.width, count);
    Lanes d_key = {}, half[kRows];
    for (int n = 0; n < kRows; ++n) half[n] = 1.0F + query[n] * key;
    Invert(half);
    for (int n = 0; n < kRows; ++n) {
      const Lanes share = p.ds[n * p.num_scores + s] * half[n];
      const Lanes slope = share - share * half[n];  // ds (1 - tanh^2) / 4
      d_query[n] += slope;
      d_key += slope;
      d_v -= share;
    }
    float* to = p.d_keys + s * p.width;
    Store(Load(to, count) + slope_of_all * d_key, to, count);
  }
  for (int n = 0; n < kRows; ++n) {
    float* to = p.d_query + n * p.width;
    Store(Load(to, count) + slope_of_all * d_query[n], to, count);
  }
  Store(Load(p.d_v, count) + 2.0F * d_v, p.d_v, count);
}

}  // namespace

AttentionKeys::AttentionKeys(Tape& tape, Var rows)
    : keys(rows), exponentials(tape.Constant(ExpTwice(tape.value(rows)))) {
}

Var AdditiveAttention(Tape& tape,
                      Var query,
                      const AttentionKeys& keys,
                      Var v,
                      std::span<const RowRange> ranges) {
  const Matrix &q = tape.value(query), &exp_k = tape.value(keys.exponentials),
               &weights = tape.value(v);
  internal::CheckShapes(q.cols() == exp_k.cols(), "additive_attention", q, exp_k);
  internal::CheckShapes(
      weights.rows() == 1 && weights.cols() == exp_k.cols(), "additive_attention", exp_k, weights);
  std::vector<Run> runs = RunsOf("additive_attention", q.rows(), exp_k.rows(), ranges);
  Matrix exp_q = ExpTwice(q), y(q.rows(), MostKeys(runs));
  const Matrix& transposed = tape.Transposed(keys.exponentials);
  for (const Run& run : runs) {
    ForBlocksOfRows(run.rows, [&](Index n, auto rows) {
      ForBlocksOfCols(run.keys.count, [&](Index s, int count) {
        ScoreKeys<rows>(exp_q.row(run.first + n).data(),
                        transposed.data() + run.keys.begin + s,
                        weights.data(),
                        q.cols(),
                        exp_k.rows(),
                        count,
                        y.row(run.first + n).data() + s,
                        y.cols());
      });
    });
    for (Index n = run.first; n < run.first + run.rows; ++n) {
      y.row(n).tail(y.cols() - run.keys.count).setZero();
      if (run.keys.count == 0) continue;
      auto row = y.row(n).head(run.keys.count).array();
      row = (row - row.maxCoeff()).exp();
      row /= row.sum();
    }
  }
  const Var out = internal::Next(tape);
  return tape.Record(
      "additive_attention",
      std::move(y),
      {query, keys.keys, v},
      [=, exp_q = std::move(exp_q), runs = std::move(runs)](Tape& t, const Matrix& g) {
        const Matrix &p = t.value(out), &exp_k = t.value(keys.exponentials);
        Matrix ds(g.rows(), g.cols());
        for (Index n = 0; n < g.rows(); ++n) {
          ds.row(n) = (p.row(n).array() * (g.row(n).array() - g.row(n).dot(p.row(n)))).matrix();
        }
        std::array<Matrix, 3> unused;  // gradients that no node needs
        const auto gradient = [&](Var x, Matrix& otherwise) {
          if (t.needs_gradient(x)) return t.MutableGradient(x).data();
          otherwise.setZero(t.rows(x), t.cols(x));
          return otherwise.data();
        };
        float *const d_query = gradient(query, unused[0]),
                     *const d_keys = gradient(keys.keys, unused[1]),
                     *const d_v = gradient(v, unused[2]);
        const Index width = exp_q.cols();
        for (const Run& run : runs) {
          ForBlocksOfRows(run.rows, [&](Index of_run, auto rows) {
            const Index n = run.first + of_run;
            ForBlocksOfCols(width, [&](Index a, int count) {
              AddPairGradients<rows>({.width = width,
                                      .num_keys = run.keys.count,
                                      .num_scores = ds.cols(),
                                      .query = exp_q.row(n).data() + a,
                                      .keys = exp_k.data() + run.keys.begin * width + a,
                                      .ds = ds.row(n).data(),
                                      .v = t.value(v).data() + a,
                                      .d_query = d_query + n * width + a,
                                      .d_keys = d_keys + run.keys.begin * width + a,
                                      .d_v = d_v + a},
                                     count);
            });
          });
        }
      });
}

Var WeightedRowSums(Tape& tape, Var weights, Var rows, std::span<const RowRange> ranges) {
  const Matrix &w = tape.value(weights), &x = tape.value(rows);
  std::vector<Run> runs = RunsOf("weighted_row_sums", w.rows(), x.rows(), ranges);
  internal::CheckShapes(w.cols() == MostKeys(runs), "weighted_row_sums", w, x);
  Matrix y(w.rows(), x.cols());
  for (const Run& run : runs) {
    y.middleRows(run.first, run.rows).noalias() = w.block(run.first, 0, run.rows, run.keys.count) *
                                                  x.middleRows(run.keys.begin, run.keys.count);
  }
  return tape.Record(
      "weighted_row_sums",
      std::move(y),
      {weights, rows},
      [=, runs = std::move(runs)](Tape& t, const Matrix& g) {
        for (const auto& [first, count, keys] : runs) {
          const auto of_run = g.middleRows(first, count);
          if (t.needs_gradient(weights)) {
            t.MutableGradient(weights).block(first, 0, count, keys.count).noalias() +=
                of_run * t.value(rows).middleRows(keys.begin, keys.count).transpose();
          }
          if (!t.needs_gradient(rows)) continue;
          auto to = t.MutableGradient(rows).middleRows(keys.begin, keys.count);
          const auto shares = t.value(weights).block(first, 0, count, keys.count);
          if (count == 1) {
            to.noalias() += shares.row(0).transpose() * of_run.row(0);
          } else {
            to.noalias() += shares.transpose() * of_run;
          }
        }
      });
}

}  // namespace emplace

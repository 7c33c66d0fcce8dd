#pragma once

// Differentiable operations on matrices. Each checks its shapes (EMPLACE_CHECK with both), computes
// its value, and records one node. Rows and columns may be 0. Shapes in brackets: [rows, cols].

#include <memory>
#include <span>
#include <vector>

#include <Eigen/SparseCore>

#include "framework/learn/tape.h"

namespace emplace {

// Products and sums.

/// a [n, k] * b [k, m] -> [n, m]
Var MatMul(Tape& tape, Var a, Var b);
/// c [n, m] + a [n, k] * b [k, m] -> [n, m] as one node.
Var AddMatMul(Tape& tape, Var c, Var a, Var b);
/// sparse [n, k] (constant) * x [k, m] -> [n, m]: sums over neighbours of a graph. With `block` b,
/// each row stands for b rows: x [k b, m] -> [n b, m], where rows l b + j determine row i b + j. So
/// one product serves b states of a graph (x multiplied by the Kronecker product of sparse and an
/// identity).
using SparseMatrix = Eigen::SparseMatrix<float, Eigen::RowMajor>;
Var SparseMatMul(Tape& tape, std::shared_ptr<const SparseMatrix> sparse, Var x, int block = 1);
/// x [n, in] * weights [in, out] + bias [1, out] -> [n, out] as one node.
Var Affine(Tape& tape, Var x, Var weights, Var bias);
/// Relu(Affine(...)) as one node. After Backward(), Tape::gradient() of the node is the gradient of
/// the sum before the ReLU.
Var AffineRelu(Tape& tape, Var x, Var weights, Var bias);
/// Elementwise with broadcast: b has the shape of a, or is one row, one column, or [1, 1].
Var Add(Tape& tape, Var a, Var b);
Var Subtract(Tape& tape, Var a, Var b);
Var Multiply(Tape& tape, Var a, Var b);
/// a + b * c elementwise for matrices of one shape, as one node.
Var MultiplyAdd(Tape& tape, Var a, Var b, Var c);
Var Scale(Tape& tape, Var x, float factor);
Var AddScalar(Tape& tape, Var x, float summand);

// Elementwise.

Var Sigmoid(Tape& tape, Var x);
Var Tanh(Tape& tape, Var x);
Var Relu(Tape& tape, Var x);
Var Exp(Tape& tape, Var x);
/// Natural logarithm. @pre positive entries
Var Log(Tape& tape, Var x);
Var Square(Tape& tape, Var x);
/// Elementwise maximum of two matrices of one shape; a gets the gradient of equals.
Var Maximum(Tape& tape, Var a, Var b);
/// Limits entries to [low, high]; the gradient of a limited entry is 0.
Var Clamp(Tape& tape, Var x, float low, float high);

// Sums.

Var SumAll(Tape& tape, Var x);       ///< [n, m] -> [1, 1]
Var MeanAll(Tape& tape, Var x);      ///< [n, m] -> [1, 1]; 0 without entries
Var SumOverRows(Tape& tape, Var x);  ///< [n, m] -> [1, m]
Var SumOverCols(Tape& tape, Var x);  ///< [n, m] -> [n, 1]
/// y[s] = sum of the rows i with segment[i] == s; -1 is ignored. x [n, m] -> [num_segments, m]
Var SegmentSum(Tape& tape, Var x, std::vector<int> segment, int num_segments);

// Shapes.

/// Returns the same entries, row by row, in another shape of equal size.
Var Reshape(Tape& tape, Var x, int rows, int cols);
Var ConcatCols(Tape& tape, const std::vector<Var>& parts);  ///< [n, a], [n, b] -> [n, a + b]
Var ConcatRows(Tape& tape, const std::vector<Var>& parts);  ///< [a, m], [b, m] -> [a + b, m]
Var SliceCols(Tape& tape, Var x, int begin, int count);
Var SliceRows(Tape& tape, Var x, int begin, int count);
/// y[i] = x[index[i]]: rows of a table (embedding), or one row several times; zeros for -1.
Var Gather(Tape& tape, Var x, std::vector<int> index);

// Distributions over the columns of each row.

/// With `allowed` [n, m] or [1, m], entries that are not allowed (zero) get -infinity. Each row
/// needs an allowed entry.
Var LogSoftmax(Tape& tape, Var logits, const Matrix* allowed = nullptr);
/// y[i] = x[i, col[i]]: [n, m] -> [n, 1]
Var Pick(Tape& tape, Var x, std::vector<int> col);
/// Entropy -sum_j p log p of each row in nats: log-probabilities [n, m] -> [n, 1]. The term of a
/// log-probability of -infinity is 0.
Var Entropy(Tape& tape, Var log_probabilities);
/// KL(old || new) = sum_j p_old (log p_old - log p_new) in nats, mean over the rows (0 without
/// rows): [n, m] -> [1, 1]. Entries of -infinity in `old` [n, m] count 0 and have no gradient.
/// @param weights  [n, 1] weight of each row; nullptr: 1
Var KlDivergence(Tape& tape,
                 const Matrix& old,
                 Var log_probabilities,
                 const Matrix* weights = nullptr);

// Networks.

struct LstmState {
  Var hidden, cell;  ///< [n, H] each
};
/// One step of an LSTM (Hochreiter and Schmidhuber 1997; no peepholes). The gates before their
/// non-linearities are [n, 4H] in the order input, forget, candidate, output:
///   c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c')
LstmState LstmCell(Tape& tape, Var gates, Var cell);
/// A whole sequence of batch 1 in one node: gates_t = x_gates[t] + h_{t-1} * recurrent, from zeros.
/// @param x_gates  [T, 4H] inputs times weights plus bias   @param recurrent  [H, 4H]
/// @param backward_in_time  processes the rows from the last to the first
/// @return [T, 2H]: hidden and cell of each step, in the order of the rows of x_gates
Var LstmSequence(Tape& tape, Var x_gates, Var recurrent, bool backward_in_time = false);

/// Keys of additive attention [S, A], prepared once for all queries on the tape.
struct AttentionKeys {
  AttentionKeys(Tape& tape, Var rows);
  Var keys, exponentials;
};
/// Rows [begin, begin + count) of a matrix.
struct RowRange {
  int begin = 0, count = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};
/// Attention weights softmax_s(sum_a v[a] tanh(query[n, a] + keys[s, a])) (Bahdanau et al. 2015):
/// query [n, A], keys [S, A], v [1, A] -> [n, S]. The backward pass recomputes the tanh instead of
/// storing it. Entries of query and keys are limited to [-43, 43].
/// @param ranges  [n] the keys that each row attends to; empty: all. With ranges, the result is
///   [n, K], where K is the largest count. Entry (i, k) is the weight of key ranges[i].begin + k;
///   it is 0 for k >= ranges[i].count.
Var AdditiveAttention(Tape& tape,
                      Var query,
                      const AttentionKeys& keys,
                      Var v,
                      std::span<const RowRange> ranges = {});
/// y[i] = sum_k weights[i, k] rows[ranges[i].begin + k]: [n, K], [S, m] -> [n, m]
/// @param ranges  as in AdditiveAttention()
Var WeightedRowSums(Tape& tape, Var weights, Var rows, std::span<const RowRange> ranges);

}  // namespace emplace

// Products of matrices.

#include <algorithm>
#include <utility>

#include "framework/learn/lanes.h"
#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"
#include "framework/learn/products.h"

namespace emplace {

using internal::CheckShapes;

namespace {

// For y = x w, adds d loss / d x = g w^T and d loss / d w = x^T g.
void AddProductGradients(Tape& tape, Var x, Var w, const Matrix& g) {
  tape.AddOuterProduct(w, x, g);
  if (!tape.needs_gradient(x)) return;
  const Matrix& weights = tape.value(w);
  if (!IsNarrow(weights)) {
    Matrix& dx = tape.MutableGradient(x);
    // Few rows are those of a step, and other steps use the same weights.
    if (HasFewRows(g)) return AddProduct(g, tape.Transposed(w), dx);
    dx.noalias() += g * weights.transpose();
    return;
  }
  if (Matrix* fresh = tape.FreshGradient(x)) {
    NarrowProductTransposed(g, weights, false, *fresh);
  } else {
    NarrowProductTransposed(g, weights, true, tape.MutableGradient(x));
  }
}

// Clears the gradient where the value of the ReLU is 0, even if the gradient is not finite.
void ClearWhereZero(const Matrix& value, Matrix& gradient) {
  const float* y = value.data();
  float* g = gradient.data();
  for (Eigen::Index i = 0; i < value.size(); ++i) g[i] = y[i] > 0 ? g[i] : 0.0F;
}

// Computes y.row(i) = sum_l s(i, l) x.row(l) for `count` numbers of each row, starting at x and y.
void SparseProductOfLanes(const SparseMatrix& s,
                          const float* x,
                          float* y,
                          Eigen::Index width,
                          int count) {
  using internal::kLanes, internal::Lanes, internal::Load, internal::Store;
  for (Eigen::Index i = 0; i < s.rows(); ++i) {
    Lanes sum = {};
    for (SparseMatrix::InnerIterator entry(s, i); entry; ++entry) {
      const float* from = x + entry.col() * width;
      sum += entry.value() * (count == kLanes ? Load(from) : Load(from, count));
    }
    Store(sum, y + i * width, count);
  }
}

// Computes dx.row(l) += s(i, l) g.row(i).
void AddSparseProductTransposed(const SparseMatrix& s,
                                const float* g,
                                float* dx,
                                Eigen::Index width) {
  using Row = Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>;
  using ConstRow = Eigen::Map<const Eigen::Array<float, 1, Eigen::Dynamic>>;
  for (Eigen::Index i = 0; i < s.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(s, i); entry; ++entry) {
      Row(dx + entry.col() * width, width) += entry.value() * ConstRow(g + i * width, width);
    }
  }
}

Var Affine(Tape& tape, const char* op, Var x, Var weights, Var bias, bool relu) {
  const Matrix &in = tape.value(x), &w = tape.value(weights), &b = tape.value(bias);
  CheckShapes(in.cols() == w.rows(), op, in, w);
  CheckShapes(b.rows() == 1 && b.cols() == w.cols(), op, w, b);
  Matrix y(in.rows(), w.cols());
  if (IsNarrow(w)) {
    NarrowAffine(in, w, b, relu, y);
  } else {
    y.rowwise() = b.row(0);
    AddProduct(in, w, y);
    if (relu) y = (y.array() < 0).select(0.0F, y);  // preserves NaN
  }
  const Var self = internal::Next(tape);
  return tape.Record(op, std::move(y), {x, weights, bias}, [=](Tape& t, const Matrix& g) {
    // Replaces the node's gradient by the gradient before the ReLU; no other node reads it.
    if (relu) ClearWhereZero(t.value(self), t.MutableGradient(self));
    AddProductGradients(t, x, weights, g);
    if (!t.needs_gradient(bias)) return;
    if (IsNarrow(t.value(weights))) {
      AddNarrowRows(g, t.MutableGradient(bias));
    } else {
      t.AddGradient(bias, g.colwise().sum());
    }
  });
}

}  // namespace

Var MatMul(Tape& tape, Var a, Var b) {
  const Matrix &left = tape.value(a), &right = tape.value(b);
  CheckShapes(left.cols() == right.rows(), "matmul", left, right);
  Matrix y = Matrix::Zero(left.rows(), right.cols());
  AddProduct(left, right, y);
  return tape.Record("matmul", std::move(y), {a, b}, [a, b](Tape& t, const Matrix& g) {
    AddProductGradients(t, a, b, g);
  });
}

Var AddMatMul(Tape& tape, Var c, Var a, Var b) {
  const Matrix &left = tape.value(a), &right = tape.value(b);
  CheckShapes(left.cols() == right.rows(), "add_matmul", left, right);
  Matrix y = tape.value(c);
  CheckShapes(y.rows() == left.rows() && y.cols() == right.cols(), "add_matmul", y, right);
  AddProduct(left, right, y);
  return tape.Record("add_matmul", std::move(y), {c, a, b}, [=](Tape& t, const Matrix& g) {
    t.AddGradient(c, g);
    AddProductGradients(t, a, b, g);
  });
}

Var SparseMatMul(Tape& tape, std::shared_ptr<const SparseMatrix> sparse, Var x, int block) {
  const Matrix& dense = tape.value(x);
  EMPLACE_CHECK(block >= 1 && sparse->cols() * block == dense.rows(),
                fmt::format("sparse_matmul: [{}, {}] in blocks of {} and [{}, {}]",
                            sparse->rows(),
                            sparse->cols(),
                            block,
                            dense.rows(),
                            dense.cols()));
  // In row-major memory, a block of rows is one long row.
  const Eigen::Index width = block * dense.cols();
  Matrix product(sparse->rows() * block, dense.cols());
  for (Eigen::Index c = 0; c < width; c += internal::kLanes) {
    const int count = static_cast<int>(std::min<Eigen::Index>(internal::kLanes, width - c));
    SparseProductOfLanes(*sparse, dense.data() + c, product.data() + c, width, count);
  }
  return tape.Record(
      "sparse_matmul", std::move(product), {x}, [sparse, x, width](Tape& t, const Matrix& g) {
        AddSparseProductTransposed(*sparse, g.data(), t.MutableGradient(x).data(), width);
      });
}

Var Affine(Tape& tape, Var x, Var weights, Var bias) {
  return Affine(tape, "affine", x, weights, bias, false);
}

Var AffineRelu(Tape& tape, Var x, Var weights, Var bias) {
  return Affine(tape, "affine_relu", x, weights, bias, true);
}

}  // namespace emplace

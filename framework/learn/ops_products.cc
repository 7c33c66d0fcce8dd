// Products of matrices.

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"
#include "framework/learn/products.h"

namespace emplace {

using internal::CheckShapes;

namespace {

// y = x w: adds d loss / d x = g w^T and d loss / d w = x^T g.
void AddProductGradients(Tape& tape, Var x, Var w, const Matrix& g) {
  if (tape.needs_gradient(x)) AddProductTransposed(g, tape.value(w), tape.MutableGradient(x));
  tape.AddOuterProduct(w, x, g);
}

// y.row(i) += sum_l s(i, l) x.row(l), or with the transpose of s. Rows are long and entries few, so
// each entry is one addition of a scaled row.
void AddSparseProduct(const SparseMatrix& s,
                      bool transpose,
                      const float* x,
                      float* y,
                      Eigen::Index width) {
  using Row = Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>;
  using ConstRow = Eigen::Map<const Eigen::Array<float, 1, Eigen::Dynamic>>;
  for (Eigen::Index i = 0; i < s.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(s, i); entry; ++entry) {
      const Eigen::Index from = transpose ? i : entry.col(), to = transpose ? entry.col() : i;
      Row(y + to * width, width) += entry.value() * ConstRow(x + from * width, width);
    }
  }
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
  // Row by row in memory, a block of rows is one long row.
  const Eigen::Index width = block * dense.cols();
  Matrix product = Matrix::Zero(sparse->rows() * block, dense.cols());
  AddSparseProduct(*sparse, false, dense.data(), product.data(), width);
  return tape.Record(
      "sparse_matmul", std::move(product), {x}, [sparse, x, width](Tape& t, const Matrix& g) {
        AddSparseProduct(*sparse, true, g.data(), t.MutableGradient(x).data(), width);
      });
}

Var Affine(Tape& tape, Var x, Var weights, Var bias) {
  const Matrix &in = tape.value(x), &w = tape.value(weights), &b = tape.value(bias);
  CheckShapes(in.cols() == w.rows(), "affine", in, w);
  CheckShapes(b.rows() == 1 && b.cols() == w.cols(), "affine", w, b);
  Matrix y(in.rows(), w.cols());
  y.rowwise() = b.row(0);
  AddProduct(in, w, y);
  return tape.Record(
      "affine", std::move(y), {x, weights, bias}, [x, weights, bias](Tape& t, const Matrix& g) {
        AddProductGradients(t, x, weights, g);
        t.AddGradient(bias, g.colwise().sum());
      });
}

}  // namespace emplace

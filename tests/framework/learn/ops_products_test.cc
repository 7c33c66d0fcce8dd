// Products; what they are made of is in products_test.cc and narrow_products_test.cc.

#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/framework/learn/check_op.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr float kProductsNaN = std::numeric_limits<float>::quiet_NaN();

// x w + bias where nothing is so near 0 that a step of the differences crosses the kink.
void CheckAffineRelu(const Matrix& x, const Matrix& w, const Matrix& bias) {
  const Operation op = [](Tape& t, const Vars& v) { return AffineRelu(t, v[0], v[1], v[2]); };
  const Operation plain = [](Tape& t, const Vars& v) {
    return Relu(t, Affine(t, v[0], v[1], v[2]));
  };
  CHECK(Distance(Value(op, {x, w, bias}), Value(plain, {x, w, bias})) <= 1e-6);
  for (float shift : {40.0F, -40.0F}) {  // all columns pass, all but each second
    Matrix shifted = Matrix::Constant(1, w.cols(), 40) + bias;
    for (int j = 0; j < w.cols(); j += 2) shifted(0, j) = bias(0, j) + shift;
    CheckGradients(op, {x, w, shifted}, {.tolerance = 1e-2});
  }
}

TEST_CASE("products") {
  Rng rng(1);
  for (const auto& [n, m] : kShapes) {
    for (int k : {0, 1, 3, 17}) {
      const Matrix a = RandomMatrix(n, k, rng), b = RandomMatrix(k, m, rng),
                   row = RandomMatrix(1, m, rng), c = RandomMatrix(n, m, rng);
      const auto product = [&](int i, int j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += double{a(i, l)} * double{b(l, j)};
        return sum;
      };
      CheckOp([](Tape& t, const Vars& x) { return MatMul(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, product));
      CheckOp([](Tape& t, const Vars& x) { return AddMatMul(t, x[0], x[1], x[2]); },
              {c, a, b},
              Plain(n, m, [&](int i, int j) { return c(i, j) + product(i, j); }));
      CheckOp([](Tape& t, const Vars& x) { return Affine(t, x[0], x[1], x[2]); },
              {a, b, row},
              Plain(n, m, [&](int i, int j) { return row(0, j) + product(i, j); }));
      CheckAffineRelu(a, b, row);
      auto sparse = std::make_shared<SparseMatrix>(n, k);
      Matrix dense = Matrix::Zero(n, k);
      for (int i = 0; i < n; ++i) {
        for (int l = 0; l < k; ++l) {
          if (Uniform01(rng) < 0.5) continue;
          sparse->insert(i, l) = dense(i, l) = a(i, l);
        }
      }
      for (int block : {1, 2, 5}) {
        // Row i block + j is made of the rows l block + j.
        const Matrix blocks = RandomMatrix(k * block, m, rng);
        CheckOp([&](Tape& t, const Vars& x) { return SparseMatMul(t, sparse, x[0], block); },
                {blocks},
                Plain(n * block, m, [&](int row, int col) {
                  double sum = 0;
                  for (int l = 0; l < k; ++l) {
                    sum += double{dense(row / block, l)} *
                           double{blocks(l * block + row % block, col)};
                  }
                  return sum;
                }));
      }
    }
  }
}

TEST_CASE("affine_relu: what is 0, and what is not a number") {
  // -1, 0, 1 and NaN before the ReLU; the loss is their sum. What is 0 has no gradient, as in Relu.
  for (int width : {1, 40}) {
    ParameterSet parameters;
    Parameter& w = parameters.Add("w", 1, width);
    Parameter& bias = parameters.Add("bias", 1, width);
    w.value.setOnes();
    Matrix x(4, 1);
    x << -1, 0, 1, kProductsNaN;
    Tape tape;
    const Var y = AffineRelu(tape, tape.Constant(x), tape.Use(w), tape.Use(bias));
    CHECK(tape.value(y).row(0).isZero());
    CHECK(tape.value(y).row(1).isZero());
    CHECK(tape.value(y).row(2).isOnes());
    CHECK(tape.value(y).row(3).array().isNaN().all());
    CHECK(tape.FirstNonFinite() == "constant [4, 1]: value");
    tape.Backward(SumAll(tape, SliceRows(tape, y, 0, 3)));
    CHECK(bias.gradient.isOnes());
  }
}

TEST_CASE("affine_relu: used twice, it gets both gradients before the ReLU passes them") {
  Rng rng(8);
  for (int width : {5, 40}) {
    ParameterSet fused, plain;
    const Matrix x = RandomMatrix(9, width, rng), weights = RandomMatrix(width, width, rng);
    const auto gradient = [&](ParameterSet& parameters, bool is_fused) {
      Parameter& w = parameters.Add("w", width, width);
      Parameter& bias = parameters.Add("bias", 1, width);
      w.value = weights;
      Tape tape;
      const Var in = tape.Constant(x), leaf = tape.Use(w), row = tape.Use(bias);
      const auto layer = [&](Var input) {
        return is_fused ? AffineRelu(tape, input, leaf, row)
                        : Relu(tape, Affine(tape, input, leaf, row));
      };
      const Var first = layer(in);
      tape.Backward(SumAll(tape, Multiply(tape, Square(tape, layer(first)), first)));
    };
    gradient(fused, true);
    gradient(plain, false);
    for (int i = 0; i < 2; ++i) {
      const Matrix& expected = plain.all()[i].gradient;
      CHECK(Distance(fused.all()[i].gradient, expected) <= 1e-5 * expected.cwiseAbs().sum());
    }
  }
}

TEST_CASE("shapes that do not fit are named with the operation") {
  CheckRefusedShapes({
      {&MatMul, "matmul: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return AddMatMul(t, a, b, a); },
       "add_matmul: [2, 4] and [2, 3]"},
      {[](Tape& t, Var a, Var b) { return Affine(t, a, b, b); }, "affine: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return Affine(t, a, Reshape(t, a, 3, 2), b); },
       "affine: [3, 2] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return AffineRelu(t, a, b, b); },
       "affine_relu: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var) { return SparseMatMul(t, std::make_shared<SparseMatrix>(5, 9), a); },
       "sparse_matmul: [5, 9] in blocks of 1 and [2, 3]"},
      {[](Tape& t, Var a, Var) {
         return SparseMatMul(t, std::make_shared<SparseMatrix>(5, 2), a, 2);
       },
       "sparse_matmul: [5, 2] in blocks of 2 and [2, 3]"},
      {[](Tape& t, Var a, Var) {
         return SparseMatMul(t, std::make_shared<SparseMatrix>(5, 2), a, 0);
       },
       "sparse_matmul: [5, 2] in blocks of 0 and [2, 3]"},
  });
}

}  // namespace

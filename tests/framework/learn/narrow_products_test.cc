#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/products.h"
#include "tests/framework/learn/plain_product.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("narrow products: which") {
  CHECK(IsNarrow(Matrix(32, 32)));
  CHECK(IsNarrow(Matrix(0, 0)));
  CHECK(!IsNarrow(Matrix(33, 1)));
  CHECK(!IsNarrow(Matrix(1, 33)));
}

TEST_CASE("narrow products: against plain loops") {
  Rng rng(1);
  for (int n : {0, 1, 2, 7, 8, 9, 23}) {
    for (int k : {0, 1, 3, 7, 8, 9, 16, 17, 32}) {
      for (int m = 0; m <= 32; ++m) {
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(m);
        const Matrix x = RandomMatrix(n, k, rng), w = RandomMatrix(k, m, rng),
                     bias = RandomMatrix(1, m, rng), start = RandomMatrix(n, m, rng);
        // What is written, not added to, may have been anything.
        Matrix y = Matrix::Constant(n, m, std::numeric_limits<float>::quiet_NaN());
        const Matrix affine = PlainProduct(x, w, bias.replicate(n, 1));
        NarrowAffine(x, w, bias, false, y);
        CHECK(Distance(y, affine) <= 1e-5);
        NarrowAffine(x, w, bias, true, y);
        CHECK(Distance(y, affine.cwiseMax(0)) <= 1e-5);
        y = start;
        AddNarrowProduct(x, w, y);
        CHECK(Distance(y, PlainProduct(x, w, start)) <= 1e-5);

        const Matrix before = RandomMatrix(n, k, rng);
        Matrix dx = before;
        NarrowProductTransposed(start, w, true, dx);
        CHECK(Distance(dx, PlainProduct(start, w.transpose(), before)) <= 1e-5);
        dx.setConstant(std::numeric_limits<float>::quiet_NaN());
        NarrowProductTransposed(start, w, false, dx);
        CHECK(Distance(dx, PlainProduct(start, w.transpose(), Matrix::Zero(n, k))) <= 1e-5);

        Matrix dw = w;
        AddNarrowOuterProducts(x, start, dw);
        CHECK(Distance(dw, PlainProduct(x.transpose(), start, w)) <= 1e-5);
        Matrix sum = bias;
        AddNarrowRows(start, sum);
        CHECK(Distance(sum, PlainProduct(Matrix::Ones(1, n), start, bias)) <= 1e-5);
      }
    }
  }
}

TEST_CASE("narrow products: the number of rows does not change a row's bytes") {
  Rng rng(2);
  for (int m : {1, 7, 16, 20, 32}) {
    const Matrix x = RandomMatrix(21, 9, rng), w = RandomMatrix(9, m, rng),
                 bias = RandomMatrix(1, m, rng);
    Matrix all(21, m), one(1, m);
    NarrowAffine(x, w, bias, false, all);
    for (int i = 0; i < 21; ++i) {
      NarrowAffine(x.row(i), w, bias, false, one);
      CHECK((one.array() == all.row(i).array()).all());
    }
  }
}

TEST_CASE("narrow products: what is not a number stays in its row and column") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (int n : {1, 9}) {
    for (int m : {1, 5, 20}) {
      Matrix x = Matrix::Ones(n, 6), y(n, m);
      const Matrix w = Matrix::Ones(6, m), bias = Matrix::Ones(1, m);
      x(n - 1, 2) = kNaN;
      NarrowAffine(x, w, bias, true, y);
      CHECK(y.row(n - 1).array().isNaN().all());
      CHECK(y.topRows(n - 1).isConstant(7));
      Matrix g = Matrix::Ones(n, m), dw = Matrix::Zero(6, m), sum = Matrix::Zero(1, m);
      g(0, m - 1) = kNaN;
      AddNarrowOuterProducts(Matrix::Ones(n, 6), g, dw);
      AddNarrowRows(g, sum);
      CHECK(dw.col(m - 1).array().isNaN().all());
      CHECK(dw.leftCols(m - 1).isConstant(static_cast<float>(n)));
      CHECK(std::isnan(sum(0, m - 1)));
      CHECK(sum.leftCols(m - 1).isConstant(static_cast<float>(n)));
    }
  }
}

}  // namespace

#include "framework/learn/products.h"

#include <limits>

#include <doctest/doctest.h>

#include "tests/framework/learn/plain_product.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("products: every number of rows, widths that fill vectors and that do not") {
  Rng rng(1);
  for (int n = 0; n <= 40; ++n) {
    for (int k : {0, 1, 7, 16, 40}) {
      for (int m : {0, 1, 5, 16, 31, 32, 64, 83, 101}) {
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(m);
        const Matrix x = RandomMatrix(n, k, rng), w = RandomMatrix(k, m, rng);
        Matrix y = RandomMatrix(n, m, rng);
        const Matrix expected = PlainProduct(x, w, y);
        AddProduct(x, w, y);
        CHECK(Distance(y, expected) <= 1e-5);
      }
    }
  }
}

TEST_CASE("products: what is not a number stays so") {
  for (int n : {1, 2, 8, 40}) {
    const Matrix w = Matrix::Ones(20, 40);
    Matrix x = Matrix::Ones(n, 20), y = Matrix::Zero(n, 40);
    x(n - 1, 19) = std::numeric_limits<float>::quiet_NaN();
    AddProduct(x, w, y);
    CHECK(y.row(n - 1).array().isNaN().all());
    CHECK(y.topRows(n - 1).isConstant(20));
  }
}

}  // namespace

// Products, elementwise operations, sums and shapes; distributions and networks have tests of their
// own.

#include "framework/learn/ops.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/death.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using testing::CheckGradients;
using testing::Distance;
using testing::MessageOfAbort;
using testing::RandomMatrix;
using Vars = std::vector<Var>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<std::pair<int, int>> kShapes =
    {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 6}, {5, 1}, {4, 7}, {3, 33}};

// entry(i, j) in double, for all entries.
template <typename Entry>
Matrix Plain(int rows, int cols, Entry entry) {
  Matrix matrix(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) matrix(i, j) = static_cast<float>(entry(i, j));
  }
  return matrix;
}

Matrix Value(const testing::Operation& op, const std::vector<Matrix>& inputs) {
  Tape tape;
  Vars vars;
  for (const Matrix& input : inputs) vars.push_back(tape.Constant(input));
  return tape.value(op(tape, vars));
}

// An expected value, and gradients by differences.
void CheckOp(const testing::Operation& op,
             const std::vector<Matrix>& inputs,
             const Matrix& expected) {
  CAPTURE(expected.rows());
  CAPTURE(expected.cols());
  CHECK(Distance(Value(op, inputs), expected) <= 1e-5 * (1 + expected.cwiseAbs().sum()));
  CheckGradients(op, inputs);
}

// x w + bias where nothing is so near 0 that a step of the differences crosses the kink.
void CheckAffineRelu(const Matrix& x, const Matrix& w, const Matrix& bias) {
  const testing::Operation op = [](Tape& t, const Vars& v) {
    return AffineRelu(t, v[0], v[1], v[2]);
  };
  const testing::Operation plain = [](Tape& t, const Vars& v) {
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

TEST_CASE("add, subtract, multiply: every broadcast") {
  Rng rng(2);
  for (const auto& [n, m] : kShapes) {
    for (const auto& [rows, cols] : {std::pair{n, m}, {1, m}, {n, 1}, {1, 1}}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const Matrix a = RandomMatrix(n, m, rng), b = RandomMatrix(rows, cols, rng);
      const auto spread = [&, rows = rows, cols = cols](int i, int j) {
        return double{b(rows == 1 ? 0 : i, cols == 1 ? 0 : j)};
      };
      CheckOp([](Tape& t, const Vars& x) { return Add(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) + spread(i, j); }));
      CheckOp([](Tape& t, const Vars& x) { return Subtract(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) - spread(i, j); }));
      CheckOp([](Tape& t, const Vars& x) { return Multiply(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) * spread(i, j); }));
    }
  }
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng), b = RandomMatrix(n, m, rng),
                 c = RandomMatrix(n, m, rng);
    CheckOp([](Tape& t, const Vars& x) { return MultiplyAdd(t, x[0], x[1], x[2]); },
            {a, b, c},
            Plain(n, m, [&](int i, int j) { return a(i, j) + double{b(i, j)} * c(i, j); }));
  }
  const Matrix a = RandomMatrix(3, 4, rng);
  CheckOp([](Tape& t, const Vars& x) { return Multiply(t, x[0], x[0]); },
          {a},
          Plain(3, 4, [&](int i, int j) { return double{a(i, j)} * a(i, j); }));
}

struct Unary {
  const char* name;
  Var (*op)(Tape&, Var);
  double (*plain)(double);
  double low = -3, high = 3;
};
const Unary kUnary[] = {
    {"sigmoid", &Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", &Tanh, [](double x) { return std::tanh(x); }},
    {"exp", &Exp, [](double x) { return std::exp(x); }, -3, 1},
    {"log", &Log, [](double x) { return std::log(x); }, 0.3, 4},
    {"square", &Square, [](double x) { return x * x; }},
    {"scale", [](Tape& t, Var x) { return Scale(t, x, -2.5F); }, [](double x) { return -2.5 * x; }},
    {"add_scalar",
     [](Tape& t, Var x) { return AddScalar(t, x, 3); },
     [](double x) { return x + 3; }},
    // No kinks within a step of the differences.
    {"relu", &Relu, [](double x) { return x; }, 0.1, 2},
    {"relu", &Relu, [](double) { return 0.0; }, -2, -0.1},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double x) { return x; },
     -0.9,
     1.9},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double) { return 2.0; },
     2.1,
     4},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double) { return -1.0; },
     -4,
     -1.1},
};

TEST_CASE("elementwise operations") {
  Rng rng(3);
  for (const Unary& unary : kUnary) {
    CAPTURE(unary.name);
    const testing::Operation op = [&](Tape& t, const Vars& x) { return unary.op(t, x[0]); };
    for (const auto& [n, m] : kShapes) {
      const Matrix a = RandomMatrix(n, m, rng, unary.low, unary.high);
      CheckOp(op, {a}, Plain(n, m, [&](int i, int j) { return unary.plain(a(i, j)); }));
    }
    for (int cols : {1, 16, 35}) {  // alone and in a vector
      Matrix broken = Matrix::Constant(1, cols, static_cast<float>(unary.high));
      broken(0, cols - 1) = kNaN;
      CHECK(std::isnan(Value(op, {broken})(0, cols - 1)));
    }
  }
}

TEST_CASE("sigmoid, tanh and exp of large numbers") {
  const Matrix x = Plain(1, 40, [](int, int j) { return j % 2 == 0 ? 500.0 : -500.0; });
  const auto limit = [](double even, double odd) {
    return Plain(1, 40, [=](int, int j) { return j % 2 == 0 ? even : odd; });
  };
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Sigmoid(t, v[0]); }, {x}),
                 limit(1, 0)) <= 1e-6);
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Tanh(t, v[0]); }, {x}), limit(1, -1)) <=
        1e-6);
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Exp(t, v[0]); }, {-x.cwiseAbs()}),
                 limit(0, 0)) <= 1e-6);
}

TEST_CASE("minimum and maximum") {
  Rng rng(4);
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng);
    // At least 0.1 apart: no kink within a step of the differences.
    const Matrix b = a + Plain(n, m, [&](int, int) {
                       return (0.1 + Uniform01(rng)) * (Uniform01(rng) < 0.5 ? 1 : -1);
                     });
    CheckOp([](Tape& t, const Vars& x) { return Minimum(t, x[0], x[1]); },
            {a, b},
            Plain(n, m, [&](int i, int j) { return std::min(a(i, j), b(i, j)); }));
    CheckOp([](Tape& t, const Vars& x) { return Maximum(t, x[0], x[1]); },
            {a, b},
            Plain(n, m, [&](int i, int j) { return std::max(a(i, j), b(i, j)); }));
  }
  // The gradient of equals goes to the first; at the edges of Clamp it passes.
  for (const auto choose : {&Minimum, &Maximum}) {
    ParameterSet parameters;
    Parameter &a = parameters.Add("a", 1, 1), &b = parameters.Add("b", 1, 1);
    Tape tape;
    const Var chosen = choose(tape, tape.Use(a), tape.Use(b));
    tape.Backward(Clamp(tape, chosen, 0, 1));
    CHECK(a.gradient(0, 0) == 1);
    CHECK(b.gradient(0, 0) == 0);
  }
}

TEST_CASE("sums") {
  Rng rng(5);
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng);
    const auto sum_of = [&](int row, int col) {  // -1: all
      double sum = 0;
      for (int i = 0; i < a.rows(); ++i) {
        for (int j = 0; j < a.cols(); ++j) {
          if ((row < 0 || i == row) && (col < 0 || j == col)) sum += a(i, j);
        }
      }
      return sum;
    };
    CheckOp([](Tape& t, const Vars& x) { return SumAll(t, x[0]); }, {a}, Plain(1, 1, [&](int, int) {
              return sum_of(-1, -1);
            }));
    CheckOp([](Tape& t, const Vars& x) { return MeanAll(t, x[0]); },
            {a},
            Plain(1, 1, [&](int, int) { return sum_of(-1, -1) / std::max(1L, a.size()); }));
    CheckOp([](Tape& t, const Vars& x) { return SumOverRows(t, x[0]); },
            {a},
            Plain(1, m, [&](int, int j) { return sum_of(-1, j); }));
    CheckOp([](Tape& t, const Vars& x) { return SumOverCols(t, x[0]); },
            {a},
            Plain(n, 1, [&](int i, int) { return sum_of(i, -1); }));
    for (int segments : {1, 4}) {
      std::vector<int> segment(n);
      for (int& s : segment) s = UniformInt(rng, segments + 1) - 1;
      CheckOp([&](Tape& t, const Vars& x) { return SegmentSum(t, x[0], segment, segments); },
              {a},
              Plain(segments, m, [&](int s, int j) {
                double sum = 0;
                for (int i = 0; i < a.rows(); ++i) sum += segment[i] == s ? a(i, j) : 0;
                return sum;
              }));
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
    x << -1, 0, 1, kNaN;
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

TEST_CASE("transpose, reshape, concat, slice, gather") {
  Rng rng(6);
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng), beside = RandomMatrix(n, 2, rng),
                 below = RandomMatrix(2, m, rng);
    const int width = m, height = n;
    CheckOp([](Tape& t, const Vars& x) { return Transpose(t, x[0]); },
            {a},
            Plain(m, n, [&](int i, int j) { return a(j, i); }));
    for (const auto& [rows, cols] : {std::pair{m, n}, {n * m, 1}, {1, n * m}}) {
      CheckOp([rows = rows, cols = cols](Tape& t,
                                         const Vars& x) { return Reshape(t, x[0], rows, cols); },
              {a},
              Plain(rows, cols, [&, cols = cols](int i, int j) {
                const int entry = i * cols + j;
                return a(entry / width, entry % width);
              }));
    }
    // The same part twice gets the gradients of both places.
    CheckOp(
        [](Tape& t, const Vars& x) {
          return ConcatCols(t, {x[0], x[1], x[0]});
        },
        {a, beside},
        Plain(n, 2 * m + 2, [&](int i, int j) {
          if (j < width) return a(i, j);
          return j < width + 2 ? beside(i, j - width) : a(i, j - width - 2);
        }));
    CheckOp(
        [](Tape& t, const Vars& x) {
          return ConcatRows(t, {x[0], x[1], x[0]});
        },
        {a, below},
        Plain(2 * n + 2, m, [&](int i, int j) {
          if (i < height) return a(i, j);
          return i < height + 2 ? below(i - height, j) : a(i - height - 2, j);
        }));
    for (int begin : {0, m / 2, m}) {
      const int count = (m - begin + 1) / 2;
      CheckOp([=](Tape& t, const Vars& x) { return SliceCols(t, x[0], begin, count); },
              {a},
              Plain(n, count, [&](int i, int j) { return a(i, begin + j); }));
    }
    for (int begin : {0, n / 2, n}) {
      const int count = (n - begin + 1) / 2;
      CheckOp([=](Tape& t, const Vars& x) { return SliceRows(t, x[0], begin, count); },
              {a},
              Plain(count, m, [&](int i, int j) { return a(begin + i, j); }));
    }
    for (int count : {0, 1, 9}) {
      std::vector<int> index(count);
      for (int& i : index) i = UniformInt(rng, n + 1) - 1;
      CheckOp([&](Tape& t, const Vars& x) { return Gather(t, x[0], index); },
              {a},
              Plain(count, m, [&](int i, int j) { return index[i] < 0 ? 0 : a(index[i], j); }));
    }
  }
}

TEST_CASE("shapes that do not fit are named with the operation") {
  const struct {
    std::function<Var(Tape&, Var, Var)> op;
    const char* message;
  } cases[] = {
      {&MatMul, "matmul: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return AddMatMul(t, a, b, a); },
       "add_matmul: [2, 4] and [2, 3]"},
      {[](Tape& t, Var a, Var b) { return Affine(t, a, b, b); }, "affine: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return Affine(t, a, Transpose(t, a), b); },
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
      {[](Tape& t, Var a, Var b) { return MultiplyAdd(t, a, a, b); },
       "multiply_add: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return MultiplyAdd(t, a, b, a); },
       "multiply_add: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var) { return Reshape(t, a, 2, 4); }, "reshape: [2, 3] and 8"},
      {&Add, "add: [2, 3] and [2, 4]"},
      {&Subtract, "subtract: [2, 3] and [2, 4]"},
      {&Multiply, "multiply: [2, 3] and [2, 4]"},
      {&Minimum, "minimum: [2, 3] and [2, 4]"},
      {&Maximum, "maximum: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var) { return Clamp(t, a, 2, 1); }, "clamp: [2, 1]"},
      {[](Tape& t, Var a, Var) { return SegmentSum(t, a, {0}, 1); }, "segment_sum: [2, 3] and 1"},
      {[](Tape& t, Var a, Var) {
         return SegmentSum(t, a, {0, 5}, 5);
       },
       "segment_sum: [5, 3] and 5"},
      {[](Tape& t, Var a, Var b) {
         return ConcatRows(t, {a, b});
       },
       "concat_rows: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) {
         return ConcatCols(t, {a, Transpose(t, b)});
       },
       "concat_cols: [2, 3] and [4, 2]"},
      {[](Tape& t, Var, Var) { return ConcatCols(t, {}); }, "concat_cols of nothing"},
      {[](Tape& t, Var, Var) { return ConcatRows(t, {}); }, "concat_rows of nothing"},
      {[](Tape& t, Var a, Var) { return SliceCols(t, a, 2, 2); }, "slice_cols: [2, 3] and 4"},
      {[](Tape& t, Var a, Var) { return SliceRows(t, a, 1, 2); }, "slice_rows: [2, 3] and 3"},
      {[](Tape& t, Var a, Var) {
         return Gather(t, a, {0, 2});
       },
       "gather: [2, 3] and 2"},
      {[](Tape& t, Var a, Var) { return Gather(t, a, {-2}); }, "gather: [2, 3] and -2"},
  };
  for (const auto& [op, expected] : cases) {
    const std::string message = MessageOfAbort([&op = op] {
      Tape tape;
      op(tape, tape.Constant(Matrix::Zero(2, 3)), tape.Constant(Matrix::Zero(2, 4)));
    });
    CHECK_MESSAGE(message.find(expected) != std::string::npos, expected << ": " << message);
  }
}

}  // namespace

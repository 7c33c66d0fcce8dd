// Sums and shapes.

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/framework/learn/check_op.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

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

TEST_CASE("reshape, concat, slice, gather") {
  Rng rng(6);
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng), beside = RandomMatrix(n, 2, rng),
                 below = RandomMatrix(2, m, rng);
    const int width = m, height = n;
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
  CheckRefusedShapes({
      {[](Tape& t, Var a, Var) { return Reshape(t, a, 2, 4); }, "reshape: [2, 3] and 8"},
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
         return ConcatCols(t, {a, Reshape(t, b, 4, 2)});
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
  });
}

}  // namespace

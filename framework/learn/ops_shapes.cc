// Sums, and operations that move entries.

#include <algorithm>
#include <utility>

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {

using internal::CheckShape;
using internal::CheckShapes;

Var SumAll(Tape& tape, Var x) {
  return tape.Record(
      "sum_all", Matrix::Constant(1, 1, tape.value(x).sum()), {x}, [x](Tape& t, const Matrix& g) {
        t.AddGradient(x, Matrix::Constant(t.rows(x), t.cols(x), g(0, 0)));
      });
}

Var MeanAll(Tape& tape, Var x) {
  const auto count = static_cast<float>(std::max<Eigen::Index>(1, tape.value(x).size()));
  return Scale(tape, SumAll(tape, x), 1 / count);
}

Var SumOverRows(Tape& tape, Var x) {
  return tape.Record(
      "sum_over_rows", tape.value(x).colwise().sum(), {x}, [x](Tape& t, const Matrix& g) {
        t.MutableGradient(x).rowwise() += g.row(0);
      });
}

Var SumOverCols(Tape& tape, Var x) {
  return tape.Record(
      "sum_over_cols", tape.value(x).rowwise().sum(), {x}, [x](Tape& t, const Matrix& g) {
        t.MutableGradient(x).colwise() += g.col(0);
      });
}

Var SegmentSum(Tape& tape, Var x, std::vector<int> segment, int num_segments) {
  const Matrix& in = tape.value(x);
  CheckShape(in.rows() == std::ssize(segment), "segment_sum", in, std::ssize(segment));
  Matrix y = Matrix::Zero(num_segments, in.cols());
  for (Eigen::Index i = 0; i < in.rows(); ++i) {
    CheckShape(segment[i] >= -1 && segment[i] < num_segments, "segment_sum", y, segment[i]);
    if (segment[i] >= 0) y.row(segment[i]) += in.row(i);
  }
  return tape.Record("segment_sum",
                     std::move(y),
                     {x},
                     [x, segment = std::move(segment)](Tape& t, const Matrix& g) {
                       Matrix& dx = t.MutableGradient(x);
                       for (Eigen::Index i = 0; i < dx.rows(); ++i) {
                         if (segment[i] >= 0) dx.row(i) += g.row(segment[i]);
                       }
                     });
}

Var Reshape(Tape& tape, Var x, int rows, int cols) {
  const Matrix& in = tape.value(x);
  CheckShape(Eigen::Index{rows} * cols == in.size(), "reshape", in, Eigen::Index{rows} * cols);
  return tape.Record(
      "reshape", in.reshaped<Eigen::RowMajor>(rows, cols), {x}, [x](Tape& t, const Matrix& g) {
        t.AddGradient(x, g.reshaped<Eigen::RowMajor>(t.rows(x), t.cols(x)));
      });
}

Var ConcatCols(Tape& tape, const std::vector<Var>& parts) {
  EMPLACE_CHECK(!parts.empty(), "concat_cols of nothing");
  const Matrix& first = tape.value(parts[0]);
  Eigen::Index cols = 0;
  for (const Var part : parts) {
    CheckShapes(tape.rows(part) == first.rows(), "concat_cols", first, tape.value(part));
    cols += tape.cols(part);
  }
  Matrix y(first.rows(), cols);
  Eigen::Index begin = 0;
  for (const Var part : parts) {
    y.middleCols(begin, tape.cols(part)) = tape.value(part);
    begin += tape.cols(part);
  }
  return tape.Record("concat_cols", std::move(y), parts, [parts](Tape& t, const Matrix& g) {
    Eigen::Index col = 0;
    for (const Var part : parts) {
      t.AddGradient(part, g.middleCols(col, t.cols(part)));
      col += t.cols(part);
    }
  });
}

Var ConcatRows(Tape& tape, const std::vector<Var>& parts) {
  EMPLACE_CHECK(!parts.empty(), "concat_rows of nothing");
  const Matrix& first = tape.value(parts[0]);
  Eigen::Index rows = 0;
  for (const Var part : parts) {
    CheckShapes(tape.cols(part) == first.cols(), "concat_rows", first, tape.value(part));
    rows += tape.rows(part);
  }
  Matrix y(rows, first.cols());
  Eigen::Index begin = 0;
  for (const Var part : parts) {
    y.middleRows(begin, tape.rows(part)) = tape.value(part);
    begin += tape.rows(part);
  }
  return tape.Record("concat_rows", std::move(y), parts, [parts](Tape& t, const Matrix& g) {
    Eigen::Index row = 0;
    for (const Var part : parts) {
      t.AddGradient(part, g.middleRows(row, t.rows(part)));
      row += t.rows(part);
    }
  });
}

Var SliceCols(Tape& tape, Var x, int begin, int count) {
  const Matrix& in = tape.value(x);
  CheckShape(
      begin >= 0 && count >= 0 && begin + count <= in.cols(), "slice_cols", in, begin + count);
  return tape.Record("slice_cols", in.middleCols(begin, count), {x}, [=](Tape& t, const Matrix& g) {
    t.MutableGradient(x).middleCols(begin, count) += g;
  });
}

Var SliceRows(Tape& tape, Var x, int begin, int count) {
  const Matrix& in = tape.value(x);
  CheckShape(
      begin >= 0 && count >= 0 && begin + count <= in.rows(), "slice_rows", in, begin + count);
  return tape.Record("slice_rows", in.middleRows(begin, count), {x}, [=](Tape& t, const Matrix& g) {
    t.MutableGradient(x).middleRows(begin, count) += g;
  });
}

Var Gather(Tape& tape, Var x, std::vector<int> index) {
  const Matrix& table = tape.value(x);
  Matrix y(std::ssize(index), table.cols());
  for (Eigen::Index i = 0; i < y.rows(); ++i) {
    CheckShape(index[i] >= -1 && index[i] < table.rows(), "gather", table, index[i]);
    if (index[i] >= 0) {
      y.row(i) = table.row(index[i]);
    } else {
      y.row(i).setZero();
    }
  }
  return tape.Record(
      "gather", std::move(y), {x}, [x, index = std::move(index)](Tape& t, const Matrix& g) {
        Matrix& dx = t.MutableGradient(x);
        for (Eigen::Index i = 0; i < g.rows(); ++i) {
          if (index[i] >= 0) dx.row(index[i]) += g.row(i);
        }
      });
}

}  // namespace emplace

// Elementwise operations with and without broadcast.

#include <utility>

#include "framework/learn/op_support.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

using internal::CheckShapes;

// The extension of b to the shape of a.
enum class Broadcast { kNone, kRow, kColumn, kScalar };

Broadcast BroadcastOf(const char* op, const Matrix& a, const Matrix& b) {
  if (a.rows() == b.rows() && a.cols() == b.cols()) return Broadcast::kNone;
  if (b.size() == 1) return Broadcast::kScalar;
  if (b.rows() == 1 && b.cols() == a.cols()) return Broadcast::kRow;
  CheckShapes(b.cols() == 1 && b.rows() == a.rows(), op, a, b);
  return Broadcast::kColumn;
}

// Returns f(a, b) for each row of a; the argument from b is a row or one number.
template <typename Function>
Matrix MapRows(const Matrix& a, const Matrix& b, Broadcast broadcast, Function f) {
  if (broadcast == Broadcast::kNone) return f(a.array(), b.array()).matrix();
  Matrix y(a.rows(), a.cols());
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    const auto row = a.row(i).array();
    switch (broadcast) {
      case Broadcast::kColumn:
        y.row(i) = f(row, b(i, 0)).matrix();
        break;
      case Broadcast::kScalar:
        y.row(i) = f(row, b(0, 0)).matrix();
        break;
      default:
        y.row(i) = f(row, b.row(0).array()).matrix();
    }
  }
  return y;
}

// Adds d loss / d f to b's gradient, summed over the entries that share an entry of b.
template <typename Expression>
void AddBroadcastGradient(Tape& tape, Var b, Broadcast broadcast, const Expression& gradient) {
  switch (broadcast) {
    case Broadcast::kNone:
      return tape.AddGradient(b, gradient);
    case Broadcast::kRow:
      return tape.AddGradient(b, gradient.colwise().sum());
    case Broadcast::kColumn:
      return tape.AddGradient(b, gradient.rowwise().sum());
    case Broadcast::kScalar:
      return tape.AddGradient(b, Matrix::Constant(1, 1, gradient.sum()));
  }
}

Var AddOrSubtract(Tape& tape, const char* op, Var a, Var b, float sign) {
  const Broadcast broadcast = BroadcastOf(op, tape.value(a), tape.value(b));
  Matrix y = MapRows(tape.value(a), tape.value(b), broadcast, [sign](const auto& x, const auto& z) {
    return x + sign * z;
  });
  return tape.Record(op, std::move(y), {a, b}, [=](Tape& t, const Matrix& g) {
    t.AddGradient(a, g);
    if (t.needs_gradient(b)) AddBroadcastGradient(t, b, broadcast, sign * g);
  });
}

// y = f(x); dx = derivative(x, y, dy). Both return array expressions.
template <typename Function, typename Derivative>
Var Map(Tape& tape, const char* op, Var x, Function f, Derivative derivative) {
  const Var y = internal::Next(tape);
  return tape.Record(
      op, f(tape.value(x).array()).matrix(), {x}, [x, y, derivative](Tape& t, const Matrix& g) {
        t.AddGradient(x, derivative(t.value(x).array(), t.value(y).array(), g.array()).matrix());
      });
}

}  // namespace

Var Add(Tape& tape, Var a, Var b) {
  return AddOrSubtract(tape, "add", a, b, 1);
}

Var Subtract(Tape& tape, Var a, Var b) {
  return AddOrSubtract(tape, "subtract", a, b, -1);
}

Var Multiply(Tape& tape, Var a, Var b) {
  const auto times = [](const auto& x, const auto& z) { return x * z; };
  const Broadcast broadcast = BroadcastOf("multiply", tape.value(a), tape.value(b));
  Matrix y = MapRows(tape.value(a), tape.value(b), broadcast, times);
  return tape.Record("multiply", std::move(y), {a, b}, [=](Tape& t, const Matrix& g) {
    if (t.needs_gradient(a)) t.AddGradient(a, MapRows(g, t.value(b), broadcast, times));
    if (t.needs_gradient(b)) AddBroadcastGradient(t, b, broadcast, g.cwiseProduct(t.value(a)));
  });
}

Var MultiplyAdd(Tape& tape, Var a, Var b, Var c) {
  const Matrix &sum = tape.value(a), &left = tape.value(b), &right = tape.value(c);
  for (const Matrix* factor : {&left, &right}) {
    CheckShapes(
        sum.rows() == factor->rows() && sum.cols() == factor->cols(), "multiply_add", sum, *factor);
  }
  Matrix y = sum + left.cwiseProduct(right);
  return tape.Record("multiply_add", std::move(y), {a, b, c}, [=](Tape& t, const Matrix& g) {
    t.AddGradient(a, g);
    t.AddGradient(b, g.cwiseProduct(t.value(c)));
    t.AddGradient(c, g.cwiseProduct(t.value(b)));
  });
}

Var Scale(Tape& tape, Var x, float factor) {
  return Map(
      tape,
      "scale",
      x,
      [=](const auto& a) { return factor * a; },
      [=](const auto&, const auto&, const auto& g) { return factor * g; });
}

Var AddScalar(Tape& tape, Var x, float summand) {
  return Map(
      tape,
      "add_scalar",
      x,
      [=](const auto& a) { return a + summand; },
      [](const auto&, const auto&, const auto& g) { return g; });
}

Var Sigmoid(Tape& tape, Var x) {
  return Map(
      tape,
      "sigmoid",
      x,
      [](const auto& a) { return a.logistic(); },
      [](const auto&, const auto& y, const auto& g) { return g * y * (1 - y); });
}

Var Tanh(Tape& tape, Var x) {
  return Map(
      tape,
      "tanh",
      x,
      [](const auto& a) { return a.tanh(); },
      [](const auto&, const auto& y, const auto& g) { return g * (1 - y.square()); });
}

Var Relu(Tape& tape, Var x) {
  // Not max(a, 0), which would replace NaN by 0.
  return Map(
      tape,
      "relu",
      x,
      [](const auto& a) { return (a < 0).select(0.0F, a); },
      [](const auto& a, const auto&, const auto& g) { return (a > 0).select(g, 0.0F); });
}

Var Exp(Tape& tape, Var x) {
  return Map(
      tape,
      "exp",
      x,
      [](const auto& a) { return a.exp(); },
      [](const auto&, const auto& y, const auto& g) { return g * y; });
}

Var Log(Tape& tape, Var x) {
  return Map(
      tape,
      "log",
      x,
      [](const auto& a) { return a.log(); },
      [](const auto& a, const auto&, const auto& g) { return g / a; });
}

Var Square(Tape& tape, Var x) {
  return Map(
      tape,
      "square",
      x,
      [](const auto& a) { return a.square(); },
      [](const auto& a, const auto&, const auto& g) { return 2 * a * g; });
}

Var Maximum(Tape& tape, Var a, Var b) {
  const Matrix &first = tape.value(a), &second = tape.value(b);
  CheckShapes(
      first.rows() == second.rows() && first.cols() == second.cols(), "maximum", first, second);
  Matrix y = (first.array() >= second.array()).select(first, second);
  return tape.Record("maximum", std::move(y), {a, b}, [=](Tape& t, const Matrix& g) {
    const auto is_a = t.value(a).array() >= t.value(b).array();
    t.AddGradient(a, is_a.select(g, 0.0F));
    t.AddGradient(b, is_a.select(Matrix::Zero(g.rows(), g.cols()), g));
  });
}

Var Clamp(Tape& tape, Var x, float low, float high) {
  EMPLACE_CHECK(low <= high, fmt::format("clamp: [{}, {}]", low, high));
  return Map(
      tape,
      "clamp",
      x,
      [=](const auto& a) { return (a < low).select(low, (a > high).select(high, a)); },
      [=](const auto& a, const auto&, const auto& g) {
        return (a >= low && a <= high).select(g, 0.0F);
      });
}

}  // namespace emplace

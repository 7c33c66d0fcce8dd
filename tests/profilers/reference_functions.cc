// The functions of kElementwise in double precision.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "framework/base/error.h"
#include "tests/profilers/reference_internal.h"

namespace emplace::testing::internal {
namespace {

double NormalCdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

double Evaluate(Function function, double a, double b, double alpha) {
  // sqrt(2 / pi) (x + 0.044715 x^3) and its derivative
  const auto inner = [](double x) {
    return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  };
  switch (function) {
    case Function::kAdd:
      return a + b;
    case Function::kSub:
      return a - b;
    case Function::kReverseSub:
      return b - a;
    case Function::kMul:
      return a * b;
    case Function::kDiv:
      return a / b;
    case Function::kMinimum:
      return std::min(a, b);
    case Function::kMaximum:
      return std::max(a, b);
    case Function::kPow:
      return std::pow(a, b);
    case Function::kGreater:
      return a > b ? 1 : 0;
    case Function::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Function::kLess:
      return a < b ? 1 : 0;
    case Function::kLessEqual:
      return a <= b ? 1 : 0;
    case Function::kEqual:
      return a == b ? 1 : 0;
    case Function::kNotEqual:
      return a != b ? 1 : 0;
    case Function::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Function::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case Function::kXor:
      return (a != 0) != (b != 0) ? 1 : 0;
    case Function::kNot:
      return a != 0 ? 0 : 1;
    case Function::kNeg:
      return -a;
    case Function::kAbs:
      return std::abs(a);
    case Function::kFloor:
      return std::floor(a);
    case Function::kSqrt:
      return std::sqrt(a);
    case Function::kRsqrt:
      return 1 / std::sqrt(a);
    case Function::kExp:
      return std::exp(a);
    case Function::kLog:
      return std::log(a);
    case Function::kSin:
      return std::sin(a);
    case Function::kCos:
      return std::cos(a);
    case Function::kErf:
      return std::erf(a);
    case Function::kCast:
      return a;
    case Function::kRelu:
      return std::max(a, 0.0);
    case Function::kReluGrad:
      return b > alpha ? a : 0;
    case Function::kCapGrad:
      return b < alpha ? a : 0;
    case Function::kLeakyRelu:
      return a > 0 ? a : b * a;
    case Function::kLeakyReluGrad:
      return b > 0 ? a : alpha * a;
    case Function::kElu:
      return a > 0 ? a : b * (std::exp(a) - 1);
    case Function::kEluGrad:
      return b > 0 ? a : alpha * a * std::exp(b);
    case Function::kSigmoid:
      return Sigmoid(a);
    case Function::kSigmoidGrad:
      return b * a * (1 - a);
    case Function::kTanh:
      return std::tanh(a);
    case Function::kTanhGrad:
      return b * (1 - a * a);
    case Function::kGelu:
      return a * NormalCdf(a);
    case Function::kGeluGrad:
      return a * (NormalCdf(b) + b * std::exp(-b * b / 2) / std::sqrt(2 * std::numbers::pi));
    case Function::kGeluTanh:
      return 0.5 * a * (1 + std::tanh(inner(a)));
    case Function::kGeluTanhGrad: {
      const double t = std::tanh(inner(b));
      const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * b * b);
      return a * (0.5 * (1 + t) + 0.5 * b * (1 - t * t) * slope);
    }
    case Function::kSilu:
      return a * Sigmoid(a);
    case Function::kSiluGrad:
      return a * (Sigmoid(b) + b * Sigmoid(b) * (1 - Sigmoid(b)));
    case Function::kSoftplus:
      return std::log(1 + std::exp(a));
    case Function::kSoftplusGrad:
      return a * Sigmoid(b);
    case Function::kHardSigmoid:
      return std::clamp((a + 3) / 6, 0.0, 1.0);
    case Function::kHardSigmoidGrad:
      return std::abs(b) < 3 ? a / 6 : 0;
    case Function::kHardSwish:
      return a * std::clamp((a + 3) / 6, 0.0, 1.0);
    case Function::kHardSwishGrad:
      return b < -3 ? 0 : b > 3 ? a : a * (2 * b + 3) / 6;
    case Function::kNone:
    case Function::kSum:
    case Function::kMean:
    case Function::kMax:
    case Function::kHalfSumOfSquares:
      break;
  }
  EMPLACE_CHECK(false, "no elementwise function: " + std::string(ToString(function)));
}

}  // namespace emplace::testing::internal

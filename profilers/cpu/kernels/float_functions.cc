// Functions of f32 in hand-written loops: functions of pure arithmetic, which the compiler
// vectorises, and a few rare ones.

#include <algorithm>
#include <cmath>

#include "profilers/cpu/kernels/rows.h"

namespace emplace::cpu {
namespace {

// Powers. Those of norms and their gradients need only a few products or a root.
std::unique_ptr<ViewKernel> MakePow(const KernelCall& call, int threads) {
  const auto unary = [&](auto f) { return MakeUnaryF32(call, threads, f); };
  if (call.inputs.size() == 1) {
    const double exponent = call.params.alpha;
    if (exponent == 1) return unary([](float a) { return a; });
    if (exponent == 2) return unary([](float a) { return a * a; });
    if (exponent == 3) return unary([](float a) { return a * a * a; });
    if (exponent == 0.5) return unary([](float a) { return std::sqrt(a); });
    if (exponent == -0.5) return unary([](float a) { return 1 / std::sqrt(a); });
    if (exponent == -1) return unary([](float a) { return 1 / a; });
    if (exponent == -2) return unary([](float a) { return 1 / (a * a); });
  }
  return MakeBinaryF32(call, threads, [](float a, float b, float) { return std::pow(a, b); });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeFloatFunction(const KernelCall& call, int threads) {
  const auto unary = [&](auto f) { return MakeUnaryF32(call, threads, f); };
  const auto binary = [&](auto f) { return MakeBinaryF32(call, threads, f); };
  switch (call.params.function) {
    case Function::kDiv:
      return binary([](float a, float b, float) { return a / b; });
    case Function::kSqrt:
      return unary([](float a) { return std::sqrt(a); });
    case Function::kRsqrt:
      return unary([](float a) { return 1 / std::sqrt(a); });
    case Function::kPow:
      return MakePow(call, threads);
    case Function::kFloor:
      return unary([](float a) { return std::floor(a); });
    case Function::kSin:
      return unary([](float a) { return std::sin(a); });
    case Function::kCos:
      return unary([](float a) { return std::cos(a); });
    case Function::kErf:
      return unary([](float a) { return std::erf(a); });
    case Function::kRelu:
      return unary([](float a) { return a > 0 ? a : 0; });
    case Function::kReluGrad:
      return binary([](float dy, float b, float threshold) { return b > threshold ? dy : 0; });
    case Function::kCapGrad:
      return binary([](float dy, float x, float cap) { return x < cap ? dy : 0; });
    case Function::kSigmoidGrad:
      return binary([](float y, float dy, float) { return dy * y * (1 - y); });
    case Function::kTanhGrad:
      return binary([](float y, float dy, float) { return dy * (1 - y * y); });
    case Function::kHardSigmoid:
      return unary([](float a) { return std::clamp(a + 3, 0.F, 6.F) / 6; });
    case Function::kHardSigmoidGrad:
      return binary([](float dy, float x, float) { return x > -3 && x < 3 ? dy / 6 : 0; });
    case Function::kHardSwish:
      return unary([](float a) { return a * std::clamp(a + 3, 0.F, 6.F) / 6; });
    case Function::kHardSwishGrad:
      return binary([](float dy, float x, float) {
        return x < -3 ? 0 : x > 3 ? dy : dy * (x / 3 + 0.5F);
      });
    case Function::kLeakyRelu:
      return binary([](float a, float slope, float) { return a > 0 ? a : slope * a; });
    case Function::kLeakyReluGrad:
      return binary([](float dy, float x, float slope) { return x > 0 ? dy : slope * dy; });
    case Function::kElu:
      return binary([](float a, float scale, float) { return a > 0 ? a : scale * std::expm1(a); });
    case Function::kEluGrad:
      return binary(
          [](float dy, float x, float scale) { return x > 0 ? dy : dy * scale * std::exp(x); });
    default:
      return MakeMathematics(call, threads);
  }
}

}  // namespace emplace::cpu

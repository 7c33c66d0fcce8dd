// Functions of f32 in hand-written loops: functions of pure arithmetic, which the compiler
// vectorises, and a few rare ones.

#include <algorithm>
#include <cmath>

#include "profilers/cpu/kernels/rows.h"

namespace emplace::cpu {
namespace {

// Powers. Those of norms and their gradients need only a few products or a root.
std::unique_ptr<ViewKernel> MakePow(const KernelCall& call, int threads) {
  const auto unary = [&](auto f) { return MakeRows(call, threads, UnaryF32(f)); };
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
  return MakeRows(call, threads, BinaryF32([](float a, float b, float) { return std::pow(a, b); }));
}

struct FloatFunction {
  Function function;
  RowFunction row;
};
constexpr FloatFunction kFloatFunctions[] = {
    {Function::kDiv, BinaryF32([](float a, float b, float) { return a / b; })},
    {Function::kSqrt, UnaryF32([](float a) { return std::sqrt(a); })},
    {Function::kRsqrt, UnaryF32([](float a) { return 1 / std::sqrt(a); })},
    {Function::kFloor, UnaryF32([](float a) { return std::floor(a); })},
    {Function::kSin, UnaryF32([](float a) { return std::sin(a); })},
    {Function::kCos, UnaryF32([](float a) { return std::cos(a); })},
    {Function::kErf, UnaryF32([](float a) { return std::erf(a); })},
    {Function::kRelu, UnaryF32([](float a) { return a > 0 ? a : 0; })},
    {Function::kReluGrad,
     BinaryF32([](float dy, float b, float threshold) { return b > threshold ? dy : 0; })},
    {Function::kCapGrad, BinaryF32([](float dy, float x, float cap) { return x < cap ? dy : 0; })},
    {Function::kSigmoidGrad, BinaryF32([](float y, float dy, float) { return dy * y * (1 - y); })},
    {Function::kTanhGrad, BinaryF32([](float y, float dy, float) { return dy * (1 - y * y); })},
    {Function::kHardSigmoid, UnaryF32([](float a) { return std::clamp(a + 3, 0.F, 6.F) / 6; })},
    {Function::kHardSigmoidGrad,
     BinaryF32([](float dy, float x, float) { return x > -3 && x < 3 ? dy / 6 : 0; })},
    {Function::kHardSwish, UnaryF32([](float a) { return a * std::clamp(a + 3, 0.F, 6.F) / 6; })},
    {Function::kHardSwishGrad, BinaryF32([](float dy, float x, float) {
       return x < -3 ? 0 : x > 3 ? dy : dy * (x / 3 + 0.5F);
     })},
    {Function::kLeakyRelu,
     BinaryF32([](float a, float slope, float) { return a > 0 ? a : slope * a; })},
    {Function::kLeakyReluGrad,
     BinaryF32([](float dy, float x, float slope) { return x > 0 ? dy : slope * dy; })},
    {Function::kElu,
     BinaryF32([](float a, float scale, float) { return a > 0 ? a : scale * std::expm1(a); })},
    {Function::kEluGrad, BinaryF32([](float dy, float x, float scale) {
       return x > 0 ? dy : dy * scale * std::exp(x);
     })},
};

}  // namespace

std::unique_ptr<ViewKernel> MakeFloatFunction(const KernelCall& call, int threads) {
  const Function function = call.params.function;
  if (function == Function::kPow) return MakePow(call, threads);
  for (const FloatFunction& known : kFloatFunctions) {
    if (known.function == function) return MakeRows(call, threads, known.row);
  }
  return MakeMathematics(call, threads);
}

}  // namespace emplace::cpu

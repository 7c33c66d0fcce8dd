#pragma once

// The only description of every function of kElementwise and kReduce: y = f(a, b). It determines
// the names, the check of a call, and the calls that the tests of all backends draw. README.md here
// explains how to add a function.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// The operands of a function.
enum class Arity : std::uint8_t {
  kUnary,      ///< a
  kBinary,     ///< a and b, or only a: then b is alpha
  kTwo,        ///< a and b
  kSum,        ///< any number of operands; with only one, b is alpha
  kReduction,  ///< of kReduce, not of kElementwise
  kNone,       ///< no function
};
/// The dtypes of the operands and of the result.
enum class FunctionTypes : std::uint8_t {
  kFloat,       ///< f32
  kNumber,      ///< f32, i32 or i64, the same for operands and result
  kComparison,  ///< operands as kNumber, result bool
  kLogic,       ///< bool
  kCast,        ///< any to any: to integers by rounding towards zero, to bool by != 0
};

struct FunctionDescription {
  Function function;
  std::string_view name;
  Arity arity;
  FunctionTypes types = FunctionTypes::kFloat;
  std::string_view positive = {};  ///< "a", "b": operand that must be > 0 for a meaningful result
};

// clang-format off
inline constexpr FunctionDescription kFunctionTable[] = {
    {Function::kNone, "none", Arity::kNone},
    {Function::kAdd, "add", Arity::kSum, FunctionTypes::kNumber},
    {Function::kSub, "sub", Arity::kBinary, FunctionTypes::kNumber},
    {Function::kReverseSub, "reverse_sub", Arity::kBinary, FunctionTypes::kNumber},  // b - a
    {Function::kMul, "mul", Arity::kBinary, FunctionTypes::kNumber},
    {Function::kDiv, "div", Arity::kBinary, FunctionTypes::kFloat, "b"},
    {Function::kMinimum, "minimum", Arity::kBinary, FunctionTypes::kNumber},
    {Function::kMaximum, "maximum", Arity::kBinary, FunctionTypes::kNumber},
    {Function::kPow, "pow", Arity::kBinary, FunctionTypes::kFloat, "a"},  // a to the power of b
    {Function::kGreater, "greater", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kGreaterEqual, "greater_equal", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kLess, "less", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kLessEqual, "less_equal", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kEqual, "equal", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kNotEqual, "not_equal", Arity::kBinary, FunctionTypes::kComparison},
    {Function::kAnd, "and", Arity::kBinary, FunctionTypes::kLogic},
    {Function::kOr, "or", Arity::kBinary, FunctionTypes::kLogic},
    {Function::kXor, "xor", Arity::kBinary, FunctionTypes::kLogic},
    {Function::kNot, "not", Arity::kUnary, FunctionTypes::kLogic},
    {Function::kNeg, "neg", Arity::kUnary, FunctionTypes::kNumber},
    {Function::kAbs, "abs", Arity::kUnary, FunctionTypes::kNumber},
    {Function::kFloor, "floor", Arity::kUnary},
    {Function::kSqrt, "sqrt", Arity::kUnary, FunctionTypes::kFloat, "a"},
    {Function::kRsqrt, "rsqrt", Arity::kUnary, FunctionTypes::kFloat, "a"},  // 1 / sqrt(a)
    {Function::kExp, "exp", Arity::kUnary},
    {Function::kLog, "log", Arity::kUnary, FunctionTypes::kFloat, "a"},
    {Function::kSin, "sin", Arity::kUnary},
    {Function::kCos, "cos", Arity::kUnary},
    {Function::kErf, "erf", Arity::kUnary},
    {Function::kCast, "cast", Arity::kUnary, FunctionTypes::kCast},
    {Function::kRelu, "relu", Arity::kUnary},
    {Function::kReluGrad, "relu_grad", Arity::kTwo},  // a: dy, b: y or x: dy where b > alpha
    {Function::kCapGrad, "cap_grad", Arity::kTwo},  // a: dy, b: x: dy where b < alpha
    // b: the slope where a <= 0
    {Function::kLeakyRelu, "leaky_relu", Arity::kBinary},
    {Function::kLeakyReluGrad, "leaky_relu_grad", Arity::kTwo},  // a: dy, b: x; alpha: the slope
    // a > 0 ? a : b (exp(a) - 1)
    {Function::kElu, "elu", Arity::kBinary},
    {Function::kEluGrad, "elu_grad", Arity::kTwo},  // a: dy, b: x; alpha: the factor
    {Function::kSigmoid, "sigmoid", Arity::kUnary},
    {Function::kSigmoidGrad, "sigmoid_grad", Arity::kTwo},  // a: y, b: dy: dy y (1 - y)
    {Function::kTanh, "tanh", Arity::kUnary},
    {Function::kTanhGrad, "tanh_grad", Arity::kTwo},  // a: y, b: dy: dy (1 - y y)
    {Function::kGelu, "gelu", Arity::kUnary},
    {Function::kGeluGrad, "gelu_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kGeluTanh, "gelu_tanh", Arity::kUnary},  // the tanh approximation
    {Function::kGeluTanhGrad, "gelu_tanh_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kSilu, "silu", Arity::kUnary},  // a sigmoid(a)
    {Function::kSiluGrad, "silu_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kSoftplus, "softplus", Arity::kUnary},  // log(1 + exp(a))
    {Function::kSoftplusGrad, "softplus_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kHardSigmoid, "hard_sigmoid", Arity::kUnary},  // clamp(a + 3, 0, 6) / 6
    {Function::kHardSigmoidGrad, "hard_sigmoid_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kHardSwish, "hard_swish", Arity::kUnary},  // a hard_sigmoid(a)
    {Function::kHardSwishGrad, "hard_swish_grad", Arity::kTwo},  // a: dy, b: x
    {Function::kSum, "sum", Arity::kReduction},
    {Function::kMean, "mean", Arity::kReduction},
    {Function::kMax, "max", Arity::kReduction},
    {Function::kHalfSumOfSquares, "half_sum_of_squares", Arity::kReduction},  // TensorFlow's L2Loss
};
// clang-format on

inline constexpr const FunctionDescription& DescriptionOf(Function function) {
  return kFunctionTable[static_cast<std::size_t>(function)];
}

namespace internal {

/// Returns whether a table has one row per value of an enum, in their order.
template <class Table, class Value, class ValueOf>
consteval bool IsComplete(const Table& table, Value last, ValueOf value_of) {
  std::size_t i = 0;
  for (const auto& row : table) {
    if (value_of(row) != static_cast<Value>(i++)) return false;
  }
  return i == static_cast<std::size_t>(last) + 1;
}

}  // namespace internal
static_assert(internal::IsComplete(kFunctionTable,
                                   Function::kHalfSumOfSquares,
                                   [](const auto& row) { return row.function; }));

}  // namespace emplace

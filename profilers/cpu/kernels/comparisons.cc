// Comparisons of numbers and logic on bools. Results are bools.

#include "profilers/cpu/kernels/rows.h"

namespace emplace::cpu {
namespace {

template <typename F>
std::unique_ptr<ViewKernel> MakeComparing(const KernelCall& call, int threads, F) {
  constexpr auto kRow = []<typename T>(T) -> RowFunction {
    return &BinaryRow<T, T, std::uint8_t, F>;
  };
  return MakeRows(call, threads, OfType(call.inputs[0].view.dtype, kRow));
}

}  // namespace

std::unique_ptr<ViewKernel> MakeComparison(const KernelCall& call, int threads) {
  const auto make = [&](auto compares) { return MakeComparing(call, threads, compares); };
  using Bool = std::uint8_t;
  switch (call.params.function) {
    case Function::kGreater:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a > b); });
    case Function::kGreaterEqual:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a >= b); });
    case Function::kLess:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a < b); });
    case Function::kLessEqual:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a <= b); });
    case Function::kEqual:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a == b); });
    case Function::kXor:  // a second operand that is not a tensor may be any number
      return make([](auto a, auto b, auto) { return static_cast<Bool>((a != 0) != (b != 0)); });
    case Function::kNotEqual:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a != b); });
    case Function::kAnd:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a != 0 && b != 0); });
    case Function::kOr:
      return make([](auto a, auto b, auto) { return static_cast<Bool>(a != 0 || b != 0); });
    default: {
      constexpr auto kNot = [](Bool a) { return static_cast<Bool>(a == 0); };
      return MakeRows(call, threads, &UnaryRow<Bool, Bool, decltype(kNot)>);
    }
  }
}

}  // namespace emplace::cpu

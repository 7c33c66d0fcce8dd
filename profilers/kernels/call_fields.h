#pragma once

// Lists the fields of a call by name, for code that must visit every one of them: the cache key,
// the tests of the kernel table. A list that lacks a field does not compile.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
};
template <class Owner, class Value>
Field(const char*, Value Owner::*) -> Field<Owner, Value>;  // clang 16 needs it

inline constexpr auto kParamFields =
    std::tuple{Field{"function", &KernelParams::function},
               Field{"window", &KernelParams::window},
               Field{"groups", &KernelParams::groups},
               Field{"alpha", &KernelParams::alpha},
               Field{"epsilon", &KernelParams::epsilon},
               Field{"momentum", &KernelParams::momentum},
               Field{"saves_inverse_std", &KernelParams::saves_inverse_std},
               Field{"zero_output", &KernelParams::zero_output},
               Field{"causal", &KernelParams::causal},
               Field{"step", &KernelParams::step},
               Field{"learning_rate", &KernelParams::learning_rate},
               Field{"beta1", &KernelParams::beta1},
               Field{"beta2", &KernelParams::beta2},
               Field{"weight_decay", &KernelParams::weight_decay}};
inline constexpr auto kWindowFields =
    std::tuple{Field{"size", &Window::size},
               Field{"stride", &Window::stride},
               Field{"pad_begin", &Window::pad_begin},
               Field{"pad_end", &Window::pad_end},
               Field{"dilation", &Window::dilation},
               Field{"count_include_pad", &Window::count_include_pad}};
inline constexpr auto kViewFields = std::tuple{Field{"dtype", &TensorView::dtype},
                                               Field{"shape", &TensorView::shape},
                                               Field{"strides", &TensorView::strides},
                                               Field{"offset", &TensorView::offset}};
inline constexpr auto kArgumentFields = std::tuple{Field{"is_output", &Argument::is_output},
                                                   Field{"index", &Argument::index},
                                                   Field{"view", &Argument::view}};
inline constexpr auto kCallFields = std::tuple{Field{"kind", &KernelCall::kind},
                                               Field{"params", &KernelCall::params},
                                               Field{"inputs", &KernelCall::inputs},
                                               Field{"outputs", &KernelCall::outputs}};

/// Calls visit(field) for each field of a list above, in order.
template <class Fields, class Visit>
void ForEachField(const Fields& fields, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields);
}

namespace internal {

struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT: stands for a member of any type
};

// Returns the number of members of an aggregate: the most values that its braces accept.
template <class T, class... Values>
consteval std::size_t NumMembers() {
  if constexpr (requires { T{Values{}..., AnyValue{}}; }) {
    return NumMembers<T, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

template <class T, class Fields>
inline constexpr bool kListsAll = std::tuple_size_v<Fields> == NumMembers<T>();

}  // namespace internal

static_assert(internal::kListsAll<KernelParams, decltype(kParamFields)>);
static_assert(internal::kListsAll<Window, decltype(kWindowFields)>);
static_assert(internal::kListsAll<TensorView, decltype(kViewFields)>);
static_assert(internal::kListsAll<Argument, decltype(kArgumentFields)>);
static_assert(internal::kListsAll<KernelCall, decltype(kCallFields)>);

}  // namespace emplace

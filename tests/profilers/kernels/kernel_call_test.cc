#include "profilers/kernels/kernel_call.h"

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "profilers/kernels/call_fields.h"

namespace emplace {
namespace {

TEST_CASE("dtypes") {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kI64, DType::kBool}) {
    CHECK(ParseDType(ToString(dtype)) == dtype);
  }
  CHECK(ParseDType("f16") == std::nullopt);
  CHECK(SizeOf(DType::kF32) == 4);
  CHECK(SizeOf(DType::kI32) == 4);
  CHECK(SizeOf(DType::kI64) == 8);
  CHECK(SizeOf(DType::kBool) == 1);
}

TEST_CASE("views") {
  const TensorView view = ContiguousView(DType::kF32, {2, 3, 4});
  CHECK(view.strides == std::vector<std::int64_t>{12, 4, 1});
  CHECK(view.num_elements() == 24);
  CHECK(view.is_contiguous());
  CHECK(ContiguousView(DType::kF32, {}).num_elements() == 1);
  CHECK(ContiguousView(DType::kF32, {}).is_contiguous());
  TensorView transposed = view;
  std::swap(transposed.strides[0], transposed.strides[2]);
  CHECK_FALSE(transposed.is_contiguous());
  TensorView shifted = view;  // where it starts does not matter
  shifted.offset = 7;
  CHECK(shifted.is_contiguous());
  const TensorView ones{.dtype = DType::kF32, .shape = {1, 3, 1}, .strides = {0, 1, 99}};
  CHECK(ones.is_contiguous());
}

TEST_CASE("bytes of a view") {
  const TensorView dense = ContiguousView(DType::kF32, {3, 4});
  CHECK(dense.span_bytes() == 48);
  CHECK(dense.end_bytes() == 48);
  const TensorView holes{.dtype = DType::kI64, .shape = {3, 2}, .strides = {10, 2}, .offset = 5};
  CHECK(holes.span_bytes() == (2 * 10 + 2 + 1) * 8);
  CHECK(holes.end_bytes() == (5 + 2 * 10 + 2 + 1) * 8);
  const TensorView empty{.dtype = DType::kF32, .shape = {3, 0}, .strides = {1, 1}, .offset = 5};
  CHECK(empty.span_bytes() == 0);
  CHECK(empty.end_bytes() == 0);
}

KernelCall BaseCall() {
  KernelCall call;
  call.kind = KernelKind::kElementwise;
  call.inputs = {{false, 0, ContiguousView(DType::kF32, {2, 3})},
                 {false, 1, ContiguousView(DType::kF32, {2, 3})}};
  call.outputs = {{true, 0, ContiguousView(DType::kF32, {2, 3})}};
  return call;
}

// Calls that differ from the base in one value each, whatever fields a call has: every number is
// changed, every list loses its last and gains an element.
class Changes {
 public:
  using Change = std::function<void(KernelCall&)>;
  using Path = std::function<void*(KernelCall&)>;  // to a value of the call

  std::vector<std::pair<std::string, Change>> All() {
    KernelCall base = BaseCall();
    Add<KernelCall>(
        "call", [](KernelCall& call) -> void* { return &call; }, base);
    return std::move(changes_);
  }

 private:
  template <class T>
  void Add(const std::string& name, const Path& path, const T& value) {
    const auto at = [path](KernelCall& call) -> T& { return *static_cast<T*>(path(call)); };
    if constexpr (std::is_same_v<T, bool>) {
      changes_.emplace_back(name, [at](KernelCall& call) { at(call) = !at(call); });
    } else if constexpr (std::is_enum_v<T>) {
      changes_.emplace_back(name, [at](KernelCall& call) {
        at(call) = static_cast<T>(static_cast<int>(at(call)) + 1);
      });
    } else if constexpr (std::is_floating_point_v<T>) {  // by little
      changes_.emplace_back(
          name, [at](KernelCall& call) { at(call) = at(call) * 1.0000000001 + 1e-300; });
    } else if constexpr (std::is_integral_v<T>) {
      changes_.emplace_back(name, [at](KernelCall& call) { ++at(call); });
    } else if constexpr (std::is_same_v<T, Window>) {
      AddFields(kWindowFields, name, at, value);
    } else if constexpr (std::is_same_v<T, KernelParams>) {
      AddFields(kParamFields, name, at, value);
    } else if constexpr (std::is_same_v<T, TensorView>) {
      AddFields(kViewFields, name, at, value);
    } else if constexpr (std::is_same_v<T, Argument>) {
      AddFields(kArgumentFields, name, at, value);
    } else if constexpr (std::is_same_v<T, KernelCall>) {
      AddFields(kCallFields, name, at, value);
    } else {  // a vector
      changes_.emplace_back(name + " shorter", [at](KernelCall& call) { at(call).pop_back(); });
      changes_.emplace_back(name + " longer",
                            [at](KernelCall& call) { at(call).push_back(at(call).back()); });
      for (std::size_t i = 0; i < value.size(); ++i) {
        Add(
            name + "[" + std::to_string(i) + "]",
            [at, i](KernelCall& call) -> void* { return &at(call)[i]; },
            value[i]);
      }
    }
  }

  template <class Fields, class At, class Owner>
  void AddFields(const Fields& fields, const std::string& name, const At& at, const Owner& owner) {
    ForEachField(fields, [&](const auto& field) {
      Add(
          name + "." + std::string(field.name),
          [at, field](KernelCall& call) -> void* { return &(at(call).*field.member); },
          owner.*field.member);
    });
  }

  std::vector<std::pair<std::string, Change>> changes_;
};

TEST_CASE("every value of a call is part of its key") {
  std::set<std::string> keys = {CallKey(BaseCall())};
  CHECK(keys.contains(CallKey(BaseCall())));
  const auto changes = Changes().All();
  CHECK(changes.size() > 70);  // 12 parameters with 11 window sizes, 3 arguments of 8 numbers each
  for (const auto& [name, change] : changes) {
    CAPTURE(name);
    KernelCall changed = BaseCall();
    change(changed);
    CHECK(keys.insert(CallKey(changed)).second);
  }
}

TEST_CASE("an argument that moves from the inputs to the outputs changes the key") {
  KernelCall moved = BaseCall();
  moved.outputs.insert(moved.outputs.begin(), moved.inputs[1]);
  moved.inputs.pop_back();
  CHECK(CallKey(moved) != CallKey(BaseCall()));
}

}  // namespace
}  // namespace emplace

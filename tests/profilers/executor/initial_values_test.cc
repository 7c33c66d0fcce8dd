#include "profilers/executor/initial_values.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace emplace;

TEST_CASE("how a tensor starts depends on its dtype, its role and its size") {
  using Fill = InitialValue::Fill;
  const auto fill_of = [](const char* dtype, TensorRole role, std::int64_t bytes) {
    return InitialValueOf({.dtype = dtype, .bytes = bytes, .role = role}, 3, {}).fill;
  };
  CHECK(fill_of("f32", TensorRole::kParameter, 64) == Fill::kRandom);
  CHECK(fill_of("f32", TensorRole::kParameter, 4) == Fill::kScalar);
  CHECK(fill_of("f32", TensorRole::kOptimizerState, 64) == Fill::kScalar);
  CHECK(fill_of("i64", TensorRole::kActivation, 64) == Fill::kIndices);
  CHECK(fill_of("bool", TensorRole::kActivation, 64) == Fill::kZero);
  CHECK(fill_of("something", TensorRole::kParameter, 64) == Fill::kZero);
  const InitialValue value = InitialValueOf({.dtype = "f32", .bytes = 64}, 3, {1, 256});
  CHECK(value.tensor == 3);
  CHECK(value.bytes == 64);
  CHECK(value.address == Address{1, 256});
}

TEST_CASE("initial bytes") {
  const auto floats = [](const InitialValue& value) {
    const auto bytes = InitialBytes(value);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(numbers.data()));
    return numbers;
  };
  using Fill = InitialValue::Fill;
  InitialValue value{.bytes = 4000, .fill = Fill::kRandom, .tensor = 3};
  const auto random = floats(value);
  CHECK(*std::ranges::min_element(random) >= -0.1f);
  CHECK(*std::ranges::min_element(random) < -0.09f);
  CHECK(*std::ranges::max_element(random) < 0.1f);
  CHECK(*std::ranges::max_element(random) > 0.09f);
  CHECK(random == floats(value));
  value.address = {1, 512};  // the place changes nothing, the tensor does
  CHECK(random == floats(value));
  value.tensor = 4;
  CHECK(random != floats(value));
  value.fill = Fill::kScalar;
  CHECK(floats(value) == std::vector<float>(1000, 1e-3f));
  value.fill = Fill::kZero;
  CHECK(floats(value) == std::vector<float>(1000, 0.0f));

  for (DType dtype : {DType::kI32, DType::kI64}) {
    value = {.bytes = 100 * SizeOf(dtype), .fill = Fill::kIndices, .dtype = dtype, .tensor = 1};
    const auto bytes = InitialBytes(value);
    REQUIRE(std::ssize(bytes) == value.bytes);
    for (int i = 0; i < 100; ++i) {
      std::int64_t number = 0;
      std::copy_n(bytes.begin() + i * SizeOf(dtype),
                  SizeOf(dtype),
                  reinterpret_cast<std::byte*>(&number));  // little-endian
      REQUIRE(number >= 0);
      REQUIRE(number < 100003);
    }
  }
}

TEST_CASE("memory of an op alone: as large as its calls reach, filled by dtype") {
  // masked_fill(x, mask) with an index tensor that no call reads, and a view that reaches beyond
  // what the graph says of x.
  TensorView x = ContiguousView(DType::kF32, {2, 3});
  x.offset = 4;
  KernelCall call{.kind = KernelKind::kSelect, .params = {}, .inputs = {}, .outputs = {}};
  call.inputs = {{false, 1, ContiguousView(DType::kBool, {2, 3})}, {false, 0, x}};
  call.outputs = {{true, 0, ContiguousView(DType::kF32, {2, 3})}};
  const std::vector<std::int64_t> inputs{24, 6, 16}, outputs{24};
  const OpMemory memory = MemoryOf({.calls = {call}}, inputs, outputs);

  REQUIRE(memory.inputs.size() == 3);
  REQUIRE(memory.outputs.size() == 1);
  CHECK(memory.inputs[0].bytes == (4 + 6) * 4);
  CHECK(memory.inputs[0].fill == InitialValue::Fill::kRandom);
  CHECK(memory.inputs[1].bytes == 6);
  CHECK(memory.inputs[1].fill == InitialValue::Fill::kZero);
  CHECK(memory.inputs[2].bytes == 16);
  CHECK(memory.inputs[2].fill == InitialValue::Fill::kZero);
  CHECK(memory.outputs[0].fill == InitialValue::Fill::kRandom);
  CHECK(memory.outputs[0].tensor == 3);
}

TEST_CASE("every dtype of an argument has bytes to start from") {
  for (const auto& [dtype, fill] : {std::pair{DType::kF32, InitialValue::Fill::kRandom},
                                    {DType::kI32, InitialValue::Fill::kIndices},
                                    {DType::kI64, InitialValue::Fill::kIndices},
                                    {DType::kBool, InitialValue::Fill::kZero}}) {
    const TensorView view = ContiguousView(dtype, {5});
    KernelCall call{.kind = KernelKind::kCopy, .params = {}, .inputs = {}, .outputs = {}};
    call.inputs = {{false, 0, view}};
    call.outputs = {{true, 0, view}};
    const std::vector<std::int64_t> bytes{5 * SizeOf(dtype)};
    const OpMemory memory = MemoryOf({.calls = {call}}, bytes, bytes);
    CHECK(memory.inputs[0].dtype == dtype);
    CHECK(memory.inputs[0].fill == fill);
    CHECK(static_cast<std::int64_t>(InitialBytes(memory.inputs[0]).size()) == bytes[0]);
  }
}

TEST_CASE("a call that names an argument which the op does not have") {
  KernelCall call{.kind = KernelKind::kFill, .params = {}, .inputs = {}, .outputs = {}};
  call.outputs = {{true, 1, ContiguousView(DType::kF32, {1})}};
  const std::vector<std::int64_t> outputs{4};
  CHECK_THROWS_AS(MemoryOf({.calls = {call}}, {}, outputs), std::out_of_range);
}

}  // namespace

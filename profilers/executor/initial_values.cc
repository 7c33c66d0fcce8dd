#include "profilers/executor/initial_values.h"

#include <algorithm>
#include <cstring>

#include "framework/base/error.h"

namespace emplace {
namespace {

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) as a hash.
std::uint64_t Hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class T, class F>
std::vector<std::byte> Filled(std::int64_t bytes, F&& value_of) {
  std::vector<std::byte> result(bytes);
  for (std::int64_t i = 0; (i + 1) * std::int64_t{sizeof(T)} <= bytes; ++i) {
    const T value = value_of(i);
    std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
  }
  return result;
}

InitialValue::Fill FillOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return InitialValue::Fill::kRandom;
    case DType::kI32:
    case DType::kI64:
      return InitialValue::Fill::kIndices;
    case DType::kBool:
      break;
  }
  return InitialValue::Fill::kZero;
}

}  // namespace

InitialValue InitialValueOf(const Tensor& tensor, int id, Address address) {
  const DType dtype = ParseDType(tensor.dtype).value_or(DType::kBool);
  InitialValue value{.address = address,
                     .bytes = tensor.bytes,
                     .fill = FillOf(dtype),
                     .dtype = dtype,
                     .tensor = id};
  const bool is_scalar =
      tensor.role == TensorRole::kOptimizerState || tensor.bytes == SizeOf(dtype);
  if (dtype == DType::kF32 && is_scalar) value.fill = InitialValue::Fill::kScalar;
  return value;
}

std::vector<std::byte> InitialBytes(const InitialValue& value) {
  using Fill = InitialValue::Fill;
  const std::uint64_t seed = Hash(static_cast<std::uint64_t>(value.tensor) + 1);
  const auto index = [seed](std::int64_t i) { return Hash(seed + i) % 100003; };
  switch (value.fill) {
    case Fill::kZero:
      return std::vector<std::byte>(value.bytes);
    case Fill::kScalar:
      return Filled<float>(value.bytes, [](std::int64_t) { return 1e-3f; });
    case Fill::kRandom:
      return Filled<float>(value.bytes, [seed](std::int64_t i) {
        return (static_cast<float>(Hash(seed + i) >> 40) * 0x1p-24f - 0.5f) * 0.2f;
      });
    case Fill::kIndices:
      if (value.dtype == DType::kI64) return Filled<std::int64_t>(value.bytes, index);
      EMPLACE_CHECK(value.dtype == DType::kI32);
      return Filled<std::int32_t>(value.bytes, index);
  }
  EMPLACE_CHECK(false);
}

OpMemory MemoryOf(const OpWork& work,
                  std::span<const std::int64_t> input_bytes,
                  std::span<const std::int64_t> output_bytes) {
  OpMemory memory;
  int tensor = 0;
  const auto add = [&](std::span<const std::int64_t> sizes, std::vector<InitialValue>& values) {
    for (const std::int64_t bytes : sizes) {
      values.push_back({.bytes = bytes,
                        .fill = InitialValue::Fill::kZero,
                        .dtype = DType::kBool,
                        .tensor = tensor++});
    }
  };
  add(input_bytes, memory.inputs);
  add(output_bytes, memory.outputs);
  for (const KernelCall& call : work.calls) {
    for (const auto* arguments : {&call.inputs, &call.outputs}) {
      for (const Argument& argument : *arguments) {
        InitialValue& value =
            (argument.is_output ? memory.outputs : memory.inputs).at(argument.index);
        value.bytes = std::max(value.bytes, argument.view.end_bytes());
        value.dtype = argument.view.dtype;
        value.fill = FillOf(value.dtype);
      }
    }
  }
  return memory;
}

}  // namespace emplace

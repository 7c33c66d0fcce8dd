#include "profilers/executor/op_memory.h"

#include <algorithm>

namespace emplace {
namespace {

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

#include "profilers/executor/op_memory.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

using Fill = InitialValue::Fill;

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
  CHECK(memory.inputs[0].fill == Fill::kRandom);
  CHECK(memory.inputs[1].bytes == 6);
  CHECK(memory.inputs[1].fill == Fill::kZero);
  CHECK(memory.inputs[2].bytes == 16);
  CHECK(memory.inputs[2].fill == Fill::kZero);
  CHECK(memory.outputs[0].fill == Fill::kRandom);
  CHECK(memory.outputs[0].tensor == 3);
}

TEST_CASE("every dtype of an argument has bytes to start from") {
  for (const auto& [dtype, fill] : {std::pair{DType::kF32, Fill::kRandom},
                                    {DType::kI32, Fill::kIndices},
                                    {DType::kI64, Fill::kIndices},
                                    {DType::kBool, Fill::kZero}}) {
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

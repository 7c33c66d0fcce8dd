#include "profilers/kernels/call_key.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("every field of a call is part of its key") {
  KernelCall base;
  base.kind = KernelKind::kElementwise;
  base.inputs = {{false, 0, ContiguousView(DType::kF32, {2, 3})},
                 {false, 1, ContiguousView(DType::kF32, {2, 3})}};
  base.outputs = {{true, 0, ContiguousView(DType::kF32, {2, 3})}};
  CHECK(CallKey(base) == CallKey(KernelCall(base)));

  const std::vector<std::function<void(KernelCall&)>> changes = {
      [](KernelCall& c) { c.kind = KernelKind::kReduce; },
      [](KernelCall& c) { c.params.function = Function::kMul; },
      [](KernelCall& c) {
        c.params.window.size = {2, 1};
      },
      [](KernelCall& c) {
        c.params.window.size = {1, 2};
      },
      [](KernelCall& c) {
        c.params.window.stride = {2, 1};
      },
      [](KernelCall& c) {
        c.params.window.pad_begin = {1, 0};
      },
      [](KernelCall& c) {
        c.params.window.pad_end = {1, 0};
      },
      [](KernelCall& c) {
        c.params.window.dilation = {2, 1};
      },
      [](KernelCall& c) { c.params.window.count_include_pad = false; },
      [](KernelCall& c) { c.params.groups = 2; },
      [](KernelCall& c) { c.params.alpha = 1e-300; },
      [](KernelCall& c) { c.params.epsilon = 1e-5; },
      [](KernelCall& c) { c.params.momentum = 0.2; },
      [](KernelCall& c) { c.params.saves_inverse_std = true; },
      [](KernelCall& c) { c.params.zero_output = true; },
      [](KernelCall& c) { c.params.learning_rate = 1.0000000001e-6; },
      [](KernelCall& c) { c.params.beta1 = 0.8; },
      [](KernelCall& c) { c.params.beta2 = 0.8; },
      [](KernelCall& c) { c.params.weight_decay = 0.8; },
      [](KernelCall& c) { c.inputs.pop_back(); },
      [](KernelCall& c) { c.outputs.clear(); },
      [](KernelCall& c) { c.outputs.push_back(c.inputs[1]), c.inputs.pop_back(); },
      [](KernelCall& c) { c.inputs[0].is_output = true; },
      [](KernelCall& c) { c.inputs[0].index = 1; },
      [](KernelCall& c) { c.inputs[0].view.dtype = DType::kI32; },
      [](KernelCall& c) {
        c.inputs[0].view.shape = {3, 2};
      },
      [](KernelCall& c) {
        c.inputs[0].view.strides = {1, 2};
      },
      [](KernelCall& c) { c.inputs[0].view.offset = 1; },
  };
  std::set<std::string> keys = {CallKey(base)};
  for (const auto& change : changes) {
    KernelCall changed = base;
    change(changed);
    CHECK(keys.insert(CallKey(changed)).second);
  }
}

}  // namespace

#pragma once

// A plan written by hand in which a value travels from device to device, each adding something to
// it: small, but every command of another stream waits, and one missing wait, one wrong address or
// one copy too early shows in the sum.

#include <memory>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace {

struct RelayPlan {
  std::shared_ptr<const ExecutionPlan> plan;
  Address result;         ///< of the last sum [rows * columns] f32
  std::int64_t elements;  ///< rows * columns
  int legs;               ///< additions
};

/// Leg i runs on device i % num_devices: value = transpose(value) + x, where x is the same random
/// tensor on every device. The value arrives through a channel per pair of devices; two of three
/// copies pack the transposed view, the third leaves the turning to the addition.
/// @param num_devices  1: everything on one device, without copies
inline RelayPlan MakeRelayPlan(int num_devices, int legs, std::int64_t rows, std::int64_t columns) {
  const auto plan = std::make_shared<ExecutionPlan>();
  const std::int64_t elements = rows * columns, bytes = elements * 4;
  const std::int64_t stride = (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  plan->num_devices = num_devices;
  plan->num_channels = num_devices * num_devices;
  // Of each device: x, then a received copy and a sum for every leg, so that nothing is reused.
  const auto received = [&](int leg) { return Address{leg % num_devices, stride * (1 + 2 * leg)}; };
  const auto sum = [&](int leg) { return Address{leg % num_devices, stride * (2 + 2 * leg)}; };
  plan->arena_bytes.assign(num_devices, stride * (3 + 2 * legs));
  plan->peak_bytes = plan->arena_bytes;
  for (int d = 0; d < num_devices; ++d) {
    InitialValue x;
    x.address = {d, 0};
    x.bytes = bytes;
    x.tensor = 7;
    plan->initial_values.push_back(x);
  }
  int last_sum = -1;
  for (int leg = 0; leg < legs; ++leg) {
    const int device = leg % num_devices;
    // The value of the leg before, transposed: its columns are this leg's rows.
    const bool turned = leg % 2 == 1;
    const std::int64_t r = turned ? columns : rows, c = turned ? rows : columns;
    TensorView transposed = ContiguousView(DType::kF32, {r, c});
    transposed.strides = {1, r};
    std::vector<int> waits;
    const bool crosses = leg > 0 && num_devices > 1, packs = leg % 3 != 0;
    if (crosses) {
      const int from = (leg - 1) % num_devices;
      PlanCommand copy;
      copy.type = PlanCommand::Type::kCopy;
      copy.stream = num_devices + from * num_devices + device;
      copy.op = leg - 1;
      copy.tensor = leg;
      copy.bytes = bytes;
      copy.layout = packs ? transposed : ContiguousView(DType::kF32, {elements});
      copy.source = sum(leg - 1);
      copy.destinations = {received(leg)};
      copy.waits = {last_sum};
      plan->commands[last_sum].is_awaited = true;
      waits = {static_cast<int>(plan->commands.size())};
      copy.is_awaited = true;
      plan->commands.push_back(copy);
    }
    CompiledOp op;
    KernelCall add;
    add.kind = KernelKind::kElementwise;
    add.params.function = Function::kAdd;
    const TensorView packed = ContiguousView(DType::kF32, {r, c});
    add.inputs.push_back({false, 0, leg == 0 || (crosses && packs) ? packed : transposed});
    add.inputs.push_back({false, 1, packed});
    add.outputs.push_back({true, 0, packed});
    op.work.calls.push_back(add);
    const Address x{device, 0};
    op.inputs = {leg == 0 ? x : crosses ? received(leg) : sum(leg - 1), x};
    op.outputs = {sum(leg)};
    plan->ops.push_back(op);
    PlanCommand command;
    command.stream = device;
    command.op = leg;
    command.waits = waits;
    last_sum = static_cast<int>(plan->commands.size());
    plan->commands.push_back(command);
  }
  return {plan, sum(legs - 1), elements, legs};
}

/// The result by plain loops.
inline std::vector<float> RelayResult(const RelayPlan& relay,
                                      const std::vector<float>& x,
                                      std::int64_t rows,
                                      std::int64_t columns) {
  std::vector<float> value = x, next(x.size());
  for (int leg = 0; leg < relay.legs; ++leg) {
    const bool turned = leg % 2 == 1;
    const std::int64_t r = turned ? columns : rows, c = turned ? rows : columns;
    for (std::int64_t i = 0; i < r; ++i) {
      for (std::int64_t k = 0; k < c; ++k) {
        const float before = leg == 0 ? value[i * c + k] : value[i + k * r];
        next[i * c + k] = before + x[i * c + k];
      }
    }
    value.swap(next);
  }
  return value;
}

}  // namespace emplace

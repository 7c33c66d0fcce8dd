#include "profilers/executor/compile_plan.h"

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/op_order.h"
#include "framework/schedule/compiled_graph.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/stream_memory.h"
#include "profilers/executor/buffer_placement.h"
#include "profilers/executor/buffers.h"
#include "profilers/executor/command_order.h"
#include "profilers/executor/issued_commands.h"
#include "profilers/executor/placed_graph.h"

namespace emplace {
namespace {

void RequireExecutable(const Problem& problem, std::span<const DeviceIndex> device_of_op) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  EMPLACE_CHECK(static_cast<int>(device_of_op.size()) == graph.num_ops());
  for (const Device& device : cluster.devices()) {
    if (device.slots == 1) continue;
    throw InputError(fmt::format(
        "cluster \"{}\": device \"{}\" has {} slots; a device that executes runs one op at a "
        "time, expected 1 slot",
        cluster.name(),
        device.name,
        device.slots));
  }
  for (int v = 0; v < graph.num_ops(); ++v) {
    EMPLACE_CHECK(device_of_op[v] < cluster.num_devices());
    if (problem.costs().allowed(v, device_of_op[v])) continue;
    throw InputError(fmt::format("placement: op \"{}\" ({}) may not run on device \"{}\"",
                                 graph.op(v).name,
                                 graph.op(v).kind,
                                 cluster.device(device_of_op[v]).name));
  }
}

// Returns the most bytes in use at the same time by the rules of stream semantics
// (simulator/README.md, "Memory in S"). StreamMemory determines the buffers that an op allocates
// and frees; the commands determine the copies.
// @param order  [num_ops] in which the commands were issued   @return [num_devices] [B]
std::vector<std::int64_t> PeakMemory(const Graph& graph,
                                     int num_devices,
                                     std::span<const DeviceIndex> device_of_op,
                                     std::span<const int> order,
                                     const IssuedCommands& issued) {
  const CompiledGraph compiled(graph, order);
  std::vector<DeviceIndex> device;
  for (int v : order) device.push_back(device_of_op[v]);
  StreamMemory memory(compiled, num_devices);
  memory.Begin(compiled, device.data());
  // A copy allocates memory at its destinations with its first hop.
  std::vector<const Copy*> begun_by(issued.commands.size(), nullptr);
  for (const CarriedCopy& carried : issued.copies) {
    begun_by[carried.ways.front().front()] = &carried.copy;
  }
  int position = -1;
  for (size_t c = 0; c < issued.commands.size(); ++c) {
    const PlanCommand& command = issued.commands[c];
    if (command.type == PlanCommand::Type::kOp) {
      if (position >= 0) memory.Release(compiled, position);
      memory.Allocate(compiled, ++position);
      for (int i = compiled.item_begin[position]; i < compiled.item_begin[position + 1]; ++i) {
        memory.Make(compiled, i, position);
      }
    } else if (begun_by[c] != nullptr && command.tensor != kControlTensor) {
      for (int d : begun_by[c]->destinations) {
        memory.Receive(compiled, compiled.item_of[command.tensor], d);
      }
    }
  }
  if (position >= 0) memory.Release(compiled, position);
  return memory.peak();
}

std::vector<CompiledOp> PlannedOps(const PlacedGraph& placed) {
  std::vector<CompiledOp> ops;
  for (int v = 0; v < placed.graph.num_ops(); ++v) {
    ops.push_back(
        {.name = placed.graph.op(v).name, .work = WorkOf(placed.graph, v, placed.layouts)});
  }
  return ops;
}

void SetWaits(std::vector<std::vector<int>> waits, std::vector<PlanCommand>& commands) {
  for (size_t c = 0; c < commands.size(); ++c) {
    commands[c].waits = std::move(waits[c]);
    for (int other : commands[c].waits) commands[other].is_awaited = true;
  }
}

// Sets layouts and addresses of ops and copies, and the initial values of tensors that no op
// computes.
void SetAddresses(const ProgramBuffers& program,
                  const std::vector<std::int64_t>& offsets,
                  const Graph& placed,
                  int num_given_tensors,
                  ExecutionPlan& plan) {
  const auto address_of = [&](int b) { return Address{program.buffers[b].device, offsets[b]}; };
  const auto addresses_of = [&](const std::vector<int>& buffers) {
    std::vector<Address> addresses;
    for (int b : buffers) addresses.push_back(address_of(b));
    return addresses;
  };
  for (size_t v = 0; v < plan.ops.size(); ++v) {
    plan.ops[v].inputs = addresses_of(program.ops[v].inputs);
    plan.ops[v].outputs = addresses_of(program.ops[v].outputs);
  }
  for (size_t c = 0; c < plan.commands.size(); ++c) {
    const CopyBuffers& copy = program.copies[c];
    if (copy.source < 0) continue;
    plan.commands[c].layout = copy.layout;
    plan.commands[c].source = address_of(copy.source);
    plan.commands[c].destinations = addresses_of(copy.destinations);
  }
  for (const auto& [place, b] : program.of_tensor) {
    const int tensor = place.first, producer = placed.tensor(tensor).producer;
    const bool is_received = tensor >= num_given_tensors;
    if (is_received || (producer >= 0 && !plan.ops[producer].work.calls.empty())) continue;
    plan.initial_values.push_back(InitialValueOf(placed.tensor(tensor), tensor, address_of(b)));
  }
}

}  // namespace

ExecutionPlan CompilePlan(const Problem& problem,
                          std::span<const DeviceIndex> device_of_op,
                          std::span<const int> issue_order) {
  const Graph& graph = problem.graph();
  const std::vector<int> issue = issue_order.empty()
                                     ? IssueOrder(graph)
                                     : std::vector<int>(issue_order.begin(), issue_order.end());
  RequireOpOrder(graph, issue, "issue order");
  RequireExecutable(problem, device_of_op);

  ExecutionPlan plan;
  plan.num_devices = problem.cluster().num_devices();
  plan.num_channels = problem.cluster().num_channels();
  IssuedCommands issued = IssueCommands(problem, device_of_op, issue);
  plan.peak_bytes = PeakMemory(graph, plan.num_devices, device_of_op, issue, issued);

  const PlacedGraph placed = PlaceGraph(problem, device_of_op, issued.copies);
  plan.ops = PlannedOps(placed);
  const ProgramBuffers program =
      FindBuffers(problem, device_of_op, issue, issued, placed, plan.ops);

  const std::vector<int> streams = issued.StreamOfCommand();
  const auto hazards = FindHazards(program.accesses, static_cast<int>(program.buffers.size()));
  CommandOrder order = OrderCommands(streams, plan.num_streams(), issued.dependencies, hazards);
  BufferPlacement memory = PlaceBuffers(program.buffers, plan.num_devices, streams, order);

  plan.commands = std::move(issued.commands);
  plan.hazard_waits = order.hazard_waits;
  plan.arena_bytes = std::move(memory.arena_bytes);
  plan.staging_bytes = memory.staging_bytes;
  SetWaits(std::move(order.waits), plan.commands);
  SetAddresses(program, memory.offsets, placed.graph, graph.num_tensors(), plan);
  return plan;
}

}  // namespace emplace

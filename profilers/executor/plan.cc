#include "profilers/executor/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/op_order.h"
#include "framework/schedule/compiled_graph.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "framework/schedule/stream_memory.h"
#include "framework/schedule/transfer_plan.h"
#include "profilers/executor/arena.h"

namespace emplace {
namespace {

using Place = std::pair<int, int>;  // (tensor, device)
using Clock = std::vector<int>;     // [num_streams] how many commands have finished for sure

// One piece of an arena: a tensor's own storage, a received copy, or a rest between two hops.
struct Buffer {
  int device = 0;  // or kStaging
  std::int64_t bytes = 0;
  bool pinned = false;     // never released: from the first step's beginning to the last one's end
  int first = -1;          // command that fills it
  int last = -1;           // last command that uses it
  std::vector<int> users;  // commands, ascending
  std::map<int, int> fence;  // stream -> how many of its commands have finished behind all users
  int last_writer = -1;      // while commands are ordered
  std::vector<int> readers_since;
  std::int64_t offset = 0;
};

class Compiler {
 public:
  Compiler(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           MemoryReuse reuse,
           std::span<const int> issue_order)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        device_of_op_(device_of_op),
        reuse_(reuse),
        order_(issue_order.empty() ? IssueOrder(graph_)
                                   : std::vector<int>(issue_order.begin(), issue_order.end())) {
    RequireOpOrder(graph_, order_, "issue order");
  }

  ExecutionPlan Compile() {
    CheckPlacement();
    plan_.num_devices = cluster_.num_devices();
    plan_.num_channels = cluster_.num_channels();
    IssueCommands();
    CountPeak();
    const Graph placed = PlacedGraph();
    MakeBuffers(placed);
    OrderCommands({});
    PlaceBuffers();
    SetAddresses(placed);
    return std::move(plan_);
  }

 private:
  // A copy as the simulator sees it: which commands carry it, where it rests.
  struct Carried {
    Copy copy;
    int first_hop = -1;                    // command
    std::vector<std::vector<int>> onward;  // [destinations] commands of the further hops
  };

  void CheckPlacement() const {
    EMPLACE_CHECK(static_cast<int>(device_of_op_.size()) == graph_.num_ops());
    for (const Device& device : cluster_.devices()) {
      if (device.slots == 1) continue;
      throw InputError(fmt::format(
          "cluster \"{}\": device \"{}\" has {} slots; a device that executes runs one op at a "
          "time, expected 1 slot",
          cluster_.name(),
          device.name,
          device.slots));
    }
    for (int v = 0; v < graph_.num_ops(); ++v) {
      EMPLACE_CHECK(device_of_op_[v] < cluster_.num_devices());
      if (problem_.costs().allowed(v, device_of_op_[v])) continue;
      throw InputError(fmt::format("placement: op \"{}\" ({}) may not run on device \"{}\"",
                                   graph_.op(v).name,
                                   graph_.op(v).kind,
                                   cluster_.device(device_of_op_[v]).name));
    }
  }

  bool IsLocal(int tensor, int device) const {
    const int producer = graph_.tensor(tensor).producer;
    return producer < 0 || device_of_op_[producer] == device;
  }

  int AddCommand(PlanCommand command, std::vector<int> dependencies) {
    plan_.commands.push_back(std::move(command));
    dependencies_.push_back(std::move(dependencies));
    return static_cast<int>(plan_.commands.size()) - 1;
  }

  // The commands in the order of stream semantics, each with the commands it depends on by the
  // graph.
  void IssueCommands() {
    command_of_op_.assign(graph_.num_ops(), -1);
    for (int v : order_) {
      const int d = device_of_op_[v];
      std::vector<int> needed;
      for (int t : graph_.reads(v)) {
        const int producer = graph_.tensor(t).producer;
        if (producer < 0) continue;
        needed.push_back(IsLocal(t, d) ? command_of_op_[producer] : arrival_.at({t, d}));
      }
      for (int producer : graph_.op(v).control_inputs) {
        needed.push_back(device_of_op_[producer] == d ? command_of_op_[producer]
                                                      : control_arrival_.at({producer, d}));
      }
      command_of_op_[v] =
          AddCommand({.type = PlanCommand::Type::kOp, .stream = d, .op = v}, std::move(needed));
      IssueCopies(v);
    }
  }

  void IssueCopies(int v) {
    const int d = device_of_op_[v];
    std::vector<Carried> carried;
    std::map<Place, std::pair<size_t, size_t>> turns;  // (tensor, destination) -> copy, position
    for (Copy& copy : CopiesOf(graph_, cluster_, device_of_op_, v)) {
      for (size_t i = 0; i < copy.destinations.size(); ++i) {
        turns[{copy.tensor, copy.destinations[i]}] = {carried.size(), i};
      }
      const size_t count = copy.destinations.size();
      carried.push_back({std::move(copy), -1, std::vector<std::vector<int>>(count)});
    }
    for (const auto& [turn, index] : turns) {
      const int destination = turn.second;
      Carried& way = carried[index.first];
      const auto route = cluster_.route(d, destination);
      const auto send = [&](int hop, int behind) {
        return AddCommand({.type = PlanCommand::Type::kCopy,
                           .stream = cluster_.num_devices() + route[hop],
                           .op = v,
                           .tensor = way.copy.tensor,
                           .hop = hop,
                           .bytes = way.copy.bytes,
                           .source = {hop == 0 ? d : kStaging},
                           .destinations = EndsOf(way.copy, hop, destination)},
                          {behind});
      };
      if (way.first_hop < 0) way.first_hop = send(0, command_of_op_[v]);
      int at = way.first_hop;
      for (int hop = 1; hop < static_cast<int>(route.size()); ++hop) {
        at = send(hop, at);
        way.onward[index.second].push_back(at);
      }
      if (turn.first == kControlTensor) {
        control_arrival_[{v, destination}] = at;
      } else {
        arrival_[turn] = at;
      }
    }
    for (Carried& way : carried) carried_.push_back(std::move(way));
  }

  // Where a hop of a copy leads, offsets left open.
  std::vector<Address> EndsOf(const Copy& copy, int hop, int destination) const {
    std::vector<Address> ends;
    for (int d : copy.destinations) {
      if (hop > 0 && d != destination) continue;
      const int hops = static_cast<int>(cluster_.route(copy.source, d).size());
      const Address end{hop + 1 == hops ? d : kStaging};
      if (std::ranges::find(ends, end) == ends.end()) ends.push_back(end);
    }
    return ends;
  }

  // What the commands of this program hold in memory, by the rules of stream semantics:
  // StreamMemory knows which buffers an op takes and leaves, the commands say what was sent where.
  void CountPeak() {
    const CompiledGraph compiled(graph_, order_);
    std::vector<DeviceIndex> device;
    for (int v : order_) device.push_back(device_of_op_[v]);
    StreamMemory memory(compiled, cluster_.num_devices());
    memory.Begin(compiled, device.data());
    std::vector<const Copy*> copy_of_command(plan_.commands.size(), nullptr);
    for (const Carried& way : carried_) copy_of_command[way.first_hop] = &way.copy;
    int position = -1;
    for (size_t c = 0; c < plan_.commands.size(); ++c) {
      const PlanCommand& command = plan_.commands[c];
      if (command.type == PlanCommand::Type::kOp) {
        if (position >= 0) memory.Release(compiled, position);
        memory.Allocate(compiled, ++position);
        for (int i = compiled.item_begin[position]; i < compiled.item_begin[position + 1]; ++i) {
          memory.Make(compiled, i, position);
        }
      } else if (copy_of_command[c] != nullptr && command.tensor != kControlTensor) {
        for (int d : copy_of_command[c]->destinations) {
          memory.Receive(compiled, compiled.item_of[command.tensor], d);
        }
      }
    }
    if (position >= 0) memory.Release(compiled, position);
    plan_.peak_bytes = memory.peak();
  }

  // The graph with every received copy as a tensor of its own: ops read the copies on their device,
  // and views made there are aliases of the copies. Op and tensor ids stay.
  Graph PlacedGraph() {
    std::vector<Tensor> tensors(graph_.tensors().begin(), graph_.tensors().end());
    std::vector<Op> ops(graph_.ops().begin(), graph_.ops().end());
    for (const auto& [place, command] : arrival_) {
      Tensor copy = tensors[place.first];
      copy.role = TensorRole::kActivation;
      copy.alias_of = copy.producer = -1;
      received_[place] = static_cast<int>(tensors.size());
      tensors.push_back(std::move(copy));
    }
    for (int v = 0; v < graph_.num_ops(); ++v) {
      const int d = device_of_op_[v];
      for (int& t : ops[v].inputs) {
        if (!IsLocal(t, d)) t = received_.at({t, d});
      }
      for (int t : ops[v].outputs) {
        int& alias_of = tensors[t].alias_of;
        if (alias_of < 0 || IsLocal(alias_of, d)) continue;
        if (!std::ranges::binary_search(graph_.reads(v), alias_of)) {
          throw InputError(
              fmt::format("placement: op \"{}\" ({}) on device \"{}\" makes an alias of tensor {} "
                          "\"{}\" on device \"{}\" without reading it; place them together",
                          ops[v].name,
                          ops[v].kind,
                          cluster_.device(d).name,
                          alias_of,
                          graph_.tensor(alias_of).name,
                          cluster_.device(device_of_op_[graph_.tensor(alias_of).producer]).name));
        }
        alias_of = received_.at({alias_of, d});
      }
    }
    return {graph_.name(), std::move(tensors), std::move(ops), "", graph_.name()};
  }

  int AddBuffer(int device, std::int64_t bytes) {
    buffers_.push_back({.device = device, .bytes = bytes});
    return static_cast<int>(buffers_.size()) - 1;
  }

  // The buffer in which op `v` finds (or leaves) `tensor` of the placed graph.
  int BufferOf(const Graph& placed, int tensor, int v) {
    const int d = device_of_op_[v], root = placed.alias_root(tensor);
    const bool everywhere = root < graph_.num_tensors() && placed.tensor(root).producer < 0;
    const auto [entry, is_new] = buffer_of_.try_emplace({root, everywhere ? d : -1}, -1);
    if (is_new) {
      entry->second = AddBuffer(d, placed.tensor(root).bytes);
      buffers_.back().pinned = everywhere;
    }
    if (buffers_[entry->second].device != d) {
      throw InputError(fmt::format(
          "placement: op \"{}\" ({}) on device \"{}\" uses tensor {} \"{}\", whose storage is on "
          "device \"{}\"; place them together",
          graph_.op(v).name,
          graph_.op(v).kind,
          cluster_.device(d).name,
          tensor,
          placed.tensor(tensor).name,
          cluster_.device(buffers_[entry->second].device).name));
    }
    return entry->second;
  }

  void Use(int buffer, int command) {
    std::vector<int>& users = buffers_[buffer].users;
    if (users.empty() || users.back() != command) users.push_back(command);
  }

  void Access(int buffer, const TensorView& view, int command, bool writes) {
    Buffer& b = buffers_[buffer];
    b.bytes = std::max(b.bytes, view.end_bytes());
    auto& accesses = accesses_[command];
    const auto known = std::ranges::find(accesses, buffer, &std::pair<int, bool>::first);
    if (known == accesses.end()) {
      accesses.push_back({buffer, writes});
    } else {
      known->second |= writes;
    }
  }

  // What every command does to which buffer.
  void MakeBuffers(const Graph& placed) {
    const int num_commands = static_cast<int>(plan_.commands.size());
    accesses_.resize(num_commands);
    plan_.ops.resize(graph_.num_ops());
    input_buffers_.resize(graph_.num_ops());
    output_buffers_.resize(graph_.num_ops());
    source_buffer_.assign(num_commands, -1);
    destination_buffers_.resize(num_commands);

    for (int v : order_) {
      for (int t : placed.op(v).outputs) {
        if (placed.tensor(t).alias_of < 0)
          buffer_of_[{t, -1}] = AddBuffer(device_of_op_[v], placed.tensor(t).bytes);
      }
    }
    for (const auto& [place, tensor] : received_) {
      buffer_of_[{tensor, -1}] = AddBuffer(place.second, placed.tensor(tensor).bytes);
    }
    for (int v : order_) UseByOp(placed, v);
    for (const Carried& way : carried_) {
      if (way.copy.bytes > 0) UseByCopy(placed, way);
    }
    for (Buffer& buffer : buffers_) {
      std::ranges::sort(buffer.users);
      EMPLACE_CHECK(!buffer.users.empty());
      buffer.first = buffer.users.front();
      buffer.last = buffer.users.back();
    }
  }

  void UseByOp(const Graph& placed, int v) {
    const Op& op = placed.op(v);
    const int command = command_of_op_[v];
    PlannedOp& planned = plan_.ops[v];
    planned.name = op.name;
    planned.work = WorkOf(placed, v);
    for (int t : op.inputs) input_buffers_[v].push_back(BufferOf(placed, t, v));
    for (int t : op.outputs) output_buffers_[v].push_back(BufferOf(placed, t, v));
    for (int buffer : input_buffers_[v]) Use(buffer, command);
    for (int buffer : output_buffers_[v]) Use(buffer, command);

    for (const KernelCall& call : planned.work.calls) {
      const auto access = [&](const Argument& argument, bool writes) {
        const auto& side = argument.is_output ? output_buffers_[v] : input_buffers_[v];
        Access(side.at(argument.index), argument.view, command, writes);
      };
      for (const Argument& argument : call.inputs) access(argument, false);
      for (const Argument& argument : call.outputs) access(argument, true);
    }
    const bool is_silent = planned.work.calls.empty();
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor& tensor = graph_.tensor(op.outputs[i]);
      // What no kernel fills is filled once, before the first step.
      if (IsNeverReleased(tensor) || (is_silent && tensor.alias_of < 0)) {
        buffers_[output_buffers_[v][i]].pinned = true;
      }
    }
    if (op.workspace_bytes > 0) {
      const int workspace = AddBuffer(device_of_op_[v], op.workspace_bytes);
      Use(workspace, command);
    }
  }

  void UseByCopy(const Graph& placed, const Carried& way) {
    const int v = way.copy.producer;
    const Tensor& tensor = placed.tensor(way.copy.tensor);
    TensorView layout = LayoutOf(placed, way.copy.tensor);
    if (layout.num_elements() * SizeOf(layout.dtype) != tensor.bytes) {
      layout = ContiguousView(DType::kBool, {tensor.bytes});  // sizes that no shape explains
    }
    TensorView packed = ContiguousView(layout.dtype, layout.shape);
    const auto transfer = [&](int command, int from, int to, const TensorView& view) {
      if (source_buffer_[command] < 0) {
        source_buffer_[command] = from;
        plan_.commands[command].layout = view;
        Use(from, command);
        Access(from, view, command, false);
      }
      auto& destinations = destination_buffers_[command];
      if (std::ranges::find(destinations, to) != destinations.end()) return;
      destinations.push_back(to);
      Use(to, command);
      Access(to, packed, command, true);
    };
    const int source = BufferOf(placed, way.copy.tensor, v);
    int shared_rest = -1;  // behind a broadcast first hop all further hops start at one place
    for (size_t i = 0; i < way.copy.destinations.size(); ++i) {
      const int d = way.copy.destinations[i];
      const int target = buffer_of_.at({received_.at({way.copy.tensor, d}), -1});
      const std::vector<int>& onward = way.onward[i];
      if (onward.empty()) {
        transfer(way.first_hop, source, target, layout);
        continue;
      }
      if (shared_rest < 0) shared_rest = AddBuffer(kStaging, tensor.bytes);
      transfer(way.first_hop, source, shared_rest, layout);
      int rest = shared_rest;
      for (size_t hop = 0; hop < onward.size(); ++hop) {
        const int to = hop + 1 == onward.size() ? target : AddBuffer(kStaging, tensor.bytes);
        transfer(onward[hop], rest, to, packed);
        rest = to;
      }
    }
  }

  // Commands of other streams that must finish first, in one pass in issue order: by then
  // everything earlier has its waits and its vector clock.
  // @param for_memory  [num_commands] further commands to wait for, or empty
  void OrderCommands(const std::vector<std::vector<int>>& for_memory) {
    const int num_commands = static_cast<int>(plan_.commands.size());
    const int num_streams = plan_.num_streams();
    plan_.hazard_waits = plan_.added_waits = 0;
    for (Buffer& buffer : buffers_) {
      buffer.last_writer = -1;
      buffer.readers_since.clear();
    }
    for (PlanCommand& command : plan_.commands) command.waits.clear();
    done_.assign(num_commands, {});
    position_.assign(num_commands, 0);
    std::vector<int> last(num_streams, -1), count(num_streams, 0);
    for (int c = 0; c < num_commands; ++c) {
      PlanCommand& command = plan_.commands[c];
      const int before = last[command.stream];
      Clock known = before < 0 ? Clock(num_streams, 0) : done_[before];
      // From the latest backwards: what a wait implies was issued before it.
      const auto wait_for = [&](std::vector<int> needed) {
        int added = 0;
        std::ranges::sort(needed, std::greater<>());
        for (int other : needed) {
          if (known[plan_.commands[other].stream] > position_[other]) continue;
          command.waits.push_back(other);
          ++added;
          for (int s = 0; s < num_streams; ++s) known[s] = std::max(known[s], done_[other][s]);
        }
        return added;
      };
      wait_for(dependencies_[c]);
      plan_.hazard_waits += wait_for(Hazards(c));
      if (!for_memory.empty()) plan_.added_waits += wait_for(for_memory[c]);
      RemoveImplied(command.waits);
      position_[c] = count[command.stream]++;
      last[command.stream] = c;
      known[command.stream] = count[command.stream];
      done_[c] = std::move(known);
    }
  }

  // Offsets of all buffers, so that two share bytes only if one is filled behind all uses of the
  // other: by the program's order, or (kTight) in issue order, with the waits that this takes.
  void PlaceBuffers() {
    for (Buffer& buffer : buffers_) {
      for (int user : buffer.users) {
        int& finished = buffer.fence[plan_.commands[user].stream];
        finished = std::max(finished, position_[user] + 1);
      }
    }
    const bool tight = reuse_ == MemoryReuse::kTight;
    std::vector<std::vector<int>> for_memory(plan_.commands.size());
    for (int device = kStaging; device < plan_.num_devices; ++device) {
      std::vector<int> here;
      std::vector<std::int64_t> bytes;
      for (int b = 0; b < static_cast<int>(buffers_.size()); ++b) {
        if (buffers_[b].device != device) continue;
        here.push_back(b);
        bytes.push_back(buffers_[b].bytes);
      }
      const ArenaLayout layout = LayOutArena(bytes, [&](int a, int b) {
        const Buffer &x = buffers_[here[a]], &y = buffers_[here[b]];
        return !(IsOverBefore(x, y, tight) || IsOverBefore(y, x, tight));
      });
      for (size_t i = 0; i < here.size(); ++i) buffers_[here[i]].offset = layout.offsets[i];
      if (device == kStaging) {
        plan_.staging_bytes = layout.bytes;
      } else {
        plan_.arena_bytes.push_back(layout.bytes);
      }
      if (tight) AddMemoryWaits(here, for_memory);
    }
    if (tight) OrderCommands(for_memory);
    for (const PlanCommand& command : plan_.commands) {
      for (int other : command.waits) plan_.commands[other].is_awaited = true;
    }
  }

  bool IsOverBefore(const Buffer& old, const Buffer& fresh, bool in_issue_order) const {
    if (old.pinned || fresh.pinned || old.last >= fresh.first) return false;
    if (in_issue_order) return true;
    const Clock& known = done_[fresh.first];
    return std::ranges::all_of(
        old.fence, [&](const auto& entry) { return known[entry.first] >= entry.second; });
  }

  // A command that fills bytes waits for all commands that used them before.
  void AddMemoryWaits(const std::vector<int>& here,
                      std::vector<std::vector<int>>& for_memory) const {
    for (int b : here) {
      const Buffer& fresh = buffers_[b];
      for (int a : here) {
        const Buffer& old = buffers_[a];
        const bool overlap =
            old.offset < fresh.offset + fresh.bytes && fresh.offset < old.offset + old.bytes;
        if (!overlap || !IsOverBefore(old, fresh, true)) continue;
        auto& needed = for_memory[fresh.first];
        needed.insert(needed.end(), old.users.begin(), old.users.end());
      }
    }
  }

  // Earlier commands that touch the same buffer in a way that does not commute with what `command`
  // does to it; the graph's own edges cover most of them.
  std::vector<int> Hazards(int command) {
    std::vector<int> earlier;
    for (const auto& [b, writes] : accesses_[command]) {
      Buffer& buffer = buffers_[b];
      if (buffer.last_writer >= 0) earlier.push_back(buffer.last_writer);
      if (writes) {
        earlier.insert(earlier.end(), buffer.readers_since.begin(), buffer.readers_since.end());
        buffer.last_writer = command;
        buffer.readers_since.clear();
      } else {
        buffer.readers_since.push_back(command);
      }
    }
    return earlier;
  }

  // A wait that was added late may imply one that was there before.
  void RemoveImplied(std::vector<int>& waits) const {
    std::vector<int> kept;
    for (int a : waits) {
      const bool implied = std::ranges::any_of(waits, [&](int b) {
        return a != b && done_[b][plan_.commands[a].stream] > position_[a];
      });
      if (!implied) kept.push_back(a);
    }
    std::ranges::sort(kept);
    waits = std::move(kept);
  }

  Address AddressOf(int buffer) const { return {buffers_[buffer].device, buffers_[buffer].offset}; }

  void SetAddresses(const Graph& placed) {
    for (int v = 0; v < graph_.num_ops(); ++v) {
      for (int b : input_buffers_[v]) plan_.ops[v].inputs.push_back(AddressOf(b));
      for (int b : output_buffers_[v]) plan_.ops[v].outputs.push_back(AddressOf(b));
    }
    for (size_t c = 0; c < plan_.commands.size(); ++c) {
      if (source_buffer_[c] < 0) continue;
      plan_.commands[c].source = AddressOf(source_buffer_[c]);
      plan_.commands[c].destinations.clear();
      for (int b : destination_buffers_[c]) plan_.commands[c].destinations.push_back(AddressOf(b));
    }
    for (const auto& [place, b] : buffer_of_) {
      const auto& [tensor, device] = place;
      const int producer = placed.tensor(tensor).producer;
      const bool is_received = tensor >= graph_.num_tensors();
      if (is_received || (producer >= 0 && !plan_.ops[producer].work.calls.empty())) continue;
      plan_.initial_values.push_back(InitialValueOf(placed.tensor(tensor), tensor, b));
    }
  }

  InitialValue InitialValueOf(const Tensor& tensor, int id, int buffer) const {
    using Fill = InitialValue::Fill;
    InitialValue value{.address = AddressOf(buffer), .bytes = tensor.bytes, .tensor = id};
    const auto dtype = ParseDType(tensor.dtype);
    value.dtype = dtype.value_or(DType::kBool);
    if (!dtype || *dtype == DType::kBool) {
      value.fill = Fill::kZero;
    } else if (*dtype != DType::kF32) {
      value.fill = Fill::kIndices;
    } else if (tensor.role == TensorRole::kOptimizerState || tensor.bytes == SizeOf(*dtype)) {
      value.fill = Fill::kScalar;
    }
    return value;
  }

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  const std::span<const DeviceIndex> device_of_op_;
  const MemoryReuse reuse_;
  const std::vector<int> order_;
  ExecutionPlan plan_;

  std::vector<int> command_of_op_;
  std::map<Place, int> arrival_;          // (tensor, device) -> last command of its way
  std::map<Place, int> control_arrival_;  // (op, device) -> likewise
  std::vector<Carried> carried_;
  std::vector<std::vector<int>> dependencies_;  // [num_commands]

  std::map<Place, int> received_;   // (tensor, device) -> tensor of the placed graph
  std::map<Place, int> buffer_of_;  // (root in the placed graph, -1 or device) -> buffer
  std::vector<Buffer> buffers_;
  std::vector<std::vector<std::pair<int, bool>>> accesses_;       // [num_commands] (buffer, writes)
  std::vector<std::vector<int>> input_buffers_, output_buffers_;  // [num_ops]
  std::vector<int> source_buffer_;                                // [num_commands]
  std::vector<std::vector<int>> destination_buffers_;             // [num_commands]

  std::vector<int> position_;  // [num_commands] in its stream
  std::vector<Clock> done_;    // [num_commands] when it has finished itself
};

}  // namespace

std::vector<std::vector<int>> ExecutionPlan::CommandsByStream() const {
  std::vector<std::vector<int>> streams(num_streams());
  for (int c = 0; c < static_cast<int>(commands.size()); ++c) {
    streams[commands[c].stream].push_back(c);
  }
  return streams;
}

ExecutionPlan CompilePlan(const Problem& problem,
                          std::span<const DeviceIndex> device_of_op,
                          MemoryReuse reuse,
                          std::span<const int> issue_order) {
  return Compiler(problem, device_of_op, reuse, issue_order).Compile();
}

}  // namespace emplace

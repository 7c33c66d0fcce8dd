#include "profilers/executor/buffers.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

// Collects the buffers. Ops and copies are entered one by one.
class BufferFinder {
 public:
  BufferFinder(const Problem& problem,
               std::span<const DeviceIndex> device_of_op,
               const IssuedCommands& issued,
               const PlacedGraph& placed)
      : graph_(placed.graph),
        num_given_tensors_(problem.graph().num_tensors()),
        cluster_(problem.cluster()),
        device_of_op_(device_of_op),
        issued_(issued),
        placed_(placed) {
    found_.accesses.resize(issued.commands.size());
    found_.copies.resize(issued.commands.size());
    found_.ops.resize(graph_.num_ops());
  }

  void AddStorage(int tensor, int device) {
    found_.of_tensor[{tensor, device}] = Add(device, graph_.tensor(tensor).bytes);
  }

  void EnterOp(int v, const OpWork& work) {
    const Op& op = graph_.op(v);
    const int command = issued_.command_of_op[v];
    OpBuffers& mine = found_.ops[v];
    for (int t : op.inputs) mine.inputs.push_back(BufferOf(t, v));
    for (int t : op.outputs) mine.outputs.push_back(BufferOf(t, v));
    for (int buffer : mine.inputs) Use(buffer, command);
    for (int buffer : mine.outputs) Use(buffer, command);
    for (const KernelCall& call : work.calls) {
      const auto access = [&](const Argument& argument, bool writes) {
        const auto& side = argument.is_output ? mine.outputs : mine.inputs;
        Access(side.at(argument.index), argument.view, command, writes);
      };
      for (const Argument& argument : call.inputs) access(argument, false);
      for (const Argument& argument : call.outputs) access(argument, true);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor& tensor = graph_.tensor(op.outputs[i]);
      const bool is_filled_once = work.calls.empty() && tensor.alias_of < 0;
      if (IsNeverReleased(tensor) || is_filled_once) found_.buffers[mine.outputs[i]].pinned = true;
    }
    if (op.workspace_bytes > 0) Use(Add(device_of_op_[v], op.workspace_bytes), command);
  }

  void EnterCopy(const CarriedCopy& carried) {
    const Copy& copy = carried.copy;
    if (copy.bytes == 0) return;
    const TensorView layout = LayoutOfCopy(SentLayout(placed_, copy.tensor)).source;
    const std::int64_t bytes = graph_.tensor(copy.tensor).bytes;
    const TensorView packed = ContiguousView(layout.dtype, layout.shape);
    const int source = BufferOf(copy.tensor, copy.producer);
    int shared_rest = -1;  // after a broadcast first hop, all further hops start at the same buffer
    for (size_t i = 0; i < copy.destinations.size(); ++i) {
      const int device = copy.destinations[i];
      const int target = found_.of_tensor.at({placed_.received.at({copy.tensor, device}), device});
      const std::vector<int>& way = carried.ways[i];
      int at = source;
      for (size_t hop = 0; hop < way.size(); ++hop) {
        int to = target;
        if (hop + 1 < way.size()) {
          if (hop == 0 && shared_rest < 0) shared_rest = Add(kStaging, bytes);
          to = hop == 0 ? shared_rest : Add(kStaging, bytes);
        }
        Transfer(way[hop], at, to, hop == 0 ? layout : packed);
        at = to;
      }
    }
  }

  ProgramBuffers Finish() {
    for (Buffer& buffer : found_.buffers) {
      std::ranges::sort(buffer.users);
      EMPLACE_CHECK(!buffer.users.empty());
    }
    return std::move(found_);
  }

 private:
  int Add(int device, std::int64_t bytes) {
    found_.buffers.push_back({.device = device, .bytes = bytes});
    return static_cast<int>(found_.buffers.size()) - 1;
  }

  // Returns the buffer in which op `v` reads or writes a tensor.
  int BufferOf(int tensor, int v) {
    const int d = device_of_op_[v];
    const Storage storage = StorageOf(graph_, device_of_op_, tensor);
    if (storage.device >= 0 && storage.device != d) {
      throw InputError(fmt::format(
          "placement: op \"{}\" ({}) on device \"{}\" uses tensor {} \"{}\", whose storage is on "
          "device \"{}\"; place them together",
          graph_.op(v).name,
          graph_.op(v).kind,
          cluster_.device(d).name,
          tensor,
          graph_.tensor(tensor).name,
          cluster_.device(storage.device).name));
    }
    const auto [entry, is_new] = found_.of_tensor.try_emplace({storage.root, d}, -1);
    if (is_new) {  // a graph input: one on every device that uses it
      EMPLACE_CHECK(storage.device < 0 && storage.root < num_given_tensors_);
      entry->second = Add(d, graph_.tensor(storage.root).bytes);
      found_.buffers.back().pinned = true;
    }
    return entry->second;
  }

  void Use(int buffer, int command) {
    std::vector<int>& users = found_.buffers[buffer].users;
    if (users.empty() || users.back() != command) users.push_back(command);
  }

  void Access(int buffer, const TensorView& view, int command, bool writes) {
    Buffer& b = found_.buffers[buffer];
    b.bytes = std::max(b.bytes, view.end_bytes());
    auto& accesses = found_.accesses[command];
    const auto known = std::ranges::find(accesses, buffer, &BufferAccess::buffer);
    if (known == accesses.end()) {
      accesses.push_back({buffer, writes});
    } else {
      known->writes |= writes;
    }
  }

  void Transfer(int command, int from, int to, const TensorView& view) {
    CopyBuffers& mine = found_.copies[command];
    if (mine.source < 0) {
      mine.source = from;
      mine.layout = view;
      Use(from, command);
      Access(from, view, command, false);
    }
    if (std::ranges::find(mine.destinations, to) != mine.destinations.end()) return;
    mine.destinations.push_back(to);
    Use(to, command);
    Access(to, ContiguousView(view.dtype, view.shape), command, true);
  }

  const Graph& graph_;
  const int num_given_tensors_;
  const Cluster& cluster_;
  const std::span<const DeviceIndex> device_of_op_;
  const IssuedCommands& issued_;
  const PlacedGraph& placed_;
  ProgramBuffers found_;
};

}  // namespace

ProgramBuffers FindBuffers(const Problem& problem,
                           std::span<const DeviceIndex> device_of_op,
                           std::span<const int> order,
                           const IssuedCommands& issued,
                           const PlacedGraph& placed,
                           std::span<const CompiledOp> ops) {
  BufferFinder finder(problem, device_of_op, issued, placed);
  for (int v : order) {
    for (int t : placed.graph.op(v).outputs) {
      if (placed.graph.tensor(t).alias_of < 0) finder.AddStorage(t, device_of_op[v]);
    }
  }
  for (const auto& [place, tensor] : placed.received) finder.AddStorage(tensor, place.second);
  for (int v : order) finder.EnterOp(v, ops[v].work);
  for (const CarriedCopy& copy : issued.copies) finder.EnterCopy(copy);
  return finder.Finish();
}

}  // namespace emplace

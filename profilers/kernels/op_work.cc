#include "profilers/kernels/op_work.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "framework/cost/op_kind.h"
#include "profilers/kernels/kernel_table.h"
#include "profilers/kernels/op_reader.h"

namespace emplace {
namespace {

using internal::NoKernel;
using internal::OpReader;
using internal::WorkRule;
using std::int64_t;

bool HasWork(const Op& op) {
  return !op.IsStorage() && ClassifyOp(op.kind) != OpClass::kView;
}

// Returns the first rule of a name in some tables; nullptr: none.
const WorkRule* FindRule(std::initializer_list<std::span<const WorkRule>> tables,
                         std::string_view name) {
  for (const auto table : tables) {
    const auto found = std::ranges::lower_bound(table, name, {}, &WorkRule::name);
    if (found != table.end() && found->name == name) return &*found;
  }
  return nullptr;
}

const WorkRule* FindRule(std::string_view kind) {
  using namespace internal;  // NOLINT: the tables
  const OpName op = ParseOpKind(kind);
  if (op.origin == OpOrigin::kAten) {
    const auto tables = {AtenWork(), AtenElementwise(), AtenMemory(), AtenAttention(), AtenNorms()};
    const WorkRule* const rule = FindRule(tables, op.name);
    return rule != nullptr ? rule : FindRule(tables, op.base);
  }
  const bool has_kernels =  // ONNX and JAX have none
      op.origin == OpOrigin::kOptimizer || op.origin == OpOrigin::kTensorFlow;
  return has_kernels ? FindRule({TensorFlowWork(), OptimizerWork()}, op.name) : nullptr;
}

// Returns the op's calls. @throws NoKernel
OpWork KernelWork(const Graph& graph, int op_id, const OwnLayouts& own) {
  const Op& op = graph.op(op_id);
  const WorkRule* rule = FindRule(op.kind);
  if (rule == nullptr) throw NoKernel{fmt::format("no kernel for kind \"{}\"", op.kind)};
  OpReader reader(graph, op_id, own);
  rule->emit(reader);
  OpWork work = reader.TakeWork();
  for (const KernelCall& call : work.calls) {
    const std::string error = WhyMalformed(call);
    if (!error.empty()) throw NoKernel{fmt::format("{}: {}", ToString(call.kind), error)};
  }
  return work;
}

// Returns a tensor as contiguous bytes, for a proxy; they start at the tensor's layout offset.
Argument Bytes(const Graph& graph, const Op& op, bool is_output, int index, const OwnLayouts& own) {
  const int id = (is_output ? op.outputs : op.inputs)[index];
  const int64_t bytes = graph.tensor(id).bytes;
  Argument argument{
      .is_output = is_output, .index = index, .view = ContiguousView(DType::kBool, {bytes})};
  const TensorView layout = LayoutOf(graph, id, own);
  const int64_t storage = graph.tensor(graph.alias_root(id)).bytes;
  argument.view.shape[0] = std::min(bytes, storage);
  argument.view.offset =
      std::min(layout.offset * SizeOf(layout.dtype), storage - argument.view.shape[0]);
  return argument;
}

OpWork ProxyWork(const Graph& graph, const Op& op, const OwnLayouts& own) {
  KernelCall call{.kind = KernelKind::kProxy};
  call.params.alpha = op.flops;
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
    call.inputs.push_back(Bytes(graph, op, false, i, own));
  }
  for (int i = 0; i < static_cast<int>(op.outputs.size()); ++i) {
    call.outputs.push_back(Bytes(graph, op, true, i, own));
  }
  const auto drop_empty = [](std::vector<Argument>& arguments) {
    std::erase_if(arguments, [](const Argument& a) { return a.view.num_elements() == 0; });
  };
  drop_empty(call.inputs);
  drop_empty(call.outputs);
  return OpWork{.calls = {std::move(call)}};
}

}  // namespace

bool OpWork::is_proxy() const {
  return std::ranges::any_of(calls, &KernelCall::is_proxy);
}

OpWork WorkOf(const Graph& graph, int op, const OwnLayouts& own) {
  if (!HasWork(graph.op(op))) return {};
  try {
    return KernelWork(graph, op, own);
  } catch (const NoKernel&) {
    return ProxyWork(graph, graph.op(op), own);
  }
}

std::string WhyProxy(const Graph& graph, int op) {
  if (!HasWork(graph.op(op))) return "";
  try {
    KernelWork(graph, op, {});
    return "";
  } catch (const NoKernel& error) {
    return error.reason;
  }
}

}  // namespace emplace

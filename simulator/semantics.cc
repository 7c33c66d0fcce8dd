#include "simulator/semantics.h"

#include <iterator>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/op_order.h"
#include "framework/schedule/issue_order.h"
#include "simulator/engine/engine.h"
#include "simulator/reference/reference_internal.h"

namespace emplace {
namespace {

std::vector<int> InIdOrder(const Graph& graph) {
  std::vector<int> ids(graph.num_ops());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<int> InIssueOrder(const Graph& graph) {
  return IssueOrder(graph);
}

constexpr int kAnyHops = std::numeric_limits<int>::max();

constexpr SemanticsEntry kTable[] = {
    {.name = "queue",
     .meaning = "first come, first served",
     .op_order = &InIdOrder,
     .most_hops = kQueueMostHops,
     .make_engine = &MakeQueueEngine,
     .in_lanes = false,
     .simulate_reference = &reference::SimulateQueue,
     .add_reference_memory = &reference::AddQueueMemory},
    {.name = "stream",
     .meaning = "in-order streams",
     .op_order = &InIssueOrder,
     .has_issue_order = true,
     .most_hops = kAnyHops,
     .make_engine = &MakeStreamEngine,
     .in_lanes = true,
     .simulate_reference = &reference::SimulateStream,
     .add_reference_memory = &reference::AddStreamMemory},
    {.name = "interference",
     .meaning = "in-order streams that slow down one another",
     .op_order = &InIssueOrder,
     .has_issue_order = true,
     .most_hops = kAnyHops,
     .make_engine = &MakeInterferenceEngine,
     .in_lanes = false,
     .simulate_reference = &reference::SimulateInterference,
     .add_reference_memory = &reference::AddStreamMemory},
};

constexpr const SemanticsEntry& At(Semantics semantics) {
  return kTable[static_cast<size_t>(semantics)];
}
static_assert(At(Semantics::kQueue).name == "queue");
static_assert(At(Semantics::kStream).name == "stream");
static_assert(At(Semantics::kInterference).name == "interference");

// "a", "a or b", "a, b or c".
std::string Alternatives(const std::vector<std::string>& texts) {
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    joined += i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ";
    joined += texts[i];
  }
  return joined;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const SemanticsEntry& entry : kTable) names.emplace_back(entry.name);
  return names;
}

}  // namespace

std::vector<Semantics> AllSemantics() {
  std::vector<Semantics> all;
  for (size_t i = 0; i < std::size(kTable); ++i) all.push_back(static_cast<Semantics>(i));
  return all;
}

const SemanticsEntry& EntryOf(Semantics semantics) {
  EMPLACE_CHECK(static_cast<size_t>(semantics) < std::size(kTable));
  return At(semantics);
}

std::string_view ToString(Semantics semantics) {
  return EntryOf(semantics).name;
}

void RequireIssueOrder(const Graph& graph, std::span<const int> issue_order, Semantics semantics) {
  if (issue_order.empty()) return;
  if (!EntryOf(semantics).has_issue_order) {
    std::vector<std::string> choices;
    for (const SemanticsEntry& entry : kTable) {
      if (entry.has_issue_order) choices.emplace_back(entry.name);
    }
    throw InputError(fmt::format("issue order: {} semantics has none; expected {} semantics",
                                 ToString(semantics),
                                 Alternatives(choices)));
  }
  RequireOpOrder(graph, issue_order, "issue order");
}

Semantics ParseSemantics(std::string_view text, std::string_view where) {
  for (const Semantics semantics : AllSemantics()) {
    if (text == ToString(semantics)) return semantics;
  }
  ThrowUnknown(where, "semantics", text, Names());
}

std::string SemanticsNames() {
  return Alternatives(Names());
}

std::string SemanticsHelp() {
  std::vector<std::string> texts;
  for (const SemanticsEntry& entry : kTable) {
    texts.push_back(fmt::format("{} ({})", entry.name, entry.meaning));
  }
  return Alternatives(texts);
}

std::vector<int> OpOrder(const Graph& graph,
                         std::span<const int> issue_order,
                         Semantics semantics) {
  RequireIssueOrder(graph, issue_order, semantics);
  if (issue_order.empty()) return EntryOf(semantics).op_order(graph);
  return {issue_order.begin(), issue_order.end()};
}

}  // namespace emplace

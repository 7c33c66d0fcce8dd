#include "experiments/plan/plan_ranks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

bool IsBetter(const FoundPlan& a, const FoundPlan& b) {
  return std::pair(a.deficit, a.step_time) < std::pair(b.deficit, b.step_time);
}

// Returns an op with which ranks gather parameters; nullptr if there is none.
const Op* GatherOf(const Graph& step) {
  for (const Op& op : step.ops()) {
    const bool gathers = step.ranks() > 1 && op.kind == "collective.all_gather" &&
                         op.attributes.find("\"ahead\"") != std::string::npos;
    if (gathers) return &op;
  }
  return nullptr;
}

}  // namespace

PlanSearchResult SearchPlansOfRanks(const std::vector<PlanGraph>& graphs,
                                    const PlanSearchOptions& options) {
  // By ranks, whether they gather parameters, and the number among graphs of equal size.
  std::map<std::tuple<int, bool, int>, std::vector<int>> searches;
  std::map<std::tuple<int, bool, int>, int> count;  // by ranks, gathering and size
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const Graph& step = *graphs[g].setting.step;
    const bool gathers = GatherOf(step) != nullptr;
    const int number = count[{step.ranks(), gathers, graphs[g].size}]++;
    searches[{step.ranks(), gathers, number}].push_back(static_cast<int>(g));
  }
  if (searches.size() == 1) return SearchPlans(graphs, options);
  PlanSearchOptions share = options;
  share.seconds = options.seconds / static_cast<double>(searches.size());
  PlanSearchResult all;
  std::size_t most = 0;
  for (const auto& [key, numbers] : searches) {
    std::vector<PlanGraph> some;
    for (int g : numbers) some.push_back(graphs[g]);
    PlanSearchResult result = SearchPlans(some, share);
    most = std::max(most, result.plans.size());
    for (FoundPlan& plan : result.plans) plan.graph = numbers[plan.graph];
    const bool best =
        !result.plans.empty() && (all.plans.empty() || IsBetter(result.plans[0], all.plans[0]));
    if (best || all.layers.empty()) {
      all.layers = std::move(result.layers);
      all.layer_names = std::move(result.layer_names);
      all.placed = std::move(result.placed);
      all.moved = std::move(result.moved);
    }
    all.plans.insert(all.plans.end(), result.plans.begin(), result.plans.end());
    std::ranges::stable_sort(all.plans, IsBetter);
    for (UsualPlan& usual : result.usual) {
      usual.name += ", " + some[0].setting.where;
      if (usual.plan) usual.plan->graph = numbers[usual.plan->graph];
      all.usual.push_back(std::move(usual));
    }
    all.bound = std::min(all.bound, result.bound);
    all.num_degrees += result.num_degrees;
    all.too_large += result.too_large;
    all.bounded += result.bounded;
    all.too_long += result.too_long;
    all.simulated += result.simulated;
    all.complete = all.complete && result.complete;
  }
  if (!options.memory_only && all.plans.size() > most) all.plans.resize(most);
  return all;
}

int TensorParallelSize(const std::string& framework, const Graph& step) {
  const Op* gather = GatherOf(step);
  if (gather == nullptr) return step.ranks();
  throw InputError(
      fmt::format("--to {}: the ranks of {} gather their parameters (op \"{}\", fully_shard); "
                  "expected ranks that parallelize_module makes",
                  framework,
                  step.name(),
                  gather->name));
}

}  // namespace emplace

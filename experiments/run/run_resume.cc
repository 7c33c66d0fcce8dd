#include "experiments/run/run_resume.h"

#include <exception>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "experiments/console/existing_output.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/search_record.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

// Returns a value as one line; a list as "heft, random".
std::string OneLine(const ConfigNode& node) {
  const std::string text = std::regex_replace(node.Dump(), std::regex("^- |\\s+$"), "");
  return std::regex_replace(text, std::regex("\n *(- )?"), ", ");
}

// Returns the first key that differs between two maps, as "budget.steps (3 there, 4 now)"; or
// empty.
std::string FirstDifference(const ConfigNode& before, const ConfigNode& now) {
  for (const std::string& key : now.Keys()) {
    if (ChangesNoResult(key)) continue;
    const ConfigNode value = now.At(key);
    if (!before.Has(key)) return fmt::format("{} (none there, {} now)", key, OneLine(value));
    const ConfigNode earlier = before.At(key);
    if (earlier.Dump() == value.Dump()) continue;
    if (value.IsMap() && earlier.IsMap()) return key + "." + FirstDifference(earlier, value);
    return fmt::format("{} ({} there, {} now)", key, OneLine(earlier), OneLine(value));
  }
  for (const std::string& key : before.Keys()) {
    if (!now.Has(key)) return fmt::format("{} ({} there, none now)", key, OneLine(before.At(key)));
  }
  return "";
}

// Reads the search with this label. @return a result with status kFailed if it cannot be resumed
SearchResult ReadSearch(const ResultsReader& reader,
                        const std::string& label,
                        const LoadedProblem& problem) {
  const std::string group = "/agents/" + label, where = reader.name() + ": " + group;
  const auto search = ReadRecord<SearchRecord>(reader, group);
  SearchResult result{.label = label,
                      .seed = search.seed,
                      .status = SearchStatus::kFailed,
                      .steps = search.steps,
                      .bound = search.own_bound.value_or(0),
                      .seconds = search.seconds};
  for (const SearchStatus status :
       {SearchStatus::kFinished, SearchStatus::kBudget, SearchStatus::kStopped}) {
    if (search.status == ToString(status)) result.status = status;
  }
  if (result.status == SearchStatus::kFailed) return result;
  auto lists = ReadRecord<SearchLists>(reader, group);
  if (result.status == SearchStatus::kStopped) {
    result.checkpoint = std::move(lists.checkpoint.text);
    if (result.checkpoint.empty()) result.status = SearchStatus::kFailed;
  }
  for (const EvaluationRow& row : lists.evaluations) result.records.push_back(row.record);
  result.updates = std::move(lists.updates);
  if (search.best && lists.best) {
    const Problem& exact = *problem.exact;
    const std::string best = where + "/best";
    const auto devices = lists.best->Devices(exact.num_ops(), exact.num_devices(), best);
    result.best = {
        .placement = ContractPlacement(
            devices, exact.grouping(), exact.graph(), exact.cluster(), best + "/placement"),
        .outcome = search.best->ToOutcome(exact.num_devices(), best + "/outcome"),
        .index = search.best->evaluation,
        .issue_order = lists.best->IssueOrder(problem.searched->graph(), best)};
  }
  return result;
}

}  // namespace

void RequireSameSettings(const std::string& before,
                         const std::string& now,
                         const std::string& what,
                         const std::string& name) {
  if (before == now) return;
  const std::string difference =
      FirstDifference(ConfigNode::FromString(before, name), ConfigNode::FromString(now, what));
  if (difference.empty()) return;
  throw InputError(fmt::format(
      "{}: was made with another {}, see {}; give the same, or name another file with -o",
      name,
      what,
      difference));
}

void RequireLoadable(Stateful& made, const std::string& checkpoint, const std::string& where) {
  std::istringstream saved(checkpoint);
  try {
    made.Load(saved);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}/checkpoint: {}", where, error.what()));
  }
}

EarlierSearches ReadEarlierSearches(const std::filesystem::path& results,
                                    const RunPlan& plan,
                                    const LoadedProblem& problem) {
  const ResultsReader reader(results);
  const std::string name = results.string();
  RequireSameSettings(reader.Text("/config", "yaml"), plan.ResolvedYaml(), "config", name);
  const std::string changes = DescribeChanges(reader, IdOf(plan, problem), *problem.exact);
  if (!changes.empty()) {
    throw InputError(fmt::format(
        "{}: was made with {}; restore it, or name another file with -o", name, changes));
  }
  EarlierSearches searches;
  for (const AgentSpec& spec : plan.agents) {
    for (const std::uint64_t seed : plan.seeds) {
      const std::string label = SearchLabel(spec, seed);
      const std::string group = "/agents/" + label, where = name + ": " + group;
      if (!reader.Has(group) || searches.contains(label)) continue;
      RequireSameSettings(reader.Text(group, "settings"),
                          spec.entry->resolve_settings(spec.settings),
                          "setting of " + label,
                          name);
      SearchResult result = ReadSearch(reader, label, problem);
      if (result.status == SearchStatus::kFailed) continue;
      if (!result.checkpoint.empty()) {  // before anything is written
        const auto agent = spec.entry->make({problem.searched, result.seed}, spec.settings);
        RequireLoadable(*agent, result.checkpoint, where);
      }
      searches[label] = std::move(result);
    }
  }
  return searches;
}

SearchResult MakeOrResume(const RunPlan& plan,
                          const AgentSpec& spec,
                          std::uint64_t seed,
                          const LoadedProblem& problem,
                          const SimulatorOptions& simulator,
                          const EarlierSearches& searches,
                          Observers observers,
                          ReplicatedSearch* replicated) {
  const auto found = searches.find(SearchLabel(spec, seed));
  const SearchResult* earlier = found != searches.end() ? &found->second : nullptr;
  if (earlier != nullptr && earlier->checkpoint.empty()) return *earlier;
  std::optional<SearchResult> last;  // last checkpoint
  std::exception_ptr unwritable;
  const auto write = observers.write;
  if (write) {
    observers.write = [&](const SearchResult& checkpoint) {
      try {
        write(checkpoint);
      } catch (...) {
        unwritable = std::current_exception();
        throw;
      }
      last = checkpoint;
    };
  }
  SearchResult result = RunSearch(problem.searched,
                                  simulator,
                                  spec,
                                  seed,
                                  plan.budget,
                                  earlier,
                                  observers,
                                  plan.config.gpu,
                                  replicated);
  if (unwritable) std::rethrow_exception(unwritable);
  if (result.status == SearchStatus::kNotBegun) return result;
  // A search that was stopped within a step cannot resume later than at its last checkpoint.
  const bool is_cut = result.status == SearchStatus::kStopped && last &&
                      (result.checkpoint.empty() || result.steps < last->steps);
  if (is_cut) return *std::move(last);
  if (write) write(result);
  return result;
}

}  // namespace emplace

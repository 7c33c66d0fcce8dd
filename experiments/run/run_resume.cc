#include "experiments/run/run_resume.h"

#include <cmath>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "experiments/console/existing_output.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_reader.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

// A value as one line; a list as "heft, random".
std::string OneLine(const ConfigNode& node) {
  const std::string text = std::regex_replace(node.Dump(), std::regex("^- |\\s+$"), "");
  return std::regex_replace(text, std::regex("\n *(- )?"), ", ");
}

// The first key of two maps that differs, as "budget.steps (3 there, 4 now)"; or empty.
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

std::vector<EvaluationRecord> ReadEvaluations(const ResultsReader& reader,
                                              const std::string& dataset,
                                              const std::string& where) {
  const std::vector<TableColumn> table = reader.Table(dataset);
  const auto wall = ColumnOf<double>(table, "wall_seconds", where);
  const auto time = ColumnOf<std::int64_t>(table, "step_time_ns", where);
  const auto best = ColumnOf<double>(table, "best_step_time_ns", where);
  const auto feasible = ColumnOf<std::int64_t>(table, "feasible", where);
  std::vector<EvaluationRecord> records;
  for (size_t i = 0; i < wall.size(); ++i) {
    const Nanos best_time = std::isnan(best[i]) ? kMaxNanos : static_cast<Nanos>(best[i]);
    records.push_back({wall[i], time[i], best_time, feasible[i] != 0});
  }
  return records;
}

MeteredEvaluator::Best ReadBest(const ResultsReader& reader,
                                const std::string& group,
                                const LoadedProblem& problem,
                                const std::string& where) {
  const Problem& exact = *problem.exact;
  MeteredEvaluator::Best best;
  std::vector<DeviceIndex> devices;
  for (const std::int64_t device : reader.Ints(group + "/placement")) {
    if (device < 0 || device >= exact.num_devices()) {
      throw InputError(fmt::format(
          "{}/placement: expected devices below {}, got {}", where, exact.num_devices(), device));
    }
    devices.push_back(static_cast<DeviceIndex>(device));
  }
  if (static_cast<int>(devices.size()) != exact.num_ops()) {
    throw InputError(fmt::format(
        "{}/placement: expected {} devices, got {}", where, exact.num_ops(), devices.size()));
  }
  best.placement = ContractPlacement(
      devices, exact.grouping(), exact.graph(), exact.cluster(), where + "/placement");
  if (reader.Has(group + "/issue_order")) {
    best.issue_order = ReadIssueOrder(
        reader, group + "/issue_order", problem.searched->graph(), where + "/issue_order");
  }
  const std::string outcome = group + "/outcome";
  best.outcome.step_time = reader.Int(outcome, "step_time_ns");
  best.outcome.feasible = reader.Int(outcome, "feasible") != 0;
  best.index = reader.Int(outcome, "evaluation");
  const auto busy = reader.Ints(outcome + "/busy_ns"), peak = reader.Ints(outcome + "/peak_bytes"),
             deficit = reader.Ints(outcome + "/deficit_bytes");
  const auto count = static_cast<size_t>(exact.num_devices());
  if (busy.size() != count || peak.size() != count || deficit.size() != count) {
    throw InputError(fmt::format("{}/outcome: expected numbers of {} devices", where, count));
  }
  for (size_t d = 0; d < count; ++d) {
    best.outcome.devices.push_back({busy[d], peak[d], deficit[d]});
  }
  return best;
}

// @return a result with status failed if there is nothing to go on from
SearchResult ReadSearch(const ResultsReader& reader,
                        const std::string& group,
                        const LoadedProblem& problem,
                        const std::string& where) {
  SearchResult result;
  result.status = SearchStatus::kFailed;
  const std::string status = reader.Text(group, "status");
  if (status == ToString(SearchStatus::kFinished)) result.status = SearchStatus::kFinished;
  if (status == ToString(SearchStatus::kBudget)) result.status = SearchStatus::kBudget;
  if (status == ToString(SearchStatus::kStopped) && reader.Has(group + "/checkpoint")) {
    const std::vector<std::string> saved = reader.Strings(group + "/checkpoint");
    if (saved.size() != 1) throw InputError(where + "/checkpoint: expected one text");
    result.status = SearchStatus::kStopped;
    result.checkpoint = saved[0];
  }
  if (result.status == SearchStatus::kFailed) return result;
  result.steps = reader.Int(group, "steps");
  result.seconds = reader.Double(group, "seconds");
  if (reader.HasAttribute(group, "bound_ns")) result.bound = reader.Int(group, "bound_ns");
  result.records = ReadEvaluations(reader, group + "/evaluations", where + "/evaluations");
  if (reader.Has(group + "/updates")) {
    result.updates = ReadUpdates(reader, group + "/updates", where + "/updates");
  }
  if (reader.Has(group + "/best")) {
    result.best = ReadBest(reader, group + "/best", problem, where + "/best");
  }
  return result;
}

// Refuses a checkpoint that the agent cannot load, before anything is written.
void RequireLoadable(const AgentSpec& spec,
                     const LoadedProblem& problem,
                     const SearchResult& result,
                     const std::string& where) {
  std::istringstream saved(result.checkpoint);
  try {
    spec.entry->make({problem.searched, result.seed}, spec.settings)->Load(saved);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}/checkpoint: {}", where, error.what()));
  }
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
  throw InputError(
      fmt::format("{}: was made with another {}, see {}; give the same, or name another file with "
                  "-o",
                  name,
                  what,
                  difference));
}

UpdateTable ReadUpdates(const ResultsReader& reader,
                        const std::string& dataset,
                        const std::string& where) {
  UpdateTable updates;
  const std::vector<TableColumn> table = reader.Table(dataset);
  std::vector<std::vector<double>> columns;
  for (const TableColumn& column : table) {
    updates.columns.push_back(column.name);
    columns.push_back(ColumnOf<double>(table, column.name, where));
  }
  for (size_t row = 0; !columns.empty() && row < columns[0].size(); ++row) {
    for (const std::vector<double>& column : columns) updates.values.push_back(column[row]);
  }
  return updates;
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
      SearchResult result = ReadSearch(reader, group, problem, where);
      if (result.status == SearchStatus::kFailed) continue;
      result.label = label;
      result.seed = static_cast<std::uint64_t>(reader.Int(group, "seed"));
      if (!result.checkpoint.empty()) RequireLoadable(spec, problem, result, where);
      searches[label] = std::move(result);
    }
  }
  return searches;
}

}  // namespace emplace

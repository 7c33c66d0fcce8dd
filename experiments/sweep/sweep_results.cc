#include "experiments/sweep/sweep_results.h"

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/run/run_results.h"
#include "experiments/run/run_resume.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

std::string ProgramOf(const ResultsReader& reader) {
  return ProgramText(ReadRecord<Provenance>(reader, "/config"));
}

// Returns the other programs that have written to the file: "0.1.0 (commit 1ae1b4c), 0.2.0 (commit
// 0e25bb1)".
std::string EarlierPrograms(const fs::path& path, const Provenance& now) {
  const ResultsReader reader(path);
  const bool has_others = reader.HasAttribute("/config", "earlier_programs");
  const std::string others = has_others ? reader.Text("/config", "earlier_programs") : "";
  const std::string last = ProgramOf(reader);
  if (last == ProgramText(now) || others.ends_with(last)) return others;
  return others + (has_others ? ", " : "") + last;
}

// Writes the file from scratch each time, because HDF5 would keep the replaced texts.
void Write(const SweepTask& task,
           const Provenance& provenance,
           const SearchResult& result,
           const LowerBound& bound,
           const std::optional<SingleDevice>& single = {},
           const std::string& earlier_programs = "") {
  ResultsFile file(task.path);
  const LoadedProblem& problem = task.problem->problem;
  WriteRunHeader(file, task.plan, problem, task.problem->bounds, provenance);
  file.SetAttribute("/config", "sweep", task.plan.name);
  file.SetAttribute("/config", "run", task.title);
  if (!earlier_programs.empty()) {
    file.SetAttribute("/config", "earlier_programs", earlier_programs);
  }
  WriteBestSingleDevice(file, single);
  const AgentSpec& agent = task.plan.agents[0];
  WriteSearch(file, problem, agent, task.plan.config.steps_per_measurement, result);
  WriteBound(file, LargerOf(bound, {result.bound, agent.entry->name}), FittingTime(result));
  file.Commit();
}

}  // namespace

std::string ProgramText(const Provenance& provenance) {
  return fmt::format("{} (commit {})", provenance.version, provenance.commit);
}

ResultRun ReadRunState(const fs::path& path, const std::string& label) {
  ResultRun state;
  if (!fs::exists(path)) return state;
  const ResultsReader reader(path);
  const std::string group = "/agents/" + label;
  static_cast<SearchRecord&>(state) = ReadRecord<SearchRecord>(reader, group);
  state.program = ProgramOf(reader);
  state.progress = ProgressOf(state.status);
  if (state.progress == RunProgress::kStopped && !reader.Has(group + "/checkpoint")) {
    state.progress = RunProgress::kNew;
  }
  return state;
}

ResultRun ResumeRunState(const fs::path& path, const std::string& label) {
  try {
    return ReadRunState(path, label);
  } catch (const DamagedError& error) {
    const fs::path aside = path.string() + ".damaged";
    std::error_code failure;
    fs::rename(path, aside, failure);
    if (failure) {
      throw RunError(fmt::format("{}; it cannot be renamed: {}", error.what(), failure.message()));
    }
    PrintWarning(fmt::format("{}; the file is kept as {} and its run starts again",
                             error.what(),
                             aside.filename().string()));
    return {};
  }
}

RunProgress RunSweepTask(const SweepTask& task, double checkpoint_seconds) {
  const LoadedProblem& problem = task.problem->problem;
  EarlierSearches searches;
  LowerBound bound = task.problem->bounds.proven;
  if (fs::exists(task.path)) {
    searches = ReadEarlierSearches(task.path, task.plan, problem);
    bound = LargerOf(bound, ReadBound(ResultsReader(task.path)));
  }
  Provenance provenance = task.provenance;
  provenance.date = UtcNow();
  const std::string others =
      searches.contains(task.label()) ? EarlierPrograms(task.path, provenance) : "";
  const SimulatorOptions simulator = task.plan.SimulatorFor(*problem.searched);
  std::optional<SingleDevice> single;
  bool written = false;
  const auto write = [&](const SearchResult& result) {
    // The error that failed the search may occur here again.
    if (!written && result.status != SearchStatus::kFailed) {
      single = BestSingleDevice(problem.searched, simulator);
    }
    Write(task, provenance, result, bound, single, others);
    written = true;
  };
  const SearchResult result = MakeOrResume(task.plan,
                                           task.plan.agents[0],
                                           task.plan.seeds[0],
                                           problem,
                                           simulator,
                                           searches,
                                           {checkpoint_seconds, write});
  return ProgressOf(ToString(result.status));
}

void WriteFailure(const SweepTask& task, const std::string& error) {
  if (ReadRunState(task.path, task.label()).progress == RunProgress::kStopped) {
    ResultsFile file(task.path, ResultsMode::kExtend);
    file.SetAttribute("/agents/" + task.label(), "error", error);
    file.Commit();
    return;
  }
  Provenance provenance = task.provenance;
  provenance.date = UtcNow();
  SearchResult result;
  result.label = task.label();
  result.seed = task.plan.seeds[0];
  result.status = SearchStatus::kFailed;
  result.error = error;
  Write(task, provenance, result, task.problem->bounds.proven);
}

}  // namespace emplace

#include "experiments/table/table_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/console/output.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_config.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_results.h"
#include "experiments/run/search_run.h"
#include "experiments/stress/stress_results.h"
#include "experiments/table/run_keys.h"
#include "framework/base/error.h"
#include "framework/base/path_part.h"
#include "framework/base/version.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kSweepVersion = 2;

std::string ValueAt(ConfigNode node, std::string_view path) {
  for (size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
    if (!node.Has(path.substr(0, dot))) return "";
    node = node.At(path.substr(0, dot));
  }
  return node.Has(path) ? FlowText(node.At(path)) : "";
}

std::map<std::string, std::string> KeysOf(const ConfigNode& config) {
  std::map<std::string, std::string> keys;
  for (const std::string& key : RunKeys()) {
    if (std::string value = ValueAt(config, key); !value.empty()) keys[key] = std::move(value);
  }
  // Configs omit these keys at their defaults.
  keys.try_emplace("priority", RunConfig{}.priority);
  keys.try_emplace("start", RunConfig{}.start);
  return keys;
}

void ReadSearch(const ResultsReader& reader, const std::string& group, ResultRun& run) {
  run.group = group;
  static_cast<SearchRecord&>(run) = ReadRecord<SearchRecord>(reader, group);
  run.progress = ProgressOf(run.status);
  if (run.best) {
    run.noise_regret = ReadNoiseRegret(reader, run.agent);
    run.best_ns = run.best->feasible ? static_cast<double>(run.best->step_time)
                                     : std::numeric_limits<double>::infinity();
  } else if (run.progress == RunProgress::kDone) {
    run.progress = RunProgress::kFailed;
    run.error = "evaluated no placement";
  }
}

// Files of earlier programs do not contain the number: their runs had one process.
std::int64_t RanksOf(const ResultsReader& reader) {
  return reader.HasAttribute("/config", "ranks") ? reader.Int("/config", "ranks") : 1;
}

double BestSingleDeviceOf(const ResultsReader& reader) {
  const std::optional<SingleDevice> best = ReadBestSingleDevice(reader);
  return best ? static_cast<double>(best->step_time) : std::numeric_limits<double>::quiet_NaN();
}

// Gives runs of one problem the largest bound in their files and the best step time of all.
void ShareWhatIsKnown(std::vector<ResultRun>& runs) {
  struct Known {
    LowerBound bound;
    double best_ns = std::numeric_limits<double>::infinity();
  };
  std::map<ProblemId, Known> problems;
  for (const ResultRun& run : runs) {
    if (!run.problem) continue;  // has no file yet
    Known& known = problems[*run.problem];
    known.bound = LargerOf(known.bound, run.bound);
    if (run.progress == RunProgress::kDone) known.best_ns = std::min(known.best_ns, run.best_ns);
  }
  for (ResultRun& run : runs) {
    if (!run.problem) continue;
    const Known& known = problems[*run.problem];
    run.bound = known.bound;
    run.best_known_ns = known.best_ns;
  }
}

void AppendFile(const fs::path& file, std::vector<ResultRun>& runs) {
  const ResultsReader reader(file);
  const std::vector<std::string> labels = reader.Children("/agents");
  if (labels.empty()) {
    throw InputError(fmt::format(
        "{}: holds no run of an agent; expected a file of `emplace run` or `emplace sweep`",
        file.string()));
  }
  const ConfigNode config = ConfigNode::FromString(reader.Text("/config", "yaml"), file.string());
  ResultRun run;
  run.file = file;
  run.keys = KeysOf(config);
  run.problem = ReadProblemId(reader);
  run.bound = ReadBound(reader);
  run.ranks = RanksOf(reader);
  run.best_single_device_ns = BestSingleDeviceOf(reader);
  for (const std::string& label : labels) {
    run.title = fmt::format("{}: {}", file.string(), label);
    ReadSearch(reader, "/agents/" + label, run);
    runs.push_back(run);
  }
}

// A sweep may replace the file meanwhile; the opened file stays complete.
void ReadSweepRun(ResultRun& run) {
  const ResultsReader reader(run.file);
  const std::vector<std::string> labels = reader.Children("/agents");
  if (labels.size() != 1) {
    throw InputError(fmt::format("{}: holds {} runs; expected one, of agent {}",
                                 run.file.string(),
                                 labels.size(),
                                 run.agent));
  }
  if (reader.HasAttribute("/config", "run")) run.title = reader.Text("/config", "run");
  const std::string agent = run.agent;
  const std::uint64_t seed = run.seed;
  run.problem = ReadProblemId(reader);
  run.bound = ReadBound(reader);
  run.ranks = RanksOf(reader);
  run.best_single_device_ns = BestSingleDeviceOf(reader);
  ReadSearch(reader, "/agents/" + labels[0], run);
  if (run.agent != agent || run.seed != seed) {
    throw InputError(
        fmt::format("{}: holds agent {} with seed {}; expected {} with seed {}, as in the sweep",
                    run.file.string(),
                    run.agent,
                    run.seed,
                    agent,
                    seed));
  }
}

void AppendSweep(const fs::path& folder, std::vector<ResultRun>& runs) {
  const fs::path frozen = folder / "sweep.yaml";
  if (!fs::exists(frozen)) {
    throw InputError(
        fmt::format("{}: holds no sweep.yaml; expected the folder of a sweep, or results files",
                    folder.string()));
  }
  const ConfigNode root = ConfigNode::FromFile(frozen);
  if (!root.IsMap() || !root.Has("format") || root.At("format").AsString() != "emplace-sweep") {
    throw InputError(frozen.string() + ": is not a frozen sweep");
  }
  const ConfigNode version = root.At("version");
  const std::string wrong = WhyUnreadable(version.AsInt(), kSweepVersion);
  if (!wrong.empty()) version.Fail(wrong);
  std::map<std::string, std::map<std::string, std::string>> keys;
  for (const std::string& config : root.At("configs").Keys()) {
    keys[config] = KeysOf(root.At("configs").At(config));
  }
  for (const std::string& index : root.At("runs").Keys()) {
    const ConfigNode node = root.At("runs").At(index);
    const ConfigNode config = node.At("config");
    const auto found = keys.find(config.AsString());
    if (found == keys.end()) config.Fail("this config does not exist");
    ResultRun run;
    const ConfigNode file = node.At("file");
    if (!IsPathBelow(file.AsString())) {
      file.Fail(
          fmt::format("expected a file in the folder of the sweep, got \"{}\"", file.AsString()));
    }
    run.file = folder / file.AsString();
    run.keys = found->second;
    run.agent = node.At("agent").AsString();
    run.seed = static_cast<std::uint64_t>(node.At("seed").AsInt());
    run.title = fmt::format("#{} {} with seed {}", index, run.agent, run.seed);
    try {
      std::error_code ignored;  // a name may be too long for the system
      if (fs::exists(run.file, ignored)) ReadSweepRun(run);
    } catch (const DamagedError& error) {
      run.progress = RunProgress::kFailed;
      run.error = error.what();
    }
    runs.push_back(std::move(run));
  }
}

}  // namespace

const std::string* FindRunKey(const ResultRun& run, const std::string& key) {
  if (key == "agent") return &run.agent;
  const auto found = run.keys.find(key);
  return found != run.keys.end() ? &found->second : nullptr;
}

ResultRuns ReadResultRuns(const std::vector<fs::path>& paths) {
  ResultRuns result;
  std::error_code ignored;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path, ignored)) {
      AppendSweep(path, result.runs);
      if (paths.size() == 1 && fs::exists(path / "table.yaml")) result.layout = path / "table.yaml";
    } else {
      AppendFile(path, result.runs);
    }
    result.sources.push_back(path.string());
  }
  ShareWhatIsKnown(result.runs);
  return result;
}

const ResultRun* ProblemRuns::Best(const std::string& agent) const {
  const ResultRun* best = nullptr;
  for (const ResultRun* run : runs) {
    if (run->progress != RunProgress::kDone) continue;
    if (!agent.empty() && run->agent != agent && LabelOf(*run) != agent) continue;
    if (best == nullptr || run->best_ns < best->best_ns) best = run;
  }
  return best;
}

std::vector<fs::path> ProblemRuns::Files() const {
  std::vector<fs::path> files;
  for (const ResultRun* run : runs) {
    if (run->group.empty()) continue;
    if (std::ranges::find(files, run->file) == files.end()) files.push_back(run->file);
  }
  return files;
}

std::vector<ProblemRuns> RunsByProblem(const ResultRuns& results) {
  std::vector<ProblemRuns> problems;
  std::map<ProblemId, size_t> index;
  for (const ResultRun& run : results.runs) {
    if (run.group.empty()) {
      if (!run.error.empty()) PrintWarning(run.error + "; left out");
      continue;
    }
    const auto [at, is_new] = index.emplace(*run.problem, problems.size());
    if (is_new) {
      problems.push_back(
          {fmt::format("{} on {}", *FindRunKey(run, "graph"), *FindRunKey(run, "cluster")), {}});
    }
    problems[at->second].runs.push_back(&run);
  }
  return problems;
}

std::string LabelOf(const ResultRun& run) {
  constexpr std::string_view kAgents = "/agents/";
  return run.group.empty() ? run.agent : run.group.substr(kAgents.size());
}

std::vector<BestSoFar> ReadBestSoFar(const ResultRun& run) {
  const ResultsReader reader(run.file);
  double hardware_seconds = 0;
  std::vector<BestSoFar> improvements;
  for (const auto& [index, record] : ReadRecord<EvaluationsRecord>(reader, run.group).evaluations) {
    if (record.feasible) {
      hardware_seconds += static_cast<double>(run.steps_per_measurement) *
                          static_cast<double>(record.step_time) / 1e9;
    }
    if (record.best_step_time == kMaxNanos) continue;
    const auto best = static_cast<double>(record.best_step_time);
    if (improvements.empty() || best < improvements.back().best_ns) {
      improvements.push_back({index + 1, best, record.wall_seconds, hardware_seconds});
    }
  }
  return improvements;
}

}  // namespace emplace

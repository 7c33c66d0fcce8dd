#include "experiments/sweep/frozen_sweep.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "experiments/run/run_problem.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/version.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// The file as text. There may be tens of thousands of runs, so only the requested ones are parsed.
struct FrozenText {
  std::string name;                    // of the file
  std::string head;                    // configs, problems, agents
  std::vector<std::string_view> runs;  // a line each: "  3: {file: ...}  # graph=..."
  std::string text;

  explicit FrozenText(const fs::path& folder)
      : name((folder / "sweep.yaml").string()), text(ReadFile(name)) {
    const std::string_view all = text;
    const size_t begin = all.find(kSweepRuns);
    if (all.find(kSweepFormat) == std::string_view::npos || begin == std::string_view::npos) {
      throw InputError(name + ": is not a frozen sweep");
    }
    head = all.substr(0, begin + 1);
    for (size_t at = begin + kSweepRuns.size(); at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      runs.push_back(all.substr(at, end - at));
      at = end + 1;
    }
  }
  FrozenText(const FrozenText&) = delete;
  FrozenText& operator=(const FrozenText&) = delete;
};

int ParseRun(std::string_view digits, const std::string& text, int num_runs) {
  int run = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), run);
  if (error != std::errc() || end != digits.data() + digits.size() || run < 0 || run >= num_runs) {
    throw InputError(
        fmt::format("--runs: expected numbers from 0 to {} as in 0-99,103, got \"{}\" in \"{}\"",
                    num_runs - 1,
                    digits,
                    text));
  }
  return run;
}

// One line of `runs`.
struct FrozenRun {
  ConfigNode entry;
  int config = 0;  // number in the file
  std::string description;
};

FrozenRun ReadFrozenRun(const FrozenText& frozen, int run) {
  const std::string line(frozen.runs[run]);
  FrozenRun read;
  read.entry = ConfigNode::FromString(line, frozen.name).At(std::to_string(run));
  read.config = static_cast<int>(read.entry.At("config").AsInt());
  read.description = line.substr(line.find("  # ") + 4);
  return read;
}

int FindAgent(const RunPlan& plan, const ConfigNode& label) {
  for (int agent = 0; agent < std::ssize(plan.agents); ++agent) {
    if (plan.agents[agent].label == label.AsString()) return agent;
  }
  label.Fail("is not an agent of the run's config");
}

// Checks that the files of a worker are those that the sweep was frozen with.
void RequireFrozenProblem(const ConfigNode& then, const ProblemId& now, const Problem& problem) {
  for (const ProblemPart part : kAllParts) {
    const ConfigNode frozen = then.At(IdKey(part));
    if (frozen.AsInt() == now[part]) continue;
    frozen.Fail("the sweep was frozen with another version of " + PartText(part, problem));
  }
}

}  // namespace

std::vector<int> ParseRuns(const std::string& text, int num_runs) {
  std::vector<int> runs;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const size_t dash = part.find('-');
    const int first = ParseRun(part.substr(0, dash), text, num_runs);
    const int last =
        dash == std::string_view::npos ? first : ParseRun(part.substr(dash + 1), text, num_runs);
    if (!runs.empty() && first <= runs.back()) {
      throw InputError(fmt::format("--runs: expected ascending numbers, got \"{}\"", text));
    }
    if (last < first) {
      throw InputError(fmt::format("--runs: {}-{} is empty in \"{}\"", first, last, text));
    }
    for (int run = first; run <= last; ++run) runs.push_back(run);
  }
  if (runs.empty()) throw InputError("--runs: expected numbers as in 0-99,103, got none");
  return runs;
}

std::string RunsText(const std::vector<int>& runs) {
  std::string text;
  for (size_t begin = 0; begin < runs.size();) {
    size_t end = begin + 1;
    while (end < runs.size() && runs[end] == runs[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", runs[begin]);
    if (end > begin + 1) text += fmt::format("-{}", runs[end - 1]);
    begin = end;
  }
  return text;
}

int CountFrozenRuns(const fs::path& folder) {
  return static_cast<int>(FrozenText(folder).runs.size());
}

Sweep ReadFrozenSweep(const fs::path& folder,
                      const std::vector<int>& runs,
                      const fs::path& beside,
                      const AgentRegistry& registry) {
  const FrozenText frozen(folder);
  const ConfigNode head = ConfigNode::FromString(frozen.head, frozen.name);
  const ConfigNode version = head.At("version");
  const std::string wrong = WhyUnreadable(version.AsInt(), kSweepVersion);
  if (!wrong.empty()) version.Fail(wrong);

  SweepPlan plan;
  plan.name = head.At("name").AsString();
  plan.runs.resize(frozen.runs.size());
  std::map<int, int> places;  // indices in plan.configs of the configs in use
  for (const int run : runs) {
    const FrozenRun read = ReadFrozenRun(frozen, run);
    const auto [place, is_new] = places.emplace(read.config, std::ssize(plan.configs));
    if (is_new) {
      plan.configs.push_back(MakeRunPlan(
          head.At("configs").At(std::to_string(read.config)), plan.name, beside, registry));
    }
    plan.runs[run] = {place->second,
                      FindAgent(plan.configs[place->second], read.entry.At("agent")),
                      static_cast<std::uint64_t>(read.entry.At("seed").AsInt()),
                      read.description};
  }
  SweepProblems problems = LoadSweepProblems(plan);
  for (const auto& [config, place] : places) {
    const LoadedProblem& problem = problems.problems[problems.of_config[place]].problem;
    RequireFrozenProblem(head.At("problems").At(std::to_string(config)),
                         IdOf(plan.configs[place], problem),
                         *problem.exact);
  }
  const int num_runs = static_cast<int>(plan.runs.size());
  return {std::move(plan), std::move(problems), SweepFolder(folder, num_runs), CollectProvenance()};
}

}  // namespace emplace

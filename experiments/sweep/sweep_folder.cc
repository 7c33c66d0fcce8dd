#include "experiments/sweep/sweep_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "experiments/console/existing_output.h"
#include "experiments/console/output.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_resume.h"
#include "experiments/sweep/run_board.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/version.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// Workers die with a killed sweep, but perhaps with a delay, for example in a disk access.
constexpr auto kPatience = std::chrono::seconds(60);

// Indents block YAML as the value of a key of the second level.
std::string Indented(const std::string& yaml) {
  std::string text;
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t end = std::min(yaml.find('\n', begin), yaml.size());
    text += "    " + yaml.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string Absolute(const fs::path& path) {
  return QuoteYaml(path.empty() ? "" : fs::absolute(path).lexically_normal().string());
}

// Returns whether the file is temporary, left by a killed ResultsFile or WriteFileAtomically().
bool IsTemporary(const fs::path& path) {
  static const std::regex pattern(R"(\.((sweep|table)\.yaml|\d+\.h5)\..*\.tmp)");
  return std::regex_match(path.filename().string(), pattern);
}

void RemoveTemporaries(const SweepFolder& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.path(), ignored)) {
    if (IsTemporary(entry.path())) fs::remove(entry.path(), ignored);
  }
  for (const auto& entry : fs::directory_iterator(folder.path() / "runs", ignored)) {
    if (!IsTemporary(entry.path())) continue;
    const int run = std::atoi(entry.path().filename().c_str() + 1);  // ".0003.h5.0.tmp"
    const std::optional<RunClaim> claim = RunBoard(folder.board(), folder.num_runs()).Claim(run);
    if (claim) fs::remove(entry.path(), ignored);  // else a worker is writing it
  }
}

[[noreturn]] void ThrowLock(const SweepFolder& folder, const char* what, std::error_code why) {
  throw RunError(fmt::format("{}: cannot be {}: {}", folder.lock().string(), what, why.message()));
}

bool TryLock(const SweepFolder& folder, const LockFile& lock) {
  try {
    return lock.TryLock();
  } catch (const std::system_error& problem) {
    ThrowLock(folder, "locked", problem.code());
  }
}

bool IsLock(const fs::path& path) {
  if (!fs::is_regular_file(path)) return false;
  const std::string text = ReadFile(path);
  return text.empty() || LockHolder::Parse(text);
}

// Refuses a folder with files that do not belong to a sweep, before anything is written.
void RequireSweepOrEmpty(const SweepFolder& folder) {
  if (fs::exists(folder.frozen())) {
    if (ReadFile(folder.frozen()).find(kSweepFormat) != std::string::npos) return;
    throw InputError(folder.frozen().string() +
                     ": is not a frozen sweep; name another folder with -o");
  }
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const fs::path& path = entry.path();
    if (IsTemporary(path) || (path == folder.lock() && IsLock(path)) ||
        (path == folder.path() / "runs" && fs::is_directory(path) && fs::is_empty(path))) {
      continue;
    }
    throw InputError(fmt::format("{}: holds {}; expected an empty folder or that of a sweep",
                                 folder.path().string(),
                                 path.string()));
  }
}

void RequireSameSweep(const SweepFolder& folder, const std::string& frozen) {
  const std::string name = folder.frozen().string(), there = ReadFile(folder.frozen());
  if (there == frozen) return;
  const ConfigNode root = ConfigNode::FromString(there, name);
  const ConfigNode version = root.At("version");
  const std::string wrong = WhyUnreadable(version.AsInt(), kSweepVersion);
  if (!wrong.empty()) version.Fail(wrong);
  const auto head = [](const std::string& text) { return text.substr(0, text.find(kSweepRuns)); };
  RequireSameSettings(head(there), head(frozen), "sweep", name);
  throw InputError(name + ": was made with another sweep; name another folder with -o");
}

}  // namespace

SweepFolder::SweepFolder(fs::path path, int num_runs)
    : path_(std::move(path)),
      num_runs_(num_runs),
      digits_(std::max<int>(4, static_cast<int>(std::to_string(num_runs - 1).size()))) {
}

std::string SweepFolder::RunName(int index) const {
  return fmt::format("runs/{:0{}}.h5", index, digits_);
}

FolderLock::FolderLock(const SweepFolder& folder) {
  const std::string name = folder.path().string();
  CreateFolder(folder.path());
  RequireSweepOrEmpty(folder);
  const auto read_holder = [&] { return LockHolder::Parse(ReadFile(folder.lock())); };
  try {
    lock_.emplace(folder.lock());
  } catch (const std::system_error& problem) {
    ThrowLock(folder, "written", problem.code());
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!TryLock(folder, *lock_)) {
    const auto holder = read_holder();  // none between the lock and the write of its name
    if ((holder && holder->may_live()) || std::chrono::steady_clock::now() > end) {
      throw InputError(fmt::format(
          "{}: another emplace is running in it ({}); wait for its end{}, or name another folder "
          "with -o",
          name,
          holder ? holder->Text() : "its name is not known yet",
          holder && holder->is_elsewhere()
              ? " (the file server releases the lock of a machine that is down after some time)"
              : ""));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (const auto last = read_holder(); last && last->is_elsewhere()) {
    PrintWarning(
        fmt::format("{}: {} did not finish its sweep here; make sure that it does not run any "
                    "more, because some network file systems keep locks within one machine",
                    name,
                    last->Text()));
  }
  owner_ = LockHolder::ThisProcess().Text();
  if (!lock_->Write(owner_)) ThrowLock(folder, "written", {errno, std::generic_category()});
}

FolderLock::~FolderLock() {
  if (!lock_->Write("")) {  // a remaining name only means a kill
    PrintWarning(
        fmt::format("the text of the lock's file cannot be removed: {}", std::strerror(errno)));
  }
}

std::string FreezeSweep(const SweepPlan& plan,
                        const SweepProblems& problems,
                        const SweepFolder& folder) {
  std::string text = fmt::format(
      "# Written by `emplace sweep`, read by --resume. Not to be edited.{}version: {}\nname: "
      "{}\nconfigs:\n",
      kSweepFormat,
      kSweepVersion,
      QuoteYaml(plan.name));
  for (size_t i = 0; i < plan.configs.size(); ++i) {
    text += fmt::format("  {}:\n{}", i, Indented(plan.configs[i].ResolvedYaml()));
  }
  text += "problems:\n";
  for (size_t i = 0; i < plan.configs.size(); ++i) {
    text += fmt::format("  {}: {{graph: {}, cluster: {}, costs: {}",
                        i,
                        Absolute(plan.configs[i].graph),
                        Absolute(plan.configs[i].cluster),
                        Absolute(plan.configs[i].costs));
    const ProblemId id = IdOf(plan.configs[i], problems.problems[problems.of_config[i]].problem);
    for (const ProblemPart part : kAllParts) {
      text += fmt::format(", {}: {}", IdKey(part), id[part]);
    }
    text += "}\n";
  }
  text += "agents:\n";
  std::set<std::pair<int, int>> written;
  std::string runs;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const SweepRun& run = plan.runs[i];
    const AgentSpec& spec = plan.configs[run.config].agents[run.agent];
    const std::string agent = fmt::format("{} of config {}", spec.label, run.config);
    if (written.emplace(run.config, run.agent).second) {
      text += fmt::format("  {}:\n    name: {}\n{}",
                          QuoteYaml(agent),
                          spec.entry->name,
                          Indented(spec.entry->resolve_settings(spec.settings)));
    }
    runs += fmt::format("  {}: {{file: {}, config: {}, agent: {}, seed: {}}}  # {}\n",
                        i,
                        folder.RunName(static_cast<int>(i)),
                        run.config,
                        QuoteYaml(spec.label),
                        run.seed,
                        run.description);
  }
  text.pop_back();
  return text + std::string(kSweepRuns) + runs;
}

bool IsFrozenAs(const SweepFolder& folder, const std::string& frozen) {
  return fs::exists(folder.frozen()) && ReadFile(folder.frozen()) == frozen;
}

bool OpenSweepFolder(const SweepFolder& folder, const std::string& frozen, bool resume) {
  const std::string name = folder.path().string();
  const bool begun = fs::exists(folder.frozen());
  if (begun) {
    if (!resume) {
      throw InputError(fmt::format(
          "{}: holds a sweep already; --resume continues it, -o names another folder", name));
    }
    RequireSameSweep(folder, frozen);
  }
  RemoveTemporaries(folder);
  CreateFolder(folder.path() / "runs");
  if (begun) return true;
  WriteFileAtomically(folder.frozen(), frozen);
  return false;
}

}  // namespace emplace

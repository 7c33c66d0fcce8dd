#include "experiments/sweep/launchers/launch_folder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "experiments/console/existing_output.h"
#include "framework/base/file.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

constexpr size_t kShownLog = 500;  // [B]

}  // namespace

std::vector<std::string> ProgramCommand() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  if (program.filename().string().starts_with("python")) return {program.string(), "-m", "emplace"};
  return {program.string()};
}

std::vector<std::string> WorkerCommand(const LaunchOrder& order) {
  std::vector<std::string> command = SplitOptions(order.config.program);
  if (command.empty()) command = ProgramCommand();
  const fs::path beside = order.beside.empty() ? "." : order.beside;
  command.insert(command.end(),
                 {"sweep-worker",
                  fs::absolute(order.sweep.folder.path()).string(),
                  "--beside",
                  fs::absolute(beside).lexically_normal().string(),
                  "--cores",
                  std::to_string(std::max(1, order.config.cores)),
                  "--checkpoint-seconds",
                  fmt::format("{}", order.checkpoint_seconds)});
  if (order.config.bundle == 0) command.emplace_back("--others");
  return command;
}

std::vector<std::string> WorkerEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "EMPLACE_", 8) == 0) variables.emplace_back(*variable);
  }
  return variables;
}

LaunchFolder::LaunchFolder(const SweepFolder& sweep) : path_(fs::absolute(sweep.launch())) {
  CreateFolder(path_);
  for (const auto& entry : fs::directory_iterator(path_)) {
    last_ = std::max(last_, std::atoi(entry.path().filename().c_str()));
  }
}

int LaunchFolder::NextSubmission() {
  return ++last_;
}

fs::path LaunchFolder::file(int submission, const std::string& kind) const {
  return path_ / fmt::format("{}.{}", submission, kind);
}

std::optional<int> LaunchFolder::SubmissionOf(const fs::path& path, const std::string& kind) const {
  const int submission = std::atoi(path.filename().c_str());
  if (submission < 1 || submission > last_ || path != file(submission, kind)) return std::nullopt;
  return submission;
}

fs::path LaunchFolder::log(int submission, int bundle) const {
  return path_ / fmt::format("{}.{}.log", submission, bundle);
}

std::string LaunchFolder::LogTail(int submission, int bundle) const {
  const fs::path path = log(submission, bundle);
  if (!fs::exists(path)) return "";
  std::string text = ReadFile(path);
  text.erase(text.find_last_not_of(" \n") + 1);
  if (text.size() > kShownLog) text.erase(0, text.size() - kShownLog);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace emplace

#include "experiments/sweep/launchers/hyperqueue_launcher.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/sweep/frozen_sweep.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace internal {
extern const std::string_view kHyperQueueClient;  // hyperqueue_client.py
}

namespace {

constexpr int kStartPatience = 600;  // ticks of 0.1 s for the first answer of HyperQueue
constexpr std::string_view kFound = "server ", kStarted = "cluster ", kEndedBundle = "ended ";

std::vector<std::string> Client(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"python3", "-c", std::string(internal::kHyperQueueClient)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

[[noreturn]] void ThrowEnd(const std::string& what, const EngineCommand& command) {
  const std::string errors = command.errors();
  throw RunError(fmt::format("launcher hyperqueue: {} ({}){}{}",
                             what,
                             command.exit_code(),
                             errors.empty() ? "" : ": ",
                             errors.substr(errors.find_last_of('\n') + 1)));
}

// Returns the first line that a client writes.
std::string FirstLine(EngineCommand& client) {
  for (int tick = 0; tick < kStartPatience; ++tick) {
    const std::vector<std::string> lines = client.ReadLines(100);
    if (!lines.empty()) return lines.front();
    if (client.ended()) ThrowEnd("its client has ended", client);
  }
  throw RunError("launcher hyperqueue: its client does not answer");
}

}  // namespace

HyperQueueLauncher::HyperQueueLauncher(const LaunchOrder& order)
    : order_(order), folder_(order.sweep.folder) {
  auto server =
      std::make_unique<EngineCommand>(Client({"open",
                                              order.config.server,
                                              std::to_string(order.jobs),
                                              std::to_string(std::max(1, order.config.cores))}));
  const std::string line = FirstLine(*server);
  if (line.starts_with(kFound)) {
    server_ = line.substr(kFound.size());
    description_ = fmt::format("HyperQueue's server of {}", server_);
  } else if (line.starts_with(kStarted)) {
    server_ = line.substr(kStarted.size());
    description_ = fmt::format("a local cluster of HyperQueue, {} workers", order.jobs);
    cluster_ = std::move(server);
  } else {
    throw RunError(fmt::format("launcher hyperqueue: expected a server, got \"{}\"", line));
  }
}

void HyperQueueLauncher::Submit(const std::vector<int>& runs) {
  Submission submission{
      folder_.NextSubmission(), MakeBundles(runs, order_.config.bundle, order_.jobs), nullptr};
  nlohmann::json spec = {{"server", server_},
                         {"cores", std::max(1, order_.config.cores)},
                         {"cwd", std::filesystem::current_path().string()},
                         {"env", nlohmann::json::object()},
                         {"options", SplitOptions(order_.config.options)},
                         {"bundles", nlohmann::json::array()}};
  for (const std::string& variable : WorkerEnvironment()) {
    const size_t equals = variable.find('=');
    spec["env"][variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  for (size_t i = 0; i < submission.bundles.size(); ++i) {
    std::vector<std::string> command = WorkerCommand(order_);
    command.insert(command.end(), {"--runs", RunsText(submission.bundles[i])});
    spec["bundles"].push_back(
        {{"command", command},
         {"log", folder_.log(submission.number, static_cast<int>(i)).string()}});
  }
  const std::filesystem::path file = folder_.file(submission.number, "hyperqueue.json");
  WriteFileAtomically(file, spec.dump(1) + "\n");
  submission.client = std::make_unique<EngineCommand>(Client({"submit", file.string()}));
  FirstLine(*submission.client);
  submissions_.push_back(std::move(submission));
}

std::vector<EndedRuns> HyperQueueLauncher::Watch() {
  if (cluster_) {
    cluster_->ReadLines(0);
    if (cluster_->ended()) ThrowEnd("its server has ended", *cluster_);
  }
  std::vector<EndedRuns> ended;
  if (submissions_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int wait = submissions_.empty() ? 0 : std::max<int>(1, 100 / std::ssize(submissions_));
  for (Submission& submission : submissions_) {
    for (const std::string& line : submission.client->ReadLines(wait)) {
      if (!line.starts_with(kEndedBundle)) continue;
      const int bundle = std::stoi(line.substr(kEndedBundle.size()));
      std::vector<int>& runs = submission.bundles.at(static_cast<size_t>(bundle));
      ended.push_back({std::exchange(runs, {}), folder_.LogTail(submission.number, bundle)});
    }
    const bool all_told = std::all_of(submission.bundles.begin(),
                                      submission.bundles.end(),
                                      [](const auto& runs) { return runs.empty(); });
    if (submission.client->ended() && !all_told) {
      ThrowEnd("its server has stopped answering", *submission.client);
    }
  }
  std::erase_if(submissions_,
                [](const Submission& submission) { return submission.client->ended(); });
  return ended;
}

}  // namespace emplace

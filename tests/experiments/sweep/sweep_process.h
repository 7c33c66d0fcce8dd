#pragma once

// A sweep in the background, to be killed.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>
#include <tuple>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/experiments/sweep/sweep_files.h"

namespace emplace::testing {

/// `emplace sweep s.yaml --resume`, what it prints in OUTPUT.out. Killed at the end.
class SweepProcess {
 public:
  /// @param more      further arguments
  /// @param ignored   a signal to be ignored from the start, as nohup does; 0: none
  SweepProcess(const SweepFiles& files,
               const std::string& output,
               const std::vector<std::string>& more = {"--jobs", "2"},
               int ignored = 0)
      : folder_(files.folder / output), printed_(files.folder / (output + ".out")) {
    std::vector<std::string> command = {"emplace", "sweep", "s.yaml", "--resume", "-o", output};
    command.insert(command.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const std::string program = (BinaryDir() / "emplace").string();
    seen_ = Versions();
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    const int file = open(printed_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    if (ignored != 0) signal(ignored, SIG_IGN);
    if (chdir(files.folder.path().c_str()) == 0) execv(program.c_str(), arguments.data());
    _exit(127);
  }
  ~SweepProcess() {
    if (HasEnded()) return;
    Signal(SIGKILL);
    Wait();
  }
  SweepProcess(const SweepProcess&) = delete;
  SweepProcess& operator=(const SweepProcess&) = delete;

  std::vector<pid_t> Workers() const {
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid_));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

  void Signal(int number) const { kill(pid_, number); }

  /// Waits until results files have been written so many times; two writes shortly after one
  /// another may count as one. @return false if the sweep has ended before
  bool WaitForWrites(int count) {
    while (count > 0) {
      if (HasEnded()) return false;
      for (const Version& version : Versions()) count -= seen_.insert(version).second ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  /// Exit code, or 128 + signal.
  int Wait() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  std::string Printed() const { return ReadText(printed_); }

 private:
  using Version = std::tuple<std::string, ino_t, time_t, long>;

  bool HasEnded() {
    ended_ = ended_ || waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }

  std::set<Version> Versions() const {
    std::set<Version> versions;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "runs", ignored)) {
      struct stat status {};
      if (entry.path().extension() != ".h5" || stat(entry.path().c_str(), &status) != 0) continue;
      versions.emplace(entry.path().filename().string(),
                       status.st_ino,
                       status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
    }
    return versions;
  }

  std::filesystem::path folder_, printed_;
  std::set<Version> seen_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace emplace::testing

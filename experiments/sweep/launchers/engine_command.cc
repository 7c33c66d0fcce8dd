#include "experiments/sweep/launchers/engine_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr off_t kKeptErrors = 2000;  // end of stderr [B]
constexpr int kEndPatience = 5000;   // [ms]

std::vector<char*> Arguments(std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

EngineCommand::EngineCommand(const std::vector<std::string>& command) {
  int in[2], out[2], started[2];
  errors_ = memfd_create("errors", MFD_CLOEXEC);
  if (errors_ < 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
      pipe2(started, O_CLOEXEC) != 0) {
    throw RunError(
        fmt::format("{}: cannot create a pipe for it: {}", command[0], std::strerror(errno)));
  }
  std::vector<std::string> words = command;
  const std::vector<char*> arguments = Arguments(words);
  const pid_t parent = getpid();
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(errors_, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    const int problem = errno;
    if (write(started[1], &problem, sizeof problem) < 0) _exit(126);
    _exit(127);
  }
  const int fork_problem = errno;
  close(in[0]);
  close(out[1]);
  close(started[1]);
  in_ = in[1];
  out_ = out[0];
  int problem = pid_ < 0 ? fork_problem : 0;
  if (pid_ > 0 && read(started[0], &problem, sizeof problem) > 0) waitpid(pid_, nullptr, 0);
  close(started[0]);
  if (problem == 0) return;
  close(in_);
  close(out_);
  close(errors_);
  throw RunError(fmt::format("{}: cannot be started: {}", command[0], std::strerror(problem)));
}

EngineCommand::~EngineCommand() {
  close(in_);
  if (!ended()) {
    kill(pid_, SIGTERM);
    int waited = 0;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (waited == kEndPatience) kill(pid_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      waited += 10;
    }
  }
  close(out_);
  close(errors_);
}

std::vector<std::string> EngineCommand::ReadLines(int milliseconds) {
  if (ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return {};
  }
  pollfd ready{out_, POLLIN, 0};
  if (poll(&ready, 1, milliseconds) <= 0) return {};
  char buffer[4096];
  const ssize_t got = read(out_, buffer, sizeof buffer);
  if (got == 0) {
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = status;
    if (!rest_.empty()) rest_ += '\n';
  } else if (got > 0) {
    rest_.append(buffer, static_cast<size_t>(got));
  }
  std::vector<std::string> lines;
  for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
    lines.push_back(rest_.substr(0, end));
  }
  return lines;
}

int EngineCommand::exit_code() const {
  return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : 128 + WTERMSIG(*status_);
}

std::string EngineCommand::errors() const {
  const off_t size = lseek(errors_, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min(size, kKeptErrors)), '\0');
  const ssize_t got = pread(errors_, text.data(), text.size(), size - std::ssize(text));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string RunEngineCommand(const std::vector<std::string>& command) {
  EngineCommand running(command);
  std::string text;
  while (!running.ended()) {
    for (const std::string& line : running.ReadLines(1000)) text += line + "\n";
  }
  if (running.exit_code() != 0) {
    const std::string errors = running.errors();
    throw RunError(fmt::format("{}: exit code {}: {}",
                               command[0],
                               running.exit_code(),
                               errors.substr(errors.find_last_of('\n') + 1)));
  }
  return text;
}

std::string ShellQuote(const std::string& word) {
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace emplace

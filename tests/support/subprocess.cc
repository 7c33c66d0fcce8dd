#include "tests/support/subprocess.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"

namespace emplace::testing {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    CloseWrite();
    close(read);
  }
  void CloseWrite() {
    if (write >= 0) close(write);
    write = -1;
  }
};

[[noreturn]] void Execute(const std::vector<std::string>& command,
                          const ProcessOptions& options,
                          const Pipe& out,
                          const Pipe& err) {
  setpgid(0, 0);
  dup2(out.write, STDOUT_FILENO);
  dup2(err.write, STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  unsetenv("COLUMNS");  // some shells export the width of their terminal
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// Appends what is there. @return false at the end of the stream
bool ReadSome(int file, std::string& text) {
  char buffer[65536];
  const ssize_t length = read(file, buffer, sizeof buffer);
  if (length > 0) text.append(buffer, static_cast<size_t>(length));
  return length > 0;
}

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& command, const ProcessOptions& options) {
  Pipe out, err;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) Execute(command, options, out, err);
  setpgid(child, child);  // here, too: it may not have come so far when it is killed
  out.CloseWrite();
  err.CloseWrite();

  ProcessResult result;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(options.timeout_seconds);
  auto interrupt = Clock::time_point::max(), interrupted = interrupt;
  bool met = options.interrupt_when.empty();
  pollfd files[2] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    poll(files, 2, std::min(100, 10 + options.interrupt_delay_ms));
    if (files[0].revents != 0 && !ReadSome(out.read, result.out)) files[0].fd = -1;
    if (files[1].revents != 0 && !ReadSome(err.read, result.err)) files[1].fd = -1;
    if (!met && result.err.find(options.interrupt_when) != std::string::npos) {
      interrupt = Clock::now() + std::chrono::milliseconds(options.interrupt_delay_ms);
      met = true;
    }
    if (Clock::now() >= interrupt) {
      kill(child, SIGINT);
      interrupted = Clock::now();
      interrupt = Clock::time_point::max();
    }
    if (Clock::now() > end) break;
  }
  // Processes that left the group may hold the pipes open, so that these would never end.
  const bool timed_out = files[0].fd >= 0 || files[1].fd >= 0;
  if (timed_out && kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (interrupted < Clock::time_point::max()) {
    result.seconds_interrupted = std::chrono::duration<double>(Clock::now() - interrupted).count();
  }
  if (timed_out) result.err += fmt::format("killed after {} s\n", options.timeout_seconds);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

ProcessResult RunEmplace(std::vector<std::string> arguments, const ProcessOptions& options) {
  arguments.insert(arguments.begin(), (BinaryDir() / "emplace").string());
  return RunProcess(arguments, options);
}

}  // namespace emplace::testing

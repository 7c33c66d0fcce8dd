#pragma once

// Programs by which launchers communicate with an engine: sbatch, squeue, Python with the client of
// HyperQueue.

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace emplace {

/// A child process in its own process group, so that ctrl-C does not reach it. It gets SIGTERM if
/// this process dies.
class EngineCommand {
 public:
  /// Starts the program. Its stdin is closed as soon as this object or this process ends.
  /// @param command  program (searched in $PATH) and arguments
  /// @throws RunError if it cannot be started
  explicit EngineCommand(const std::vector<std::string>& command);
  /// Sends SIGTERM, and SIGKILL after five seconds.
  ~EngineCommand();
  EngineCommand(const EngineCommand&) = delete;
  EngineCommand& operator=(const EngineCommand&) = delete;

  /// Waits until the program writes, ends, or the time has passed. Returns the complete lines that
  /// it has written to stdout since the last call.
  std::vector<std::string> ReadLines(int milliseconds);
  /// Returns whether the program has ended and all its output has been read.
  bool ended() const { return status_.has_value(); }
  /// Returns the exit code, or 128 + signal. Only after the end.
  int exit_code() const;
  /// Returns the end of its stderr.
  std::string errors() const;

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1, errors_ = -1;  // pipes; a file in memory
  std::string rest_;                      // incomplete last line
  std::optional<int> status_;
};

/// Runs a program to its end. @return its stdout
/// @throws RunError if it cannot be started or fails, with the last line of its stderr
std::string RunEngineCommand(const std::vector<std::string>& command);

/// Quotes a word for a shell: "'it'\\''s'".
std::string ShellQuote(const std::string& word);

}  // namespace emplace

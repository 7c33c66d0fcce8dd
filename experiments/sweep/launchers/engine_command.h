#pragma once

// Other programs, by which launchers talk to an engine: sbatch, squeue, Python with the client of
// HyperQueue.

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace emplace {

/// A program that runs beside this one, in a process group of its own, so that ctrl-C does not
/// reach it. It gets SIGTERM if this process dies.
class EngineCommand {
 public:
  /// Starts it. Its stdin is closed as soon as this object or this process ends.
  /// @param command  program (looked for in $PATH) and arguments
  /// @throws RunError if it cannot be started
  explicit EngineCommand(const std::vector<std::string>& command);
  /// SIGTERM, and SIGKILL after five seconds.
  ~EngineCommand();
  EngineCommand(const EngineCommand&) = delete;
  EngineCommand& operator=(const EngineCommand&) = delete;

  /// Waits until the program writes, ends, or the time has passed; the whole lines that it has
  /// written to stdout since the last call.
  std::vector<std::string> ReadLines(int milliseconds);
  /// Whether it has ended and all that it wrote has been read.
  bool ended() const { return status_.has_value(); }
  /// Exit code, or 128 + signal. Only once it has ended.
  int exit_code() const;
  /// The last that it wrote to stderr.
  std::string errors() const;

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1, errors_ = -1;  // pipes; a file in memory
  std::string rest_;                      // of a line
  std::optional<int> status_;
};

/// Runs a program to its end. @return what it wrote to stdout
/// @throws RunError if it cannot be started or fails, with the last line it wrote to stderr
std::string RunEngineCommand(const std::vector<std::string>& command);

/// "'it'\\''s'": a word of a shell.
std::string ShellQuote(const std::string& word);

}  // namespace emplace

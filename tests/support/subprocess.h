#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace emplace::testing {

struct ProcessOptions {
  std::filesystem::path folder;                    ///< to run in; empty: this one
  std::map<std::string, std::string> environment;  ///< added to this process's without COLUMNS
  std::string interrupt_when;                      ///< SIGINT once stderr holds this text
  int interrupt_delay_ms = 0;                      ///< ... and so much time has passed [ms]
  /// Then it and the processes of its group get SIGKILL, and a line on `err` says so [s].
  int timeout_seconds = 300;
};

struct ProcessResult {
  int exit_code = -1;              ///< 128 + signal for a killed process
  std::string out, err;            ///< stdout and stderr, whole
  double seconds_interrupted = 0;  ///< from SIGINT to the end; 0: it was not sent [s]
};

/// Runs a program, in a process group of its own, until all who have its stdout and stderr have
/// ended, or the time limit. @param command  the program's path and its arguments
ProcessResult RunProcess(const std::vector<std::string>& command,
                         const ProcessOptions& options = {});

/// Runs the `emplace` of this build.
ProcessResult RunEmplace(std::vector<std::string> arguments, const ProcessOptions& options = {});

}  // namespace emplace::testing

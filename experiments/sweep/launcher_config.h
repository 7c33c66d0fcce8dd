#pragma once

// The key `launcher` of a sweep config.

#include <string>
#include <vector>

#include "framework/config/fields.h"

namespace emplace {

struct LauncherConfig {
  std::string name = "local";
  int bundle = 0;
  int cores = 0;
  double patience_seconds = 600;
  std::string options;
  std::string server;
  std::string program;

  void Visit(FieldVisitor& v);
};

/// Splits what a user would type behind a command at its blanks; '...' and "..." keep theirs.
/// @throws InputError for a quotation without end
std::vector<std::string> SplitOptions(const std::string& text);

/// Runs for one worker after another: `size` at a time.
/// @param size  0: as many as each of `workers` gets; one at least
std::vector<std::vector<int>> MakeBundles(const std::vector<int>& runs, int size, int workers);

}  // namespace emplace

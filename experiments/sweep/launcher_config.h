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

/// Splits the options of a command line at blanks; '...' and "..." keep theirs.
/// @throws InputError for a quotation that does not end
std::vector<std::string> SplitOptions(const std::string& text);

/// Divides runs into bundles of `size` runs; a worker gets one bundle after another.
/// @param size  0: an equal share for each of `workers`, at least one run
std::vector<std::vector<int>> MakeBundles(const std::vector<int>& runs, int size, int workers);

}  // namespace emplace

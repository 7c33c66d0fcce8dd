#pragma once

// The help of a command as data, from which the completion of shells and the manual page are made.

#include <string>
#include <vector>

namespace emplace {

/// The help of one argument.
struct ArgumentHelp {
  std::vector<std::string> names;  ///< "--output", "-o"; of a positional argument only "file"
  std::string value;               ///< the value as the help shows it: "FILE.json"; empty: a flag
  std::string help;
  bool is_positional = false;
};

/// The help of a command and of the commands below it.
struct CommandHelp {
  std::string name, sentence, footer;
  std::vector<ArgumentHelp> arguments;  ///< options first
  std::vector<CommandHelp> commands;
};

}  // namespace emplace

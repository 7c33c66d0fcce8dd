#pragma once

// Commands that do what a config says (`run`, `sweep`, `generalize`) have these options in common.

#include <functional>
#include <string>
#include <vector>

#include "experiments/command_line.h"
#include "framework/config/fields.h"

namespace emplace {

struct ConfigOptions {
  std::string config, output;         ///< output: empty where none is given
  std::vector<std::string> settings;  ///< KEY=VALUE
  int jobs = -1;                      ///< -1: what the config says; 0: one per core
  bool resume = false, quiet = false;
};

/// The words in which such commands differ.
struct ConfigCommand {
  const char* name;         ///< "run"
  const char* sentence;     ///< what it does
  const char* kind;         ///< "a run config"
  const char* where;        ///< "a path, or a name in the configs folder"
  const char* setting;      ///< an example for --set: "budget.seconds=5"
  const char* output;       ///< "results file (HDF5)"
  const char* output_type;  ///< "FILE.h5"
  const char* resume;       ///< "go on with what the results file holds: ..."
  const char* jobs;         ///< "searches"
};

/// Adds the command with `config`, --set, -o, --resume, --jobs, --quiet and --help-config. It does
/// `run`; with --help-config it prints every key of the config instead. The command line is wrong
/// with neither a config nor --help-config.
/// @param options  filled by the parser; lives as long as `run`
/// @param describe  the keys of the config
/// @return the command, for options of its own
Command AddConfigCommand(Command program,
                         const ConfigCommand& words,
                         ConfigOptions& options,
                         std::function<std::vector<FieldHelp>()> describe,
                         Action run);

}  // namespace emplace

#pragma once

// Common parts of the commands that execute a config file: `run`, `sweep`, `generalize`.

#include <functional>
#include <string>
#include <vector>

#include "experiments/console/command_line.h"
#include "framework/config/fields.h"

namespace emplace {

/// The options of such a command.
struct ConfigOptions {
  std::string config;                 ///< name or path of the config
  std::string output;                 ///< -o; empty if none is given
  std::vector<std::string> settings;  ///< --set, "KEY=VALUE" each; see ApplySettings()
  int jobs = -1;                      ///< --jobs; -1: as the config says; 0: one per core
  bool resume = false;                ///< --resume
  bool force = false;                 ///< --force
  bool quiet = false;                 ///< --quiet
  bool strict = false;                ///< --strict
  bool dry_run = false;               ///< --dry-run
  bool print_config = false;          ///< --print-config
};

/// The words in the help that differ between these commands.
struct ConfigCommand {
  const char* name;             ///< "run"
  const char* sentence;         ///< describes the command
  const char* kind;             ///< "a run config"
  const char* where;            ///< "a path, or a name in the configs folder"
  const char* setting;          ///< an example for --set: "budget.seconds=5"
  const char* output;           ///< "results file (HDF5)"
  const char* output_type;      ///< "FILE.h5"
  const char* resume;           ///< "go on with what the results file holds: ..."
  const char* jobs;             ///< "searches"
  const char* dry_run;          ///< "check everything and print the searches; search nothing"
  const char* force = nullptr;  ///< "write over ..."; nullptr: there is no such option
};

/// Adds a command with the options above and --help-config. Its action is `run`; with --help-config
/// it prints every key of the config instead. A config or --help-config must be given.
/// @param options   filled by the parser; must live as long as `run`
/// @param describe  lists the keys of the config
/// @return the command, to which further options can be added
Command AddConfigCommand(Command program,
                         const ConfigCommand& words,
                         ConfigOptions& options,
                         std::function<std::vector<FieldHelp>()> describe,
                         Action run);

}  // namespace emplace

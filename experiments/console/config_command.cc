#include "experiments/console/config_command.h"

#include <memory>

#include <fmt/format.h>

#include "experiments/console/config_help.h"
#include "experiments/console/output.h"

namespace emplace {

Command AddConfigCommand(Command program,
                         const ConfigCommand& words,
                         ConfigOptions& options,
                         std::function<std::vector<FieldHelp>()> describe,
                         Action run) {
  auto help_config = std::make_shared<bool>(false);
  Command command = program.AddCommand(words.name, words.sentence);
  command.Add("config", options.config, fmt::format("{}: {}", words.kind, words.where));
  command
      .Add("--set",
           options.settings,
           fmt::format("replace a key of the config, as in {}", words.setting))
      .Type("KEY=VALUE")
      .OneAtATime();
  command.Add("-o,--output", options.output, words.output).Type(words.output_type);
  command.AddFlag("--resume", options.resume, words.resume);
  if (words.force != nullptr) command.AddFlag("--force", options.force, words.force);
  command.Add("--jobs", options.jobs, fmt::format("{} at a time; 0: one per core", words.jobs))
      .NotNegative();
  command.AddFlag("--quiet", options.quiet, "print no progress on stderr");
  command.AddFlag("--strict",
                  options.strict,
                  "refuse graphs that `emplace graph validate` warns about, with exit code 2");
  command.AddFlag("--dry-run", options.dry_run, words.dry_run);
  command.AddFlag("--print-config",
                  options.print_config,
                  fmt::format("print {} with every key, after --set, and end", words.kind));
  command.AddFlag("--help-config",
                  *help_config,
                  fmt::format("print every key of {} with its default", words.kind));
  command.Does([=, &options, kind = std::string(words.kind)] {
    if (*help_config) {
      Print(FormatConfigHelp(kind, describe()));
      return 0;
    }
    if (options.config.empty()) command.ThrowMissing("config");
    return run();
  });
  return command;
}

}  // namespace emplace

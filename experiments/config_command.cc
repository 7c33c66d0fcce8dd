#include "experiments/config_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiments/config_help.h"
#include "experiments/output.h"

namespace emplace {

CLI::App* AddConfigCommand(CLI::App& app,
                           Action& action,
                           const ConfigCommand& words,
                           ConfigOptions& options,
                           std::function<std::vector<FieldHelp>()> describe,
                           Action run) {
  auto help_config = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(words.name, words.sentence);
  command->add_option("config", options.config, fmt::format("{}: {}", words.kind, words.where));
  command
      ->add_option("--set",
                   options.settings,
                   fmt::format("replace a key of the config, as in {}", words.setting))
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options.output, words.output)->type_name(words.output_type);
  command->add_flag("--resume", options.resume, words.resume);
  command
      ->add_option("--jobs", options.jobs, fmt::format("{} at a time; 0: one per core", words.jobs))
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--quiet", options.quiet, "no progress on stderr");
  command->add_flag("--help-config",
                    *help_config,
                    fmt::format("print every key of {} with its default", words.kind));
  command->callback([=, &action, &options, kind = std::string(words.kind)] {
    if (*help_config) {
      action = [=] {
        Print(FormatConfigHelp(kind, describe()));
        return 0;
      };
      return;
    }
    if (options.config.empty()) throw CLI::RequiredError("config");
    action = run;
  });
  return command;
}

}  // namespace emplace

#include "experiments/config_command.h"

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

namespace {

using namespace emplace;

struct Command {
  Command() {
    command = AddConfigCommand(
        app,
        action,
        {.name = "try",
         .sentence = "Tries things",
         .kind = "a trial config",
         .where = "a path",
         .setting = "trials=5",
         .output = "folder of the results",
         .output_type = "DIR",
         .resume = "go on with the folder",
         .jobs = "trials"},
        options,
        [] { return std::vector<FieldHelp>(); },
        [] { return 7; });
  }
  CLI::App app;
  Action action;
  ConfigOptions options;
  CLI::App* command;
};

TEST_CASE("the common options are parsed, then the command runs") {
  Command trial;
  trial.app.parse("try some.yaml --set a=1 --set b=[2,3] -o out --resume --jobs 3 --quiet");
  CHECK(trial.options.config == "some.yaml");
  CHECK(trial.options.settings == std::vector<std::string>{"a=1", "b=[2,3]"});
  CHECK(trial.options.output == "out");
  CHECK(trial.options.jobs == 3);
  CHECK(trial.options.resume);
  CHECK(trial.options.quiet);
  REQUIRE(trial.action);
  CHECK(trial.action() == 7);
}

TEST_CASE("what is not given is told apart from what is") {
  Command trial;
  trial.app.parse("try some.yaml");
  CHECK(trial.options.settings.empty());
  CHECK(trial.options.output.empty());
  CHECK(trial.options.jobs == -1);
  CHECK_FALSE(trial.options.resume);
  CHECK_FALSE(trial.options.quiet);
}

TEST_CASE("a config is required, but not for --help-config") {
  Command trial;
  CHECK_THROWS_AS(trial.app.parse("try --quiet"), CLI::RequiredError);
  CHECK_FALSE(trial.action);
  Command help;
  help.app.parse("try --help-config");
  REQUIRE(help.action);
  CHECK(help.action() == 0);
}

TEST_CASE("a negative number of jobs is refused") {
  Command trial;
  CHECK_THROWS_AS(trial.app.parse("try some.yaml --jobs -2"), CLI::ValidationError);
}

TEST_CASE("the help has the command's own words, and options of its own") {
  Command trial;
  bool json = false;
  trial.command->add_flag("--json", json, "as JSON");
  const std::string help = trial.command->help();
  CAPTURE(help);
  for (const char* words : {"Tries things",
                            "a trial config: a path",
                            "as in trials=5",
                            "DIR",
                            "folder of the results",
                            "go on with the folder",
                            "trials at a time; 0: one per core",
                            "print every key of a trial config",
                            "as JSON"}) {
    CHECK(help.find(words) != std::string::npos);
  }
  trial.app.parse("try some.yaml --json");
  CHECK(json);
}

}  // namespace

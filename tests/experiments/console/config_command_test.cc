#include "experiments/console/config_command.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/words.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::Words;

struct Trial {
  Trial() {
    command = AddConfigCommand(
        line.program(),
        {.name = "try",
         .sentence = "Tries things",
         .kind = "a trial config",
         .where = "a path",
         .setting = "trials=5",
         .output = "folder of the results",
         .output_type = "DIR",
         .resume = "go on with the folder",
         .jobs = "trials",
         .dry_run = "print the trials"},
        options,
        [] { return std::vector<FieldHelp>(); },
        [] { return 7; });
  }
  Request Parse(const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"lab", "try"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return line.Parse(static_cast<int>(arguments.size()), arguments.data());
  }
  CommandLine line{"lab", "A laboratory", [] { return std::string(); }};
  ConfigOptions options;
  Command command = line.program();
};

TEST_CASE("the common options are parsed, then the command runs") {
  Trial trial;
  const Request request = trial.Parse(
      Words("some.yaml --set a=1 --set b=[2,3] -o out --resume --jobs 3 --quiet --dry-run "
            "--print-config"));
  CHECK(trial.options.dry_run);
  CHECK(trial.options.print_config);
  CHECK(trial.options.config == "some.yaml");
  CHECK(trial.options.settings == std::vector<std::string>{"a=1", "b=[2,3]"});
  CHECK(trial.options.output == "out");
  CHECK(trial.options.jobs == 3);
  CHECK(trial.options.resume);
  CHECK(trial.options.quiet);
  REQUIRE(request.action);
  CHECK(request.action() == 7);
}

TEST_CASE("what is not given is told apart from what is") {
  Trial trial;
  trial.Parse({"some.yaml"});
  CHECK(trial.options.settings.empty());
  CHECK(trial.options.output.empty());
  CHECK(trial.options.jobs == -1);
  CHECK_FALSE(trial.options.resume);
  CHECK_FALSE(trial.options.quiet);
  CHECK_FALSE(trial.options.dry_run);
  CHECK_FALSE(trial.options.print_config);
}

TEST_CASE("a config is required, but not for --help-config") {
  Trial trial;
  const Request request = trial.Parse({"--quiet"});
  REQUIRE(request.action);
  CHECK(MessageOf<InputError>([&] { request.action(); }) ==
        "config is required; see `lab try --help`");
  Trial help;
  const Request keys = help.Parse({"--help-config"});
  REQUIRE(keys.action);
  CHECK(keys.action() == 0);
}

TEST_CASE("a negative number of jobs is refused") {
  Trial trial;
  const std::string message = MessageOf<InputError>([&] {
    trial.Parse({"some.yaml", "--jobs", "-2"});
  });
  CAPTURE(message);
  CHECK(message.starts_with("--jobs: "));
  CHECK(message.ends_with("; see `lab try --help`"));
}

TEST_CASE("the help has the command's own words, and options of its own") {
  Trial trial;
  bool json = false;
  trial.command.AddFlag("--json", json, "as JSON");
  const std::string help = trial.Parse({"--help"}).text;
  CAPTURE(help);
  for (const char* words : {"Tries things",
                            "a trial config: a path",
                            "as in trials=5",
                            "DIR",
                            "folder of the results",
                            "go on with the folder",
                            "trials at a time; 0: one per core",
                            "print the trials",
                            "print a trial config with every key",
                            "print every key of a trial config",
                            "as JSON"}) {
    CHECK(help.find(words) != std::string::npos);
  }
  Trial other;
  other.command.AddFlag("--json", json, "as JSON");
  other.Parse({"some.yaml", "--json"});
  CHECK(json);
}

}  // namespace
}  // namespace emplace

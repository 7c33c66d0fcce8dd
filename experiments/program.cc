#include "experiments/program.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiments/build_info.h"
#include "experiments/commands.h"
#include "experiments/output.h"
#include "experiments/provenance.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kRunFailed = 1, kInputWrong = 2;

int Report(int code, const std::string& message) {
  std::fflush(stdout);
  std::fputs(fmt::format("emplace: {}\n", message).c_str(), stderr);
  return code;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 would call an unknown command an argument it did not expect.
void RequireKnownCommands(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::vector<std::string> names = CommandNames(*at);
    const std::string argument = argv[i];
    if (names.empty() || argument.empty() || argument[0] == '-') return;
    if (std::find(names.begin(), names.end(), argument) == names.end()) {
      throw InputError(
          fmt::format("unknown command \"{}\"{}", argument, ChoicesHint(argument, names)));
    }
    at = at->get_subcommand(argument);
  }
}

[[noreturn]] void ThrowParseError(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "emplace";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> rest = app.remaining(true);
    const std::string first = rest.empty() ? "" : rest.front();
    message =
        first.starts_with('-')
            ? fmt::format("unknown option \"{}\"{}", first, ChoicesHint(first, OptionNames(*at)))
            : fmt::format("unexpected argument \"{}\"", first);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
             !CommandNames(*at).empty()) {
    message = fmt::format("a command is missing; choices: {}", fmt::join(CommandNames(*at), ", "));
  }
  throw InputError(fmt::format("{}; see `{} --help`", message, command));
}

int ParseAndRun(int argc, const char* const* argv) {
  CLI::App app("Finds where every operation of a neural network should run.", "emplace");
  app.set_version_flag("--version", [] { return VersionText(); });
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 1 the run failed; 2 the input is wrong.\n"
      "$EMPLACE_CONFIGS names another folder of clusters, graphs and device kinds.");
  Action action;
  AddRunCommand(app, action);
  AddSweepCommand(app, action);
  AddTableCommand(app, action);
  AddReportCommand(app, action);
  AddGeneralizeCommand(app, action);
  AddSimulateCommand(app, action);
  AddGraphCommand(app, action);
  AddListCommand(app, action);
  AddProfileCommand(app, action);
  AddVerifyCommand(app, action);
  AddExportCommand(app, action);
  AddValidateCommand(app, action);

  RequireKnownCommands(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    ThrowParseError(app, error);
  }
  EMPLACE_CHECK(action != nullptr);
  const int code = action();
  FlushOutput();
  return code;
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  try {
    return ParseAndRun(argc, argv);
  } catch (const InputError& error) {
    return Report(kInputWrong, error.what());
  } catch (const RunError& error) {
    return Report(kRunFailed, error.what());
  } catch (const std::filesystem::filesystem_error& error) {  // a folder that may not be entered
    return Report(kRunFailed,
                  fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return Report(kRunFailed, "out of memory");
  } catch (const std::exception& error) {
    return Report(kRunFailed, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace emplace

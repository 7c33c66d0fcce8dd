#pragma once

// The command line: a program of commands, each with options and positional arguments. It is parsed
// by CLI11, which compiles slowly and is included by command_line.cc only.
//
//   CommandLine line("emplace", "Finds where every op should run.", VersionText);
//   Command simulate = line.program().AddCommand("simulate", "Simulate one placement");
//   auto options = std::make_shared<SimulateOptions>();
//   simulate.Add("placement", options->placement, "placement file").Type("FILE.json").Required();
//   simulate.Add("--rounds", options->rounds, "steps to simulate").Positive().ShowDefault();
//   simulate.AddFlag("--json", options->json, "numbers as JSON");
//   simulate.Does([options] { return Simulate(*options); });
//
// `emplace simulate p.json --rounds 3` fills *options and returns the lambda as the action.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/console/command_help.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace emplace {

/// Does the work of a command; returns the exit code of the program.
using Action = std::function<int()>;

/// A command, or the program itself with the commands below it. This is a handle: it can be copied
/// freely, and it is valid as long as its CommandLine.
class Command {
 public:
  /// The properties of an argument that was just added. Each function returns the argument itself,
  /// so that calls can be chained. The message about a refused value names the option and the
  /// expected and given values.
  class Argument {
   public:
    /// Makes the argument required.
    Argument& Required();
    /// Shows the present value of the target in the help.
    Argument& ShowDefault();
    /// Names its value in the help: "FILE.json". Default: TEXT, INT, UINT or FLOAT, by the target.
    Argument& Type(const std::string& name);
    /// Requires a number >= 0.
    Argument& NotNegative();
    /// Requires a number > 0.
    Argument& Positive();
    /// Requires a number in [low, high].
    Argument& Range(int low, int high);
    /// Makes the value optional; if it is left out, it is `value`.
    Argument& ValueOptional(const std::string& value);
    /// For a list: takes one value each time; the next word belongs to another argument.
    Argument& OneAtATime();
    /// For a list: splits a value at each `separator`.
    Argument& SplitAt(char separator);

   private:
    friend class Command;
    explicit Argument(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
  };

  /// Adds a command below this one. A command with commands below it has no action of its own:
  /// without one of them it prints its help.
  /// @param sentence  describes the command in the help
  Command AddCommand(const std::string& name, const std::string& sentence);

  /// Adds an argument. Its value is written to `target`, which must live until the command line is
  /// parsed; if the argument is not given, `target` keeps its value. A value that is not a number
  /// of the target's type, or is out of its range, is refused.
  /// @param names  "--costs" or "-o,--output" for an option, "file" for a positional argument
  /// @param help  a sentence that describes the argument
  /// @param target  a std::string, int, std::uint64_t, double or, for a list,
  ///   std::vector<std::string>. A list takes all values up to the next option, and may be given
  ///   several times.
  template <class Target>
  Argument Add(const std::string& names, Target& target, const std::string& help);
  /// Adds an option without a value: `target` becomes true if it is given.
  void AddFlag(const std::string& names, bool& target, const std::string& help);

  /// Sets the text below the help, also for later commands that do not set their own.
  void Footer(const std::string& text);
  /// Sets the action for a command line that names this command.
  void Does(Action action);
  /// Refuses a command line without `argument`, as Required() does. For actions that need the
  /// argument only in some cases.
  /// @throws InputError always
  [[noreturn]] void ThrowMissing(const std::string& argument) const;
  /// Returns the help of this command and of those below it.
  CommandHelp Help() const;

 private:
  friend class CommandLine;
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}
  CLI::App* app_;
  Action* chosen_;  // of the CommandLine
};

/// The request of a command line: a text (the help, the version) or an action.
struct Request {
  std::string text;
  Action action;
};

/// A program's command line. Every command has -h and --help; the program also has --version and
/// the command `help`: `help graph info` is `graph info --help`. Helps are wrapped to the width of
/// stdout (ViewOfOutput()).
class CommandLine {
 public:
  /// @param sentence  describes the program in the help
  /// @param version  makes the text of --version
  CommandLine(const std::string& name,
              const std::string& sentence,
              std::function<std::string()> version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command program() { return {app_.get(), &chosen_}; }

  /// Fills the targets of the arguments. To be called once per process, as main() is.
  /// @return the help if the command line names no command, or only one with commands below it
  /// @throws InputError in one line: the error (for an unknown command or option with the choices),
  ///   and the command whose --help describes the arguments
  Request Parse(int argc, const char* const* argv);

 private:
  Action chosen_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace emplace

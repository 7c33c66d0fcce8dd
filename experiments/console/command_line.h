#pragma once

// What may be typed: a program of commands, each with options and positional arguments. CLI11 reads
// the command line; it is slow to compile, and only command_line.cc knows it.
//
//   CommandLine line("emplace", "Finds where every op should run.", VersionText);
//   Command simulate = line.program().AddCommand("simulate", "Simulate one placement");
//   auto options = std::make_shared<SimulateOptions>();
//   simulate.Add("placement", options->placement, "placement file").Type("FILE.json").Required();
//   simulate.Add("--rounds", options->rounds, "steps to simulate").Positive().ShowDefault();
//   simulate.AddFlag("--json", options->json, "numbers as JSON");
//   simulate.Does([options] { return Simulate(*options); });
//
// `emplace simulate p.json --rounds 3` fills *options; what is to be done is the lambda.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace emplace {

/// Does the work of a command; returns the exit code of the program.
using Action = std::function<int()>;

/// A command, or the program itself with the commands below it. A handle, to be copied freely; it
/// is valid as long as its CommandLine.
class Command {
 public:
  /// What there is to say about an argument that was just added. Each function returns the argument
  /// itself, so that calls can be chained. A value that is refused is told with the option, what
  /// was expected and what was given.
  class Argument {
   public:
    /// The command line is wrong without it.
    Argument& Required();
    /// The help shows the value that the target has now.
    Argument& ShowDefault();
    /// How the help names its value: "FILE.json". Without: TEXT, INT, UINT or FLOAT, by the target.
    Argument& Type(const std::string& name);
    /// The number must be >= 0.
    Argument& NotNegative();
    /// The number must be > 0.
    Argument& Positive();
    /// The number must be in [low, high].
    Argument& Range(int low, int high);
    /// The value may be left out, and is `value` then.
    Argument& ValueOptional(const std::string& value);
    /// Of a list: one value each time the option is given; what follows it is another argument.
    Argument& OneAtATime();
    /// Of a list: a value is split at each `separator`.
    Argument& SplitAt(char separator);

   private:
    friend class Command;
    explicit Argument(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
  };

  /// Adds a command below this one. A command with others below it does nothing itself: alone it
  /// prints its help.
  /// @param sentence  what it does, for the help
  Command AddCommand(const std::string& name, const std::string& sentence);

  /// Adds an argument. Its value goes to `target`, which must live until the command line is
  /// parsed; where the argument is not given, `target` stays as it is. A value that is no number of
  /// the target's type, or out of its range, is refused.
  /// @param names  "--costs" or "-o,--output" for an option, "file" for a positional argument
  /// @param help  a sentence on what it means
  Argument Add(const std::string& names, std::string& target, const std::string& help);
  Argument Add(const std::string& names, int& target, const std::string& help);
  Argument Add(const std::string& names, std::uint64_t& target, const std::string& help);
  Argument Add(const std::string& names, double& target, const std::string& help);
  /// A list: takes all values up to the next option, and may be given several times.
  Argument Add(const std::string& names, std::vector<std::string>& target, const std::string& help);
  /// Adds an option without a value: `target` is true where it is given.
  void AddFlag(const std::string& names, bool& target, const std::string& help);

  /// Text below the help; also below that of commands that are added later without one of their
  /// own.
  void Footer(const std::string& text);
  /// What is to be done when the command line names this command.
  void Does(Action action);
  /// Refuses a command line without `argument`, as if that were Required(). For actions that need
  /// it only sometimes.
  /// @throws InputError always
  [[noreturn]] void ThrowMissing(const std::string& argument) const;

 private:
  friend class CommandLine;
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}
  CLI::App* app_;
  Action* chosen_;  // of the CommandLine
};

/// What a command line asks for: a text (the help, the version), or else an action.
struct Request {
  std::string text;
  Action action;
};

/// A program's command line. Every command has -h and --help, the program also --version and the
/// command `help`: `help graph info` is `graph info --help`. Where stdout has a width, helps are
/// broken to fit (ViewOfOutput()).
class CommandLine {
 public:
  /// @param sentence  what the program does, for the help
  /// @param version  makes the text of --version
  CommandLine(const std::string& name,
              const std::string& sentence,
              std::function<std::string()> version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command program() { return {app_.get(), &chosen_}; }

  /// Fills the targets of the arguments. To be called once, as main() is.
  /// @return the help where no command is named, or only one with others below it
  /// @throws InputError in one line: what is wrong (an unknown command or option with the choices),
  ///   and whose --help tells more
  Request Parse(int argc, const char* const* argv);

 private:
  Action chosen_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace emplace

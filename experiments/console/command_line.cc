#include "experiments/console/command_line.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiments/console/output.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

// Returns "emplace graph info".
std::string FullName(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : FullName(*parent) + " " + app.get_name();
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

// Returns the words after the program's name. A leading `help` is rewritten as --help, and so is
// the lack of a command that must follow.
// @throws InputError for an unknown command; CLI11 would report it as an unexpected argument
std::vector<std::string> CommandWords(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool asks_help = !words.empty() && words[0] == "help";
  if (asks_help) words.erase(words.begin());
  const CLI::App* at = &app;
  for (size_t i = 0;; ++i) {
    const std::vector<std::string> names = CommandNames(*at);
    const bool ends = i == words.size();
    if (asks_help ? ends || names.empty() : ends && !names.empty()) {
      words.resize(i);
      words.emplace_back("--help");
      return words;
    }
    if (names.empty() || words[i].empty() || words[i][0] == '-') return words;
    if (std::find(names.begin(), names.end(), words[i]) == names.end()) {
      throw InputError(
          fmt::format("unknown command \"{}\"{}", words[i], ChoicesHint(words[i], names)));
    }
    at = at->get_subcommand(words[i]);
  }
}

// Wraps the help to the width of stdout.
std::string FitHelp(const std::string& help) {
  constexpr int kDescriptions = 30;  // column at which CLI11 begins the help of an option
  const int columns = ViewOfOutput().columns;
  std::string text;
  for (size_t begin = 0; begin < help.size();) {
    const size_t end = std::min(help.find('\n', begin), help.size());
    const std::string line = help.substr(begin, end - begin);
    const bool is_option = line.starts_with("  ") && columns > kDescriptions;
    text += WrapLines(line, columns, is_option ? kDescriptions : 0) + "\n";
    begin = end + 1;
  }
  return text;
}

[[noreturn]] void ThrowWrongCommandLine(const CLI::App& app, const std::string& message) {
  throw InputError(fmt::format("{}; see `{} --help`", message, FullName(app)));
}

[[noreturn]] void ThrowParseError(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
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
  ThrowWrongCommandLine(*at, message);
}

CommandHelp HelpOf(const CLI::App& app) {
  CommandHelp help{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    ArgumentHelp argument{{}, "", option->get_description(), option->get_positional()};
    if (argument.is_positional) {
      argument.names = {option->get_name()};
    } else {
      for (const std::string& name : option->get_lnames()) argument.names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) argument.names.push_back("-" + name);
    }
    if (option->get_expected_max() > 0) argument.value = option->get_type_name();
    help.arguments.push_back(std::move(argument));
  }
  std::ranges::stable_partition(help.arguments, std::logical_not(), &ArgumentHelp::is_positional);
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    help.commands.push_back(HelpOf(*command));
  }
  return help;
}

// Refuses a value that `accepts` rejects. CLI11 puts the option before the message.
// @param expected  "a number >= 0"   @param type  for the help: "NONNEGATIVE"
template <class Accepts>
CLI::Validator Expect(const std::string& expected, const std::string& type, Accepts accepts) {
  const auto check = [=](const std::string& value) {
    return accepts(value) ? "" : fmt::format("expected {}, got \"{}\"", expected, value);
  };
  return CLI::Validator(check, type);
}

// Returns a function that tests whether a text is a number that satisfies `accepts`.
template <class Accepts>
auto IsNumber(Accepts accepts) {
  return [=](const std::string& text) {
    double number = 0;
    return CLI::detail::lexical_cast(text, number) && accepts(number);
  };
}

}  // namespace

Command::Argument& Command::Argument::Required() {
  option_->required();
  return *this;
}

Command::Argument& Command::Argument::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Command::Argument& Command::Argument::Type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Command::Argument& Command::Argument::NotNegative() {
  option_->check(
      Expect("a number >= 0", "NONNEGATIVE", IsNumber([](double number) { return number >= 0; })));
  return *this;
}

Command::Argument& Command::Argument::Positive() {
  option_->check(
      Expect("a number > 0", "POSITIVE", IsNumber([](double number) { return number > 0; })));
  return *this;
}

Command::Argument& Command::Argument::Range(int low, int high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Command::Argument& Command::Argument::ValueOptional(const std::string& value) {
  option_->expected(0, 1)->default_str(value);
  return *this;
}

Command::Argument& Command::Argument::OneAtATime() {
  option_->allow_extra_args(false);
  return *this;
}

Command::Argument& Command::Argument::SplitAt(char separator) {
  option_->delimiter(separator);
  return *this;
}

Command Command::AddCommand(const std::string& name, const std::string& sentence) {
  app_->require_subcommand(1);
  return {app_->add_subcommand(name, sentence), chosen_};
}

template <class Target>
Command::Argument Command::Add(const std::string& names, Target& target, const std::string& help) {
  CLI::Option* option = app_->add_option(names, target, help);
  if constexpr (std::is_same_v<Target, std::uint64_t>) {  // CLI11 would convert -1 to the largest
    const auto is_whole = [](const std::string& text) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc() && end == text.data() + text.size();
    };
    option->check(Expect(fmt::format("a whole number from 0 to {}", UINT64_MAX), "", is_whole));
  }
  return Argument(option);
}
template Command::Argument Command::Add(const std::string&, std::string&, const std::string&);
template Command::Argument Command::Add(const std::string&, int&, const std::string&);
template Command::Argument Command::Add(const std::string&, std::uint64_t&, const std::string&);
template Command::Argument Command::Add(const std::string&, double&, const std::string&);
template Command::Argument Command::Add(const std::string&,
                                        std::vector<std::string>&,
                                        const std::string&);

void Command::AddFlag(const std::string& names, bool& target, const std::string& help) {
  app_->add_flag(names, target, help);
}

void Command::Footer(const std::string& text) {
  app_->footer(text);
}

void Command::Does(Action action) {
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

void Command::ThrowMissing(const std::string& argument) const {
  ThrowWrongCommandLine(*app_, CLI::RequiredError(argument).what());
}

CommandHelp Command::Help() const {
  return HelpOf(*app_);
}

CommandLine::CommandLine(const std::string& name,
                         const std::string& sentence,
                         std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(sentence, name)) {
  app_->add_subcommand("help", "The help of a command, as in `" + name + " help COMMAND`");
  app_->set_version_flag("--version", std::move(version));
}

CommandLine::~CommandLine() = default;

Request CommandLine::Parse(int argc, const char* const* argv) {
  std::vector<std::string> words = CommandWords(*app_, argc, argv);
  std::ranges::reverse(words);  // CLI11 takes them in reverse order
  try {
    app_->parse(std::move(words));
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app_->exit(asked, text, text);
    return {FitHelp(text.str()), nullptr};
  } catch (const CLI::ParseError& error) {
    ThrowParseError(*app_, error);
  }
  EMPLACE_CHECK(chosen_ != nullptr);
  return {"", chosen_};
}

}  // namespace emplace

#include "experiments/console/completion.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "framework/base/error.h"

namespace emplace {

namespace internal {
extern const std::string_view kBashCompletion, kZshCompletion, kFishCompletion;  // completions/
}

namespace {

// Returns the name that follows "`emplace list " in a help; empty if it is not there.
std::string ShelfIn(const std::string& help) {
  constexpr std::string_view kCommand = "`emplace list ";
  const size_t at = help.find(kCommand);
  if (at == std::string::npos) return "";
  const size_t begin = at + kCommand.size();
  return help.substr(begin, help.find_first_of("` ", begin) - begin);
}

const ArgumentHelp* FindOption(const CommandHelp& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const ArgumentHelp& argument : command.arguments) {
    if (!argument.is_positional && std::ranges::count(argument.names, name) > 0) return &argument;
  }
  return nullptr;
}

// Returns the argument whose value follows these words of a command; nullptr: a flag or nothing.
const ArgumentHelp* NextArgument(const CommandHelp& command, std::span<const std::string> words) {
  size_t positionals = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) {
      ++positionals;
      continue;
    }
    const ArgumentHelp* option = FindOption(command, words[i]);
    const bool takes_word =
        option != nullptr && !option->value.empty() && words[i].find('=') == std::string::npos;
    if (takes_word && ++i == words.size()) return option;
  }
  for (const ArgumentHelp& argument : command.arguments) {
    if (argument.is_positional && positionals-- == 0) return &argument;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> Complete(
    const CommandHelp& program,
    const std::vector<std::string>& words,
    const std::function<std::vector<std::string>(const std::string&)>& list_names) {
  if (words.empty()) return {};
  const CommandHelp* command = &program;
  std::span<const std::string> before(words.begin(), words.end() - 1);
  for (; !command->commands.empty() && !before.empty(); before = before.subspan(1)) {
    const auto next = std::ranges::find(command->commands, before[0], &CommandHelp::name);
    if (before[0] == "help" && command == &program) continue;
    if (next == command->commands.end()) return {};
    command = &*next;
  }
  std::vector<std::string> choices;
  if (words.back().starts_with('-')) {
    for (const ArgumentHelp& argument : command->arguments) {
      if (!argument.is_positional) choices.push_back(argument.names[0]);
    }
  } else if (!command->commands.empty()) {
    for (const CommandHelp& below : command->commands) choices.push_back(below.name);
  } else if (const ArgumentHelp* argument = NextArgument(*command, before)) {
    if (const std::string shelf = ShelfIn(argument->help); !shelf.empty())
      choices = list_names(shelf);
  }
  std::erase_if(choices, [&](const std::string& c) { return !c.starts_with(words.back()); });
  return choices;
}

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") return std::string(internal::kBashCompletion);
  if (shell == "zsh") return std::string(internal::kZshCompletion);
  if (shell == "fish") return std::string(internal::kFishCompletion);
  const std::string shells[] = {"bash", "zsh", "fish"};
  ThrowUnknown("completion", "shell", shell, shells);
}

}  // namespace emplace

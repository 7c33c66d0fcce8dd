#pragma once

// Completion of command lines in shells. The shell calls the program for the choices of a word, so
// that they follow the commands, the options and the menus of this program.

#include <functional>
#include <string>
#include <vector>

#include "experiments/console/command_help.h"

namespace emplace {

/// Returns the choices for the last word of a command line: commands, options, and names where the
/// help of the argument mentions `emplace list WHAT`. Empty if any file may be meant.
/// @param words  the words after the name of the program; the last one may be empty or incomplete
/// @param list_names  returns the names that `emplace list WHAT` shows, for a WHAT
std::vector<std::string> Complete(
    const CommandHelp& program,
    const std::vector<std::string>& words,
    const std::function<std::vector<std::string>(const std::string&)>& list_names);

/// Returns the script that makes a shell complete the command lines of `emplace`.
/// @throws InputError for a shell other than bash, zsh and fish
std::string CompletionScript(const std::string& shell);

}  // namespace emplace

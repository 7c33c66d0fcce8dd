#pragma once

// The manual page of the program, made from the help of its commands.

#include <string>

#include "experiments/console/command_help.h"

namespace emplace {

/// Returns a page of section 1 in roff, with the macros `man`.
/// @param version  of the program, at the foot of the page
std::string ManPage(const CommandHelp& program, const std::string& version);

}  // namespace emplace

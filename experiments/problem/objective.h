#pragma once

// The key `objective` of configs, results and placement files, and the option --objective.

#include <string>
#include <string_view>

#include "framework/search/problem.h"

namespace emplace {

/// Returns the name: "step_time", "period".
std::string_view ToString(Objective objective);

/// Returns the objective of a name.
/// @param where  begins the message: a file with line and column, or an option
/// @throws InputError naming `where` and the choices if no objective has this name
Objective ParseObjective(const std::string& text, const std::string& where);

}  // namespace emplace

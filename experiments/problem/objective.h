#pragma once

// The key `objective` of configs, results and placement files, and the option --objective.

#include <string>
#include <string_view>

#include "framework/search/problem.h"

namespace emplace {

/// Its name: "step_time", "period".
std::string_view ToString(Objective objective);

/// The objective of a name.
/// @param where  stands at the beginning of the message: a file with line and column, or an option
/// @throws InputError naming `where` and the choices if there is none of this name
Objective ParseObjective(const std::string& text, const std::string& where);

}  // namespace emplace

#pragma once

// The key `priority` of configs and the option --priority: the order in which stream and
// interference semantics issue ops (simulator/README.md, "Issue order").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

enum class Priority : std::uint8_t {
  kId,          ///< the default order
  kUpwardRank,  ///< by upward rank
  kGiven,       ///< the order of a placement file
  kSearched,    ///< begins by upward rank; searches may replace it, and it is part of the result
};

/// Returns the name: "id", "upward_rank", "given", "searched".
std::string_view ToString(Priority priority);

/// Returns "id (least id first), upward_rank (...), given (...) or searched (...)" for help texts.
std::string PriorityHelp();

/// Returns the priority of a name.
/// @param where  begins the message: a file with line and column, or an option
/// @throws InputError naming `where` and the choices if no priority has this name; if it is not
///   `id` and the semantics has no issue order
Priority ParsePriority(std::string_view text, std::string_view where, Semantics semantics);

/// Returns the options with the issue order of a priority; unchanged without an issue order.
/// @param given  [num_ops] op ids: the order for Priority::kGiven
SimulatorOptions WithPriority(SimulatorOptions options,
                              Priority priority,
                              const Problem& problem,
                              const std::vector<int>& given = {});

}  // namespace emplace

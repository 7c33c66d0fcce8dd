#pragma once

// What searches and learners begin from, by name: their setting `start`, a list.
//
//   single       all on the device on which everything together costs least
//   single_cpu, single_gpu
//                all on the first device of the class; groups that may not run there as
//                single_device.h tells
//   contiguous   blocks of equal cost over all devices of the class of `single`; where the
//                objective is the period, the split of a linear order that has the least one
//                (ideals/chain_split.h)
//   etf          over all devices of that class
//   heft, cpop   over all devices
//   random       drawn
//   heuristics   contiguous, cpop, etf, heft and single
//   nothing      stands alone: a search begins at a random placement, a learner untrained
//
// So {nothing}, {single_gpu} and {heuristics} give any of them equal starts. What a learner makes
// of a start is told in its header.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// The names above, in alphabetical order.
std::vector<std::string> StartNames();

/// @throws SettingError naming `key` and the choices for an unknown name, an empty list, `nothing`
///   beside others, or a class of devices that the cluster does not have
void ValidateStarts(const Problem& problem,
                    const std::string& key,
                    const std::vector<std::string>& names);

/// One placement a name, but for `heuristics`, in the order of the names. At least one.
/// @param names  valid
/// @param rng  draws `random` and `nothing`
/// @throws Interrupted
std::vector<Placement> MakeStarts(const Problem& problem,
                                  const std::vector<std::string>& names,
                                  Rng& rng,
                                  const Interrupt& interrupt = {});

struct EvaluatedStart {
  Placement placement;
  Outcome outcome;
  std::int64_t evaluations = 1;  ///< that it took to find it among others
};

/// What a learner begins from: the best of MakeStarts(), one evaluation each; none for `nothing`.
/// @throws BudgetExhausted; Interrupted
std::optional<EvaluatedStart> BestStart(const Problem& problem,
                                        const std::vector<std::string>& names,
                                        Evaluator& evaluator,
                                        Rng& rng,
                                        const Interrupt& interrupt = {});

}  // namespace emplace

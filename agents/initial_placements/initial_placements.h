#pragma once

// Initial placements of searches and learners, by name: their setting `start`, a list of names.
//
//   single       all groups on the device with the smallest total cost
//   single_cpu, single_gpu
//                all groups on the first device of the class; groups that may not run there as
//                described in single_device.h
//   contiguous   blocks of equal cost over all devices of the class of `single`; with the period as
//                the objective, the split of a linear order with the smallest period
//                (max_load_dp/chain_split.h)
//   pipeline_stages
//                one stage per device of that class
//   etf          over all devices of that class
//   heft, cpop   over all devices
//   random       a random placement
//   heuristics   contiguous, cpop, etf, heft, pipeline_stages and single
//   FILE.json    the placement of a file (framework/placement/FORMAT.md), also .json.gz: the best
//                one of an earlier search, for example. A group whose ops are on several devices
//                there goes to the one with the largest sum of their costs
//   nothing      the only name: a search begins at a random placement, a learner untrained
//
// With the same list, for example {single_gpu} or {heuristics}, all searches and learners have
// equal starts. The header of each learner describes its use of a start.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns the names above except for files, in alphabetical order.
std::vector<std::string> StartNames();

/// @throws SettingError naming `key` and the choices for an unknown name, an empty list, `none`
///   together with other names, a class of devices that the cluster does not have, or a file that
///   is not a placement of the problem
void ValidateStarts(const Problem& problem,
                    const std::string& key,
                    const std::vector<std::string>& names);

/// Returns at least one placement: one per name (one per member for `heuristics`), in the order of
/// the names.
/// @param names  valid
/// @param rng  for `random` and `none`
/// @throws Interrupted
std::vector<Placement> MakeStarts(const Problem& problem,
                                  const std::vector<std::string>& names,
                                  Rng& rng,
                                  const Interrupt& interrupt = {});

struct EvaluatedStart {
  Placement placement;
  Score score;
  std::int64_t evaluations = 1;  ///< number of starts that were evaluated to find it
};

/// Returns the best of MakeStarts(), with one evaluation each; nullopt for `none`.
/// @throws BudgetExhausted; Interrupted
std::optional<EvaluatedStart> BestStart(const Problem& problem,
                                        const std::vector<std::string>& names,
                                        Evaluator& evaluator,
                                        Rng& rng,
                                        const Interrupt& interrupt = {});

}  // namespace emplace

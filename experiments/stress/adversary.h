#pragma once

// The smallest change of costs that makes another placement win, searched as PISA does (Coleman and
// Krishnamachari, "PISA: An Adversarial Approach To Comparing Task Graph Scheduling Algorithms",
// arXiv 2403.07120): simulated annealing over perturbed problems. A direction has a number in
// [-1, 1] for every op and link; the perturbation of size epsilon has the factors
// 1 + epsilon * direction. The annealing turns the direction so that the winner loses more of its
// lead; whenever it loses all of it, epsilon is made as small as this direction allows. Some moves
// turn a link or a stretch of ops to one side; others slow down the ops on a critical path of the
// winner and speed up those of the other placement.
//
// What is found is an upper bound on the smallest epsilon: none may be found where there is one.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "experiments/run/candidate.h"
#include "experiments/stress/perturbation.h"
#include "simulator/simulator.h"

namespace emplace {

struct AdversaryOptions {
  double range = 0.1;  ///< largest epsilon, < 1
  int steps = 400;     ///< perturbed problems that each chain simulates, about; 0: there is none
  int chains = 4;      ///< annealed independently; the smallest epsilon counts
};

struct Adversary {
  std::optional<double> epsilon;  ///< none: the winner stays within the range, as far as was found
  Perturbation perturbation;      ///< of that size, under which the winner loses; else empty
  int evaluations = 0;            ///< perturbed problems simulated
};

/// @param winner, other  placements of the problem, `other` not better
/// @param jobs      chains at a time; 0: one per core. Changes no result
/// @param simulated  called after each perturbed problem, from any thread; may throw to give up
Adversary FindAdversary(const std::shared_ptr<const Problem>& problem,
                        const SimulatorOptions& how,
                        const Candidate& winner,
                        const Candidate& other,
                        const AdversaryOptions& options,
                        std::uint64_t seed,
                        int jobs,
                        const std::function<void()>& simulated);

}  // namespace emplace

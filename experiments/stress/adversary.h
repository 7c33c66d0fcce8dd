#pragma once

// Finds the smallest change of costs under which another placement wins. The search is that of PISA
// (Coleman and Krishnamachari, "PISA: An Adversarial Approach To Comparing Task Graph Scheduling
// Algorithms", arXiv 2403.07120): simulated annealing over perturbed problems. A direction has a
// number in [-1, 1] for every op and link; the perturbation of size epsilon has the factors 1 +
// epsilon * direction. The annealing changes the direction to reduce the lead of the winner. When
// the winner loses its lead, epsilon is reduced as far as this direction allows. Some moves set a
// link or a sequence of ops to one side; others slow down the ops on a critical path of the winner
// and speed up those of the other placement.
//
// The result is an upper bound on the smallest epsilon: the search may miss one that exists.

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
  int steps = 400;     ///< approximate number of perturbed problems per chain; 0: no adversary
  int chains = 4;      ///< independent annealings; the smallest epsilon counts
};

struct Adversary {
  double range = 0;                          ///< AdversaryOptions::range
  std::optional<double> epsilon;             ///< none: no epsilon within the range was found
  std::optional<Perturbation> perturbation;  ///< of that size, under which the winner loses
  int evaluations = 0;                       ///< simulated perturbed problems

  void Visit(RecordVisitor& v);
};

/// @param winner, other  placements of the problem, `other` not better
/// @param jobs       concurrent chains; 0: one per core. Does not change the result
/// @param simulated  called after each perturbed problem, from any thread; may throw to abort
Adversary FindAdversary(const std::shared_ptr<const Problem>& problem,
                        const SimulatorOptions& how,
                        const Candidate& winner,
                        const Candidate& other,
                        const AdversaryOptions& options,
                        std::uint64_t seed,
                        int jobs,
                        const std::function<void()>& simulated);

}  // namespace emplace

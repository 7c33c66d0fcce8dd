#pragma once

// Perturbs a problem: ops take longer or shorter, links are slower or faster.

#include <memory>
#include <vector>

#include "experiments/run/candidate.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"
#include "simulator/simulator.h"

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// Factors > 0; 1: unchanged.
struct Perturbation {
  std::vector<double> op;       ///< [num_ops] on the op's cost, on every device
  std::vector<double> channel;  ///< [num_channels] on the latency; divides the bandwidth

  void Visit(RecordVisitor& v);
};

/// Returns the outcomes of placements of the problem. Each has its own issue order if it has one
/// and the semantics uses issue orders.
std::vector<Outcome> SimulateCandidates(const std::shared_ptr<const Problem>& problem,
                                        const SimulatorOptions& how,
                                        const std::vector<Candidate>& candidates,
                                        const OutcomeDetail& detail = {});

/// Returns factors of 1.
Perturbation NoPerturbation(const Problem& problem);

/// Draws independent log-normal factors exp(noise * z), z standard normal: their median is 1.
/// @param noise  0.1: about 10 %
Perturbation DrawPerturbation(const Problem& problem, double noise, Rng& rng);

/// Applies the factors to a problem. Costs and latencies are rounded to the nearest nanosecond,
/// bandwidths to the nearest byte per second and at least 1; a factor of 1 changes nothing.
/// @throws InputError as Problem does, if times could overflow
std::shared_ptr<const Problem> Perturb(const std::shared_ptr<const Problem>& problem,
                                       const Perturbation& factors);

}  // namespace emplace

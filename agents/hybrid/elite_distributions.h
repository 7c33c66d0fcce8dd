#pragma once

// What a population of good placements has in common, as a distribution of devices for every group:
// that of Post (../post/post_policy.h), moved towards the elites by cross-entropy minimisation
//
//   p_g(d) <- (1 - epsilon) (step s_g(d) + (1 - step) p_g(d)) + epsilon / |A_g|,
//
// A_g the devices that group g may run on, s_g(d) the share of the elites that have g on d, the
// best of k elites counting k times, the next one k - 1 times, the worst once [ours]. Post takes
// all elites alike and step 1 [V].
//
// Equal devices have no names [ours]: two placements that differ by exchanging two of them are the
// same, but their shares would be one half each, everywhere. So an elite is first renamed to
// resemble the most likely placement, p's mode, by MatchDevices() (../genetic/crossover.h).
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <span>
#include <vector>

#include "agents/common/state.h"
#include "agents/hybrid/coupled_draws.h"
#include "agents/post/post_policy.h"
#include "framework/base/random.h"
#include "framework/learn/matrix.h"
#include "framework/learn/parameter.h"
#include "framework/search/problem.h"

namespace emplace {

class EliteDistributions {
 public:
  struct Options {
    double cohesion = 0;  ///< of draws: coupled_draws.h
    double epsilon = 0;
    bool align = true;  ///< false: elites keep the names of their devices
  };
  /// All devices alike. @param problem  outlives this
  EliteDistributions(const Problem& problem, const Options& options);

  /// Forgets what was, and takes the shares of these elites. @param elites  best first, at least
  /// one
  void Begin(std::span<const Placement* const> elites);
  /// One step towards them.
  void Learn(std::span<const Placement* const> elites, double step);
  /// The devices of a placement get a probability each, the others share the rest.
  void MakeNear(const Placement& placement, double probability) {
    policy_.MakeNear(placement, probability);
  }
  void MakeUniform() { policy_.MakeUniform(); }
  std::vector<Placement> Draw(int count, Rng& rng) const;
  /// @return [num_groups, num_devices]; 1 where a group has no choice
  Matrix Probabilities() const;
  /// The most likely placement.
  Placement Mode() const;

  void Save(StateWriter& writer) const;
  void Load(StateReader& reader);

 private:
  /// @param reference  what elites are renamed to resemble
  void StepTowards(std::span<const Placement* const> elites,
                   const Placement& reference,
                   double step);

  const Problem& problem_;
  Options options_;
  ParameterSet parameters_;
  PostPolicy policy_;
  CoupledDraws draws_;
};

}  // namespace emplace

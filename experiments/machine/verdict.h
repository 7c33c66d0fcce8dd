#pragma once

// Sentences on whether simulated times can be trusted: the first line of `emplace verify`,
// `validate` and `profile`.

#include <string>

#include "experiments/machine/verification.h"
#include "framework/cost/cost_table.h"

namespace emplace {

/// Measurements with more noise than this (share) cannot judge a simulation.
inline constexpr double kTooNoisy = 0.2;
/// Nor can they if the reference placement or the reference product changed by more than this
/// share.
inline constexpr double kMostDrift = 0.1;
/// A simulation that cannot resolve differences smaller than this share is not trusted.
inline constexpr double kLeastResolved = 0.25;

/// Returns the first verdict that applies to a verification:
///   too noisy to judge: the reference placement drifted by more than kMostDrift, or
///     Fidelity::repeat_noise or median_noise is above kTooNoisy, or there is one round;
///   wrong costs: the ops took more than kSlower times their costs, or less than 1 / kSlower times,
///     unless the costs were calibrated in the same rounds;
///   too few placements: with their errors;
///   do not trust it: the resolved difference is above kLeastResolved;
///   trust it for differences above the resolved one, rounded up to whole percents.
/// @param summary  complete except for its verdict
std::string VerdictOf(const Verification& verification, const VerificationSummary& summary);

/// Returns the verdict on a profile from its held-out placements, for the graph with the largest
/// resolved difference. Too noisy: the machine drifted (kDriftProperty), or half of the 95 %
/// intervals of the isolated timings is above kTooNoisy of their medians, as a mean weighted by
/// time.
std::string VerdictOf(const CostTable& table);

}  // namespace emplace

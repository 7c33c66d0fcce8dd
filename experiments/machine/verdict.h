#pragma once

// One sentence on whether simulated times can be trusted, the first line of `emplace verify`,
// `validate` and `profile`.

#include <string>

#include "experiments/machine/verification.h"
#include "framework/cost/cost_table.h"

namespace emplace {

/// Measurements whose repeats are further apart than this judge no simulation (shares).
inline constexpr double kTooNoisy = 0.2;
/// Likewise if the reference placement or the reference product has changed by more than this.
inline constexpr double kMostDrift = 0.1;
/// A simulation that resolves no smaller differences than this is not to be trusted.
inline constexpr double kLeastResolved = 0.25;

/// Says of a verification, the first that applies:
///   too noisy to judge: the reference placement drifted by more than kMostDrift, or
///     Fidelity::repeat_noise or median_noise is above kTooNoisy, or there is one round;
///   wrong costs: the ops took kSlower times what their costs say, or that much less, unless the
///     costs were calibrated in the same rounds;
///   too few placements: how far off they are;
///   do not trust it: the resolved difference is above kLeastResolved;
///   trust it for differences above the resolved one, rounded up to whole percents.
/// @param summary  complete but for its verdict
std::string VerdictOf(const Verification& verification, const VerificationSummary& summary);

/// Says likewise of a profile, by its held-out placements: of the graph whose resolved difference
/// is the largest. Too noisy: the machine drifted (kDriftProperty), or half of the 95 % intervals
/// of the timings alone is above kTooNoisy of their medians, mean weighted by time.
std::string VerdictOf(const CostTable& table);

}  // namespace emplace

#pragma once

// How sure the simulation is, and what its errors go with: the part of a verification's report that
// is about intervals (profilers/statistics/prediction_interval.h) and residuals
// (profilers/statistics/residuals.h).

#include <string>

#include "experiments/machine/verification.h"

namespace emplace {

/// "coverage         28 of 30 ...\n": a line of a summary.
std::string SummaryLine(const char* name, const std::string& value);

/// How wide the intervals are and what from, how many measured steps they cover, and which
/// placements they call equal: a line each. Without intervals the line that says why.
std::string FormatIntervalSummary(const VerificationSummary& summary,
                                  const Verification& verification);

/// Whether the interval of a placement overlaps that of the best simulated one, which it does
/// itself.
/// @param verification  whose intervals have bounds
bool IsEqualToBest(const Verification& verification, const VerifiedPlacement& placement);

/// A table in GitHub's Markdown, a row per trait; below it whether anything is systematic.
std::string FormatResidualMarkdown(const ResidualReport& report);

}  // namespace emplace

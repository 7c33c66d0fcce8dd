#pragma once

// The parts of a verification's report on the accuracy of the simulation
// (profilers/statistics/prediction_interval.h), on differences between placements (paired_ratio.h)
// and on systematic errors (residuals.h).

#include <string>

#include "experiments/machine/verification.h"

namespace emplace {

/// Returns a line of a summary: "coverage         28 of 30 ...\n".
std::string SummaryLine(const char* name, const std::string& value);

/// Returns the width and the source of the intervals, and the number of measured steps that they
/// cover, a line each. Without intervals, returns one line with the reason.
std::string FormatIntervalSummary(const VerificationSummary& summary,
                                  const Verification& verification);

/// Returns the placement that was measured to be the fastest, the placements not distinguishable
/// from it, and the number of all pairs that differ, a line each.
/// @param summary  with pairs
std::string FormatPairSummary(const VerificationSummary& summary, const Verification& verification);

/// Returns how much longer than the fastest a placement takes, with the 95 % interval of paired
/// steps: "+3.1 % [+2.0 .. +4.4 %]"; "+0.4 % [-1.2 .. +1.9 %], not distinguishable" if the interval
/// includes 0; without an interval if there are too few rounds.
std::string FormatAgainstFastest(const PairedRatio& ratio);

/// Returns a table in GitHub's Markdown, a row per trait, and below it whether an error is
/// systematic.
std::string FormatResidualMarkdown(const ResidualReport& report);

}  // namespace emplace

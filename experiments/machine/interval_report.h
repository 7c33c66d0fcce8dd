#pragma once

// How sure the simulation is, which placements differ, and what the errors go with: the part of a
// verification's report that is about intervals (profilers/statistics/prediction_interval.h),
// paired steps (paired_ratio.h) and residuals (residuals.h).

#include <string>

#include "experiments/machine/verification.h"

namespace emplace {

/// "coverage         28 of 30 ...\n": a line of a summary.
std::string SummaryLine(const char* name, const std::string& value);

/// How wide the intervals are and what from, and how many measured steps they cover: a line each.
/// Without intervals the line that says why.
std::string FormatIntervalSummary(const VerificationSummary& summary,
                                  const Verification& verification);

/// Which placement was measured to be the fastest, which cannot be told from it, and how many of
/// all pairs differ: a line each.
/// @param summary  with pairs
std::string FormatPairSummary(const VerificationSummary& summary, const Verification& verification);

/// "+3.1 % [+2.0 .. +4.4 %]": how much longer than the fastest a placement takes, with the 95 %
/// interval of paired steps; "+0.4 % [-1.2 .. +1.9 %], not distinguishable" if that includes 0;
/// without interval if there are too few rounds for one.
std::string FormatAgainstFastest(const PairedRatio& ratio);

/// A table in GitHub's Markdown, a row per trait; below it whether anything is systematic.
std::string FormatResidualMarkdown(const ResidualReport& report);

}  // namespace emplace

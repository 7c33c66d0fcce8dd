#pragma once

// Reports of verifications: text and Markdown for people, JSON for programs. The figures are those
// of profilers/statistics/fidelity.h.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/machine/verification.h"
#include "profilers/statistics/residuals.h"

namespace emplace {

struct GraphFidelity {
  Verification verification;
  VerificationSummary summary;
  std::vector<Ablation> ablations;
};

/// Returns a share in percent: "2.13 %"; "-" for NaN, a figure that does not exist.
/// @param digits  after the decimal point
std::string FormatShare(double share, int digits = 2);

/// Returns a table with a line per placement, the fastest measured one first: step time measured
/// (median and 95 % interval) and simulated, error, noise, paired difference from the fastest (with
/// two placements or more), the interval of the simulated time (if there is one) and whether it
/// covers the measured time, busy time per device, peak memory. Below the table are the placements
/// that could not be executed.
std::string FormatVerification(const Verification& verification,
                               const VerificationSummary& summary);

/// Returns the verdict, the warnings, and the figures over all placements, a line each, the most
/// important first.
std::string FormatSummary(const VerificationSummary& summary, const Verification& verification);

/// Returns tables in GitHub's Markdown. The first has a row per graph and, for several graphs, one
/// for all: means, but the largest errors and regrets, and the share of all placements that the
/// intervals cover. The ablations follow as mean error (MAPE) and Kendall's tau, then
/// PooledResiduals().
std::string FormatFidelityMarkdown(std::span<const GraphFidelity> graphs);

/// Returns the correlations of the errors over all graphs; none if no graph has three placements.
std::optional<ResidualReport> PooledResiduals(std::span<const GraphFidelity> graphs);

/// Returns the whole verification: {"graph", "cluster", "mode", "rounds", "fidelity": {...},
/// "placements": [...], ...}; figures that do not exist are null.
nlohmann::ordered_json ToJson(const Verification& verification,
                              const VerificationSummary& summary,
                              std::span<const Ablation> ablations = {});

// Parts of the reports.

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
/// Returns {"graphs", "placements", "shuffles", "largest_above", "systematic", "traits": {"crossing
/// bytes": {...}, ...}}.
nlohmann::ordered_json ResidualJson(const ResidualReport& report);

}  // namespace emplace

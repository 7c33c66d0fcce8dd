#pragma once

// What verifications say: as text and Markdown for people, as JSON for programs. The figures are
// those of profilers/statistics/fidelity.h.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/machine/verification.h"
#include "profilers/statistics/residuals.h"

namespace emplace {

/// The verification of one graph, with its figures.
struct GraphFidelity {
  Verification verification;
  VerificationSummary summary;
  std::vector<Ablation> ablations;
};

/// A share in percent: "2.13 %"; "-" for NaN, a figure that does not exist.
/// @param digits  behind the point
std::string FormatShare(double share, int digits = 2);

/// A table with a line per placement, the fastest as measured first: step time measured (median and
/// 95 % interval) and simulated, error, noise, how much longer than the fastest by paired steps (if
/// there are two placements), the interval of the simulated time (if it has one) with whether it
/// covers the measured one, busy time per device, peak memory; below it the placements that could
/// not be executed.
std::string FormatVerification(const Verification& verification,
                               const VerificationSummary& summary);

/// The verdict, the warnings, and the figures over all placements, by weight: a line each.
std::string FormatSummary(const VerificationSummary& summary, const Verification& verification);

/// Tables in GitHub's Markdown: a row per graph and, for several, one for all (means, but the
/// largest of errors and regrets, and the share of all placements that intervals cover); then the
/// ablations as mean error (MAPE) and Kendall's tau; then PooledResiduals().
std::string FormatFidelityMarkdown(std::span<const GraphFidelity> graphs);

/// What the errors go with, over all graphs. Nothing if no graph has three placements.
std::optional<ResidualReport> PooledResiduals(std::span<const GraphFidelity> graphs);

/// All of it: {"graph", "cluster", "mode", "rounds", "fidelity": {...}, "placements": [...], ...};
/// figures that do not exist are null.
nlohmann::ordered_json ToJson(const Verification& verification,
                              const VerificationSummary& summary,
                              std::span<const Ablation> ablations = {});

/// {"graphs", "placements", "shuffles", "largest_above", "systematic", "traits": {"crossing bytes":
/// {...}, ...}}
nlohmann::ordered_json ResidualJson(const ResidualReport& report);

}  // namespace emplace

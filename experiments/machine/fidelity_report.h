#pragma once

// What verifications tell people (text, Markdown) and programs (JSON).

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/machine/verification.h"

namespace emplace {

/// One graph of a validation.
struct GraphFidelity {
  Verification verification;
  VerificationSummary summary;
  std::vector<Ablation> ablations;
};

/// "2.13 %"; "-" for a figure that does not exist (NaN). @param digits  behind the point
std::string FormatShare(double share, int digits = 2);

/// A line per placement, best measured first: step time measured (median and 95 % interval) and
/// simulated, error, noise, busy time per device, peak memory.
std::string FormatVerification(const Verification& verification);

/// The figures, a line each; then the warnings.
std::string FormatSummary(const VerificationSummary& summary, const Verification& verification);

/// A row per graph and, for several, one for all (means; errors and regrets: the largest); then the
/// ablations as MAPE and Kendall's tau. GitHub's Markdown.
std::string FormatFidelityMarkdown(std::span<const GraphFidelity> graphs);

/// {"graph", "cluster", "mode", "rounds", "fidelity": {...}, "placements": [...], ...}; figures
/// that do not exist are null.
nlohmann::ordered_json ToJson(const Verification& verification,
                              const VerificationSummary& summary,
                              std::span<const Ablation> ablations = {});

}  // namespace emplace

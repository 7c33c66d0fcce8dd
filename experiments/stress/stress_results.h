#pragma once

// The results of `emplace stress`, in the results file (framework/results/FORMAT.md, `/stress`) and
// as text.

#include <string>

#include "experiments/provenance/provenance.h"
#include "experiments/stress/stress.h"
#include "framework/results/record.h"

namespace emplace {

/// Writes /stress and replaces an earlier one.
void WriteStress(ResultsFile& file, const StressResult& result, const Provenance& provenance);

/// Reads /stress. The scenarios are in the order of their names.
StressResult ReadStress(const ResultsReader& reader);

/// Returns a regret for people: "1.20 %"; "OOM" for an infinite one, "–" for none.
std::string RegretShare(double share);

/// Returns the mean regret under noise of an agent's best placement in this file; NaN without
/// /stress, or if /stress has no placement of the agent. @param agent  its label
double ReadNoiseRegret(const ResultsReader& reader, const std::string& agent);

/// Returns Markdown: a table of the scenarios, one of the placements under noise, and the result of
/// the adversary.
std::string StressMarkdown(const StressResult& result);

/// Returns CSV (RFC 4180) with a line per scenario, draw and placement:
/// scenario,draw,placement,step_time_ns,regret. A placement that does not fit has no time and the
/// regret "inf". The scenario "unchanged" contains the placements without changes.
std::string StressCsv(const StressResult& result);

/// Returns JSON. A figure that is infinite or undefined is null.
///
///   {"draws", "noise", "seed",
///    "placements": [{"label", "step_time_ns", "noise_regret"}],
///    "scenarios": [{"name", "kendall_tau", "top_share", "regret", "worst_regret", "regret_ns",
///                   "step_times_ns": [draws][placements]}],
///    "adversary": {"winner", "other", "range", "epsilon", "evaluations"} or null}
std::string StressJson(const StressResult& result);

}  // namespace emplace

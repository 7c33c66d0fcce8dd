#pragma once

// The results of a run in HDF5, laid out as framework/results/FORMAT.md tells.

#include <optional>

#include "experiments/problem/load.h"
#include "experiments/provenance/provenance.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"

namespace emplace {

/// Writes /config and /problem: what is known before the first search.
void WriteRunHeader(ResultsFile& file,
                    const RunPlan& plan,
                    const LoadedProblem& problem,
                    const ProblemBounds& bounds,
                    const Provenance& provenance);

/// Writes the baseline of speed-ups into /problem; nothing where there is none.
void WriteBestSingleDevice(ResultsFile& file, const std::optional<SingleDevice>& best);

/// Reads it; none as well from a file of an earlier program, which does not say it.
std::optional<SingleDevice> ReadBestSingleDevice(const ResultsReader& reader);

/// Writes /agents/<label> in the place of what an earlier part of the same search left there. With
/// a contracted problem best/placement is per op of the original graph, and best/outcome is what
/// the search saw of the contracted one.
void WriteSearch(ResultsFile& file,
                 const LoadedProblem& problem,
                 const AgentSpec& spec,
                 int steps_per_measurement,
                 const SearchResult& result);

/// The interval of the step times that the run simulates. Held-out placements tell it of step times
/// of the whole graph; for periods and contracted graphs it has no bounds.
StepInterval IntervalOfRun(const RunPlan& plan, const LoadedProblem& problem);

/// Shares of the time of a placement's ops by the source of their costs, in the exact problem.
RungShares SharesOf(const LoadedProblem& problem, const Placement& placement);

}  // namespace emplace

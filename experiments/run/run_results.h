#pragma once

// The results of a run in HDF5, with the layout of framework/results/FORMAT.md.

#include <optional>

#include "experiments/problem/load.h"
#include "experiments/provenance/provenance.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"

namespace emplace {

/// Writes /config and /problem: everything that is known before the first search.
void WriteRunHeader(ResultsFile& file,
                    const RunPlan& plan,
                    const LoadedProblem& problem,
                    const ProblemBounds& bounds,
                    const Provenance& provenance);

/// Writes the baseline of speed-ups to /problem; writes nothing if there is none.
void WriteBestSingleDevice(ResultsFile& file, const std::optional<SingleDevice>& best);

/// Reads the baseline; none if the file does not contain it, as those of earlier programs.
std::optional<SingleDevice> ReadBestSingleDevice(const ResultsReader& reader);

/// Writes /agents/<label> and replaces the group of an earlier part of the same search. For a
/// contracted problem best/placement is per op of the original graph, and best/outcome is the
/// outcome of the contracted problem in the search.
void WriteSearch(ResultsFile& file,
                 const LoadedProblem& problem,
                 const AgentSpec& spec,
                 int steps_per_measurement,
                 const SearchResult& result);

/// Returns the interval of the step times that the run simulates. Held-out placements measure step
/// times of the whole graph only; for periods and contracted graphs the interval has no bounds.
StepInterval IntervalOfRun(const RunPlan& plan, const LoadedProblem& problem);

/// Returns the shares of a placement's op time by the source of the costs, in the exact problem.
CostSourceShares SharesOf(const LoadedProblem& problem, const Placement& placement);

}  // namespace emplace

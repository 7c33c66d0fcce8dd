#pragma once

// The results of a run in HDF5; the layout is told in framework/results/results_file.h.

#include "experiments/load.h"
#include "experiments/provenance.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"
#include "framework/results/results_file.h"
#include "simulator/bounds.h"

namespace emplace {

/// The bound that holds for the objective: a pipelined step is not bound by the critical path. [ns]
Nanos BoundFor(Objective objective, const Bounds& bounds);

/// Attributes version, commit, host, cpu, gpus and date of /config.
void WriteProvenance(ResultsFile& file, const Provenance& provenance);

/// A compound table with the columns of `updates`.
void WriteUpdates(ResultsFile& file, const std::string& dataset, const UpdateTable& updates);

/// /config and /problem: what is known before the first search.
void WriteRunHeader(ResultsFile& file,
                    const RunPlan& plan,
                    const LoadedProblem& problem,
                    const Bounds& bounds,
                    const Provenance& provenance);

/// /agents/<label>, in the place of an earlier part of the same search. In `evaluations`,
/// best_step_time_ns is NaN until a placement fits. With a contracted problem best/placement is per
/// op of the original graph and best/outcome that of the contracted one.
void WriteSearch(ResultsFile& file,
                 const LoadedProblem& problem,
                 const AgentSpec& spec,
                 int steps_per_measurement,
                 const SearchResult& result);

/// Shares of a placement's time by the source of the costs, in the exact problem.
RungShares SharesOf(const LoadedProblem& problem, const Placement& placement);

}  // namespace emplace

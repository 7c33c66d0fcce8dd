#pragma once

// The problem of a run, and whether a results file is of the same one
// (framework/results/FORMAT.md, `/problem`).

#include <string>

#include "experiments/problem/load.h"
#include "experiments/run/run_config.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "framework/search/problem_id.h"
#include "simulator/simulator.h"

namespace emplace {

/// The id of a problem that is simulated. @param contracted  searches see the graph of the groups
ProblemId IdOf(const Problem& exact, bool contracted, const SimulatorOptions& how);
/// The same as a run's plan says. @throws InputError as RunPlan::SimulatorFor() does
ProblemId IdOf(const RunPlan& plan, const LoadedProblem& problem);

/// Name of the attribute, or key, that holds a part of an id: "id_graph".
std::string IdKey(ProblemPart part);
/// A part in a message: "graph "nmt"", "the costs".
std::string PartText(ProblemPart part, const Problem& problem);

void WriteProblemId(ResultsFile& file, const ProblemId& id);
/// @throws InputError if the file does not say it
ProblemId ReadProblemId(const ResultsReader& reader);

/// The parts that are others now than in the results, as "another version of graph "nmt", the
/// costs"; empty if none is.
/// @param problem  has the id `now`
std::string DescribeChanges(const ResultsReader& reader,
                            const ProblemId& now,
                            const Problem& problem,
                            ProblemParts parts = kAllParts);

/// Refuses a results file whose graph, cluster or costs have changed since, under the same names.
/// @param problem  of the files as they are
/// @throws InputError naming the results file and the parts that differ
void RequireSameFiles(const std::string& results,
                      const Problem& problem,
                      ProblemParts parts = kPartsOfFiles);

}  // namespace emplace

#pragma once

// The identity of a run's problem, and the comparison with the problem of a results file
// (framework/results/FORMAT.md, `/problem`).

#include <string>

#include "experiments/problem/load.h"
#include "experiments/run/run_config.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "framework/search/problem_id.h"
#include "simulator/simulator.h"

namespace emplace {

/// Returns the id of a problem as it is simulated.
/// @param simulate_groups  the searches see the graph of the groups
ProblemId IdOf(const Problem& exact, bool simulate_groups, const SimulatorOptions& how);
/// Returns the id of the problem of a plan. @throws InputError as RunPlan::SimulatorFor() does
ProblemId IdOf(const RunPlan& plan, const LoadedProblem& problem);

/// Returns the name of the attribute or key that stores a part of an id: "id_graph".
std::string IdKey(ProblemPart part);
/// Returns the text for a part in a message: "graph "nmt"", "the costs".
std::string PartText(ProblemPart part, const Problem& problem);

void WriteProblemId(ResultsFile& file, const ProblemId& id);
/// @throws InputError if the file does not contain the id
ProblemId ReadProblemId(const ResultsReader& reader);

/// Lists the parts that differ between the results and now, as "another version of graph "nmt", the
/// costs"; empty if all are equal.
/// @param problem  has the id `now`
std::string DescribeChanges(const ResultsReader& reader,
                            const ProblemId& now,
                            const Problem& problem,
                            ProblemParts parts = kAllParts);

/// Checks that graph, cluster and costs of a results file have not changed under the same names.
/// @param problem  as read from the current files
/// @throws InputError naming the results file and the parts that differ
void RequireSameFiles(const std::string& results,
                      const Problem& problem,
                      ProblemParts parts = kPartsOfFiles);

}  // namespace emplace

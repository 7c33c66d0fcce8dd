#pragma once

// Reads an earlier run from its results file: its problem and the placements that it found. Also
// reads a placement file as a run with one placement.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/problem/load.h"
#include "experiments/problem/priority.h"
#include "experiments/run/candidate.h"
#include "experiments/run/run_config.h"
#include "framework/cost/cost_table.h"
#include "framework/results/results_reader.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

/// Names or paths of files that replace those named in the results, for example after files were
/// moved; empty: as recorded. Costs "none": no cost file.
struct RunFiles {
  std::string graph, cluster, costs;
};

/// A run as recorded in its results file.
struct EarlierRun {
  std::string name;  ///< of the file, for messages
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CostTable> costs;  ///< nullptr: costs of the graph and the roofline model
  std::filesystem::path costs_path;        ///< empty without a cost table
  std::vector<CoarseningPass> passes;      ///< coarsening
  Objective objective = Objective::kStepTime;
  bool simulate_groups = false;             ///< the agents saw the graph of the groups
  Semantics semantics = Semantics::kQueue;  ///< semantics of the search
  bool count_gaps = false;                  ///< SimulatorOptions::count_gaps
  Priority priority = Priority::kId;        ///< rule of the issue order
  std::vector<int> issue_order;             ///< [num_ops] op ids; empty: by id
  /// The best placement of each agent and seed as a device per op, [num_ops], the best first. A
  /// placement that several searches found occurs once with all their labels, "etf, m_etf".
  std::vector<Candidate> found;
};

/// @throws InputError naming the results file and the conflict: a missing file, a graph of another
///   name or with other ops, a cluster with other devices; or if the run found no placement
EarlierRun ReadRun(const std::filesystem::path& results, const RunFiles& files = {});

/// Reads the placements of the searches in another results file, as EarlierRun::found.
/// @param run  a run of the same problem (ResultRun::problem)
/// @throws InputError as ReadRun()
std::vector<Candidate> ReadCandidates(const std::filesystem::path& results, const EarlierRun& run);

/// Returns the candidate of the search with this label. A label without the seed selects the best
/// seed of an agent; an empty label selects the best candidate of all.
/// @param where  file and option, for messages
/// @throws InputError with the choices
const Candidate& FindCandidate(const EarlierRun& run,
                               const std::string& label,
                               const std::string& where);

/// A placement file and the simulation that it records.
struct PlacedRun {
  /// Settings that are missing in the file have the defaults of a run config. `found` contains the
  /// one placement, with the path as its label.
  EarlierRun run;
  std::optional<SimulatedAs> simulated;
};

/// Reads a placement file as a run that found one placement.
/// @param files  graph and cluster are required; costs: empty for those named in the file
/// @throws InputError as ReadPlacement(), for unknown settings in `simulated`, and for missing
///   costs
PlacedRun ReadPlacedRun(const std::string& placement, const RunFiles& files);

/// Returns the simulation of a run in the form that placement files record, without a step time.
SimulatedAs DescribeSimulation(const EarlierRun& run);
SimulatedAs DescribeSimulation(const RunPlan& plan);

/// Returns the problem of the run with every op in its own group.
/// @param where      name of the run in messages about costs
/// @param semantics  semantics of the simulation that uses the costs; nullopt: those of the run
std::shared_ptr<const Problem> MakeExactProblem(const EarlierRun& run,
                                                const std::string& where,
                                                Objective objective = Objective::kStepTime,
                                                std::optional<Semantics> semantics = {});

/// Returns the problem as the run had it, with its groups. @param where  as above
LoadedProblem MakeRunProblem(const EarlierRun& run, const std::string& where);

/// Returns the options with which the run simulated every op of its graph.
/// @param problem  MakeExactProblem()
SimulatorOptions HowSimulated(const EarlierRun& run, const Problem& problem);

/// Returns the options with which the run simulated the problem of its agents.
/// @param searched  LoadedProblem::searched
SimulatorOptions HowSearched(const EarlierRun& run, const Problem& searched);

}  // namespace emplace

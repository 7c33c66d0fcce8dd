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
#include "framework/plan/planned_graph.h"
#include "framework/results/results_reader.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

/// Names or paths of files that replace those named in the results, for example after files were
/// moved; empty: as recorded. Costs "none": no cost file.
struct RunFiles {
  std::string graph, cluster, costs;
};

/// The problem of a run and its simulation, as recorded in the results file.
struct EarlierRun {
  std::string name;  ///< of the file, for messages
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CostTable> costs;  ///< nullptr: costs of the graph and the roofline model
  std::filesystem::path costs_path;        ///< empty without a cost table
  std::vector<CoarseningPass> passes;      ///< coarsening
  std::vector<PlannedOp> origin;           ///< [num_ops] if the run has a plan, else empty
  Objective objective = Objective::kStepTime;
  bool simulate_groups = false;             ///< the agents saw the graph of the groups
  Semantics semantics = Semantics::kQueue;  ///< semantics of the search
  bool count_gaps = false;                  ///< SimulatorOptions::count_gaps
  Priority priority = Priority::kId;        ///< rule of the issue order
  std::vector<int> issue_order;             ///< [num_ops] op ids; empty: by id
};

/// @throws InputError naming the results file and the conflict: a missing file, a graph of another
///   name or with other ops, a cluster with other devices
EarlierRun ReadRun(const ResultsReader& reader, const RunFiles& files = {});

/// Reads the best placement of each agent and seed in a results file as a device per op, [num_ops],
/// the best first. A placement that several searches found occurs once with all their labels,
/// "etf, m_etf".
/// @param run  the run, or another run of the same problem (ResultRun::problem)
/// @throws InputError naming file and group of a placement that does not belong to the problem; or
///   if the run found no placement
std::vector<Candidate> ReadCandidates(const ResultsReader& reader, const EarlierRun& run);

/// Returns the candidate of the search with this label. A label without the seed selects the best
/// seed of an agent; an empty label selects the best candidate of all.
/// @param where  file and option, for messages
/// @throws InputError with the choices
const Candidate& FindCandidate(const std::vector<Candidate>& found,
                               const std::string& label,
                               const std::string& where);

/// A placement of a run, and its simulation as recorded in its file.
struct PlacedRun {
  EarlierRun run;       ///< with the placement's issue order, if it has its own
  std::string label;    ///< labels of the searches that found it; or the placement file
  Placement placement;  ///< [num_ops]
  std::optional<SimulatedAs> simulated;  ///< none: the placement file does not record it
};

/// Reads a placement file. Settings that it does not record have the defaults of a run config.
/// @param files  graph and cluster are required; costs: empty for those that the file names
/// @throws InputError as ReadPlacement() and RequireLabelsTogether(), for unknown settings in
///   `simulated`, and for missing costs
PlacedRun ReadPlacementFile(const std::string& path, const RunFiles& files);

/// Reads a placement and its run from a results file or a placement file (IsPlacementFile()).
/// @param agent  label of a search in the results file, as for FindCandidate(); empty for a
///   placement file
/// @throws InputError as ReadRun(), ReadCandidates() and FindCandidate(), or as ReadPlacementFile()
PlacedRun ReadPlacedRun(const std::string& path, const std::string& agent, const RunFiles& files);

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

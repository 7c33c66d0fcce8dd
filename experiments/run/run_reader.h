#pragma once

// An earlier run, read back from its results file: its problem and the placements that it found.
// Likewise the one placement of a placement file.

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

/// Names or paths of files to read instead of those that the results name, because they have moved;
/// empty: as recorded. Costs "none": no cost file.
struct RunFiles {
  std::string graph, cluster, costs;
};

/// What a results file says of a run.
struct EarlierRun {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CostTable> costs;  ///< nullptr: the graph's own and the roofline model
  std::filesystem::path costs_path;        ///< empty without a cost table
  std::vector<Pass> passes;                ///< coarsening
  Objective objective = Objective::kStepTime;
  bool contracted = false;                  ///< agents saw the graph of the groups
  Semantics semantics = Semantics::kQueue;  ///< that the run searched with
  bool count_gaps = false;                  ///< SimulatorOptions::count_gaps
  Priority priority = Priority::kId;        ///< that gave the issue order
  std::vector<int> issue_order;             ///< [num_ops] op ids; empty: by id
  /// The best placement of each agent and seed as a device per op, [num_ops], the best first. Where
  /// several searches found the same there is one with all their labels, "etf, m_etf".
  std::vector<Candidate> found;
};

/// @throws InputError naming the results file and what does not fit it: a file that is not there
///   any more, a graph of another name or with other ops, a cluster with other devices; or if the
///   run found nothing
EarlierRun ReadRun(const std::filesystem::path& results, const RunFiles& files = {});

/// What the searches of another results file found, as EarlierRun::found.
/// @param run  of the same problem (ResultRun::problem)   @throws InputError as ReadRun()
std::vector<Candidate> ReadCandidates(const std::filesystem::path& results, const EarlierRun& run);

/// The candidate that a search of this label found, or the best of those of an agent without its
/// seed; with an empty label the best of all.
/// @param where  file and option, for messages   @throws InputError with the choices
const Candidate& FindCandidate(const EarlierRun& run,
                               const std::string& label,
                               const std::string& where);

/// A placement file and how it says that it was simulated.
struct PlacedRun {
  /// Settings that the file leaves open are those of a run config without the key. `found` holds
  /// the one placement, with the path as its label.
  EarlierRun run;
  std::optional<SimulatedAs> simulated;
};

/// Reads a placement file as a run that found one placement.
/// @param files  graph and cluster are given; costs: empty for those that the file names
/// @throws InputError as ReadPlacement(); for settings of `simulated` that there are not, and for
///   costs that are not there any more
PlacedRun ReadPlacedRun(const std::string& placement, const RunFiles& files);

/// How a run simulates, as placement files say it, without a step time.
SimulatedAs DescribeSimulation(const EarlierRun& run);
SimulatedAs DescribeSimulation(const RunPlan& plan);

/// The problem of the run with every op as a group of its own.
/// @param where      stands for the run in messages about costs
/// @param semantics  of the simulation that the costs are for; nullopt: those of the run
std::shared_ptr<const Problem> MakeExactProblem(const EarlierRun& run,
                                                const std::string& where,
                                                Objective objective = Objective::kStepTime,
                                                std::optional<Semantics> semantics = {});

/// The problem as the run had it, with its groups. @param where  as above
LoadedProblem MakeRunProblem(const EarlierRun& run, const std::string& where);

/// How the run simulated every op of its graph. @param problem  MakeExactProblem()
SimulatorOptions HowSimulated(const EarlierRun& run, const Problem& problem);

/// How the run simulated what its agents saw. @param searched  LoadedProblem::searched
SimulatorOptions HowSearched(const EarlierRun& run, const Problem& searched);

/// The least objective among the placements in the file that fit; none: none does. [ns]
std::optional<Nanos> ReadBestFitting(const ResultsReader& reader);

}  // namespace emplace

#pragma once

// The config of `emplace sweep`: many runs in one file. `emplace sweep --help-config` prints its
// keys.
//
//   base: {semantics: queue, budget: {evaluations: 12000, seconds: none}, seeds: 0:3,
//          agents: [single_gpu, {name: expert, rules: nmt}, seq2seq]}
//   overrides:                                    alternatives; each replaces keys of base
//     - {graph: nmt, coarsen: [colocate, gradients], split: unseen graphs}
//     - {config: ./cells/rnnlm.yaml}                            a whole run config under base
//     - {graph: rnnlm, agents.expert.rules: rnnlm}              a setting of the agent labelled so
//   grid:                                         each combination with each override
//     cluster: [2xk80, 4xk80]
//     agents.seq2seq.hidden: [64, 128]            the label becomes "seq2seq hidden=64"
//   draw:                                         `draws` random values with each of these:
//   sweep_draw.h
//     agents.seq2seq.learning_rate: {float: [1e-4, 1e-2], log: true}
//   draws: 20
//   exclude: [{graph: nmt, cluster: 4xk80, agent: expert}]
//   only: [{agent: seq2seq}]                      these runs and no others
//   scales: {small: {budget.evaluations: 300}}    --set scale=small
//   launcher: {name: slurm, bundle: 16, options: "--partition=long"}       see launcher_config.h
//   table: {rows: [graph, cluster], columns: agents}       layout for `emplace table`, see
//                                                 experiments/table/table_layout.h, or a name
//
// Every override with every combination of the grid (the first key changes slowest) and every draw
// is a run config. Its layers are `config`, base, override, grid, draw and scale; later layers
// replace earlier ones. Maps are merged key by key, lists are replaced. Each agent with each seed
// is one run of the sweep; agents without randomness run once. Of equal runs only one is kept.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/run/run_config.h"
#include "experiments/sweep/launcher_config.h"

namespace emplace {

/// The YAML file, key by key.
struct SweepConfig {
  ConfigNode base = ConfigNode::FromString("{}", "default");
  ConfigNode overrides = ConfigNode::FromString("[]", "default");
  ConfigNode grid = ConfigNode::FromString("{}", "default");
  ConfigNode draw = ConfigNode::FromString("{}", "default");
  int draws = 20;
  std::int64_t draw_seed = 0;
  ConfigNode exclude = ConfigNode::FromString("[]", "default");
  ConfigNode only = ConfigNode::FromString("[]", "default");
  ConfigNode scales = ConfigNode::FromString("{}", "default");
  std::string scale = "full";
  ConfigNode table = ConfigNode::FromString("{}", "default");
  bool allow_refusals = false;
  double checkpoint_seconds = 30;
  int jobs = 0;
  LauncherConfig launcher;
  std::string output;

  void Visit(FieldVisitor& v);
};

/// One agent with one seed on one problem.
struct SweepRun {
  int config = 0;  ///< index into SweepPlan::configs
  int agent = 0;   ///< index into that plan's agents
  std::uint64_t seed = 0;
  std::string description;  ///< "graph=nmt cluster=2xk80 agent=seq2seq seed=0"
};

/// A sweep whose runs are expanded and checked.
struct SweepPlan {
  SweepConfig config;
  std::string name;   ///< of the config file, without extension
  std::string table;  ///< YAML of its table layout as a separate file; empty: it has none
  std::vector<RunPlan> configs;  ///< the run configs, with all their agents and seeds
  std::vector<SweepRun> runs;    ///< in order; the index is the run's number in messages and files
  int num_equal = 0;             ///< omitted runs that equal another run
};

/// A larger sweep is refused: it would fill the memory and is probably a mistake in the grid.
inline constexpr int kMaxSweepRuns = 100000;

/// Reads a sweep config and expands its runs.
/// @param settings  values of --set, see ApplySettings()
/// @param registry  must outlive the plan
/// @throws InputError naming file:line:column, key, value, the expected value and the choices; for
/// a
///   sweep without runs, and for one of more than kMaxSweepRuns, which are counted before expansion
SweepPlan ReadSweepPlan(const std::filesystem::path& path,
                        const std::vector<std::string>& settings,
                        const AgentRegistry& registry);

/// Returns "graph=nmt cluster=2xk80", or "instance=NAME" if one file is both
/// (framework/graph/FORMAT.md, "Instances").
std::string DescribeProblem(const std::string& graph, const std::string& cluster);

/// Returns the run config of one run, with only its agent and its seed.
RunPlan PlanOfRun(const SweepPlan& sweep, const SweepRun& run);

}  // namespace emplace

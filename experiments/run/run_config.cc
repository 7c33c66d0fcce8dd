#include "experiments/run/run_config.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/problem/objective.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/placement/placement.h"
#include "framework/ranks/mpi_module.h"
#include "simulator/gpu/gpu_simulator.h"

namespace emplace {
namespace {

constexpr std::uint64_t kMaxSeeds = 100000;

std::uint64_t ParseSeed(const ConfigNode& node, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size() || seed > INT64_MAX) {
    node.Fail(
        fmt::format("expected a seed >= 0 or a range such as 0:5, got \"{}\"", node.AsString()));
  }
  return seed;
}

void AppendSeeds(const ConfigNode& node, std::vector<std::uint64_t>& seeds) {
  const std::string text = node.AsString();
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    seeds.push_back(ParseSeed(node, text));
    return;
  }
  const std::uint64_t first = ParseSeed(node, std::string_view(text).substr(0, colon));
  const std::uint64_t end = ParseSeed(node, std::string_view(text).substr(colon + 1));
  if (first >= end) node.Fail(fmt::format("the range \"{}\" contains no seed", text));
  if (end - first > kMaxSeeds) {
    node.Fail(fmt::format("the range \"{}\" contains more than {} seeds", text, kMaxSeeds));
  }
  for (std::uint64_t seed = first; seed < end; ++seed) seeds.push_back(seed);
}

Budget ParseBudget(const ConfigNode& root, const RunConfig& config) {
  if (!config.max_evaluations && !config.max_seconds && !config.max_steps) {
    PlaceOf(root, "budget")
        .Fail("expected at least one limit among evaluations, seconds and steps");
  }
  Budget budget;
  if (config.max_evaluations) budget.evaluations = *config.max_evaluations;
  if (config.max_seconds) budget.seconds = *config.max_seconds;
  if (config.max_steps) budget.steps = *config.max_steps;
  return budget;
}

// Returns the placement file of the priority `given`.
std::filesystem::path FindIssueOrder(const ConfigNode& root,
                                     const RunPlan& plan,
                                     const std::filesystem::path& beside) {
  const std::string& file = plan.config.issue_order;
  if (plan.priority == Priority::kSearched) {
    const char* const other = plan.config.simulate_groups
                                  ? "simulate_groups: true, which replaces the ops of the graph"
                              : plan.config.gpu ? "gpu, which simulates in one fixed order"
                                                : nullptr;
    if (other != nullptr) {
      root.At("priority")
          .Fail(fmt::format("priority searched does not apply to {}; choices: id, upward_rank",
                            other));
    }
  }
  if (plan.priority != Priority::kGiven) {
    if (!file.empty()) {
      root.At("issue_order")
          .Fail(fmt::format("only priority given takes an issue order, this is priority {}",
                            ToString(plan.priority)));
    }
    return {};
  }
  if (file.empty()) {
    root.At("priority").Fail("priority given needs issue_order: FILE, a placement file");
  }
  if (plan.config.simulate_groups) {
    root.At("priority")
        .Fail(
            "priority given does not apply to simulate_groups: true, which replaces the ops of the "
            "graph; choices: id, upward_rank");
  }
  return LookBeside(file, beside);
}

// Checks that the requested ranks match the launched processes.
void RequireLauncher(const ConfigNode& root, const std::string& ranks) {
  const int launched = LaunchedRanks();
  if (ranks == "mpi" && launched == 0) {
    root.At("ranks").Fail(
        "ranks mpi needs several processes (mpirun -n N emplace run ...), got one process; "
        "choices: "
        "auto, none");
  }
  if (ranks == "none" && launched > 1) {
    root.At("ranks").Fail(
        fmt::format("ranks none needs one process, mpirun started {}, which would all do the same; "
                    "choices: auto, mpi",
                    launched));
  }
}

}  // namespace

void RunConfig::Visit(FieldVisitor& v) {
  v.Field("graph", graph, "required: graph to place, a name of `emplace list graphs` or a path");
  v.Field(
      "cluster",
      cluster,
      "required: cluster whose devices run the graph, a name of `emplace list clusters` or a path");
  v.AddedField("split",
               split,
               "",
               "name of a part of a comparison, for tables and figures, such as \"unseen graphs\". "
               "Changes no result");
  v.Field("costs",
          costs,
          "measured costs of the machine, a name of `emplace list costs` or a path; none: the "
          "graph's own costs and the roofline model");
  v.Field("semantics", semantics, SemanticsHelp().c_str());
  v.AddedField(
      "priority",
      priority,
      "id",
      ("order in which stream and interference semantics issue ops: " + PriorityHelp()).c_str());
  v.AddedField("issue_order",
               issue_order,
               "",
               "placement file whose issue_order is used, with priority given");
  v.Field(
      "count_gaps", count_gaps, "the step time counts trailing gaps, as Placeto's simulator does");
  v.Field(
      "gpu",
      gpu,
      AtLeast(0),
      "simulate on this GPU (0: the first), in stream semantics. Useful for agents that evaluate "
      "thousands of placements at once");
  v.Field("objective", objective, "step_time (latency of a step) or period (pipelined steps)");
  v.Field("coarsen",
          coarsen,
          "coarsening passes, in order: colocate (always first), gradients, single_consumer: "
          "{max_share: 1}, scope: {depth: 1}, merge_cheapest: {groups: 128}, heavy_edge: {groups: "
          "128}");
  v.Field("simulate_groups",
          simulate_groups,
          "simulate each group as a few ops (as few as the order of the groups allows) instead of "
          "op by op; faster, but an approximation");
  v.AddedGroup("plan",
               plan.IsIdentity(),
               "replicas, micro-batches and recomputation of the step; graph is the step of one "
               "micro-batch, coarsen its groups (framework/plan/README.md)",
               [this](FieldVisitor& p) { plan.Visit(p); });
  v.Field(
      "agents",
      agents,
      "required: names of `emplace list agents`, or maps {name: ..., label: ..., preset: ..., "
      "setting: value}. preset: NAME starts from configs/agents/AGENT_NAME.yaml. "
      "python:MODULE.CLASS and python:FILE.py:CLASS name your own agents in the Python package");
  v.AddedField("start",
               start,
               "",
               "initial placement of every agent with the setting start, unless its own map sets "
               "it: heuristics (the best of them), single_gpu, none, ... (`emplace list agents "
               "hill_climb` names them); empty: each agent's default");
  v.Field("seeds",
          seeds,
          "seeds of the agents that use chance: [0, 1, 2] or \"0:3\"; a single one: [3]");
  v.Group("budget", "limits for each agent and seed", [this](FieldVisitor& b) {
    b.Field("evaluations", max_evaluations, AtLeast(1), "number of simulated placements");
    b.Field("seconds",
            max_seconds,
            AtLeast(1e-3),
            "wall-clock time [s]; results then depend on the speed of the machine");
    b.Field("steps", max_steps, AtLeast(1), "number of search steps");
  });
  v.Field("steps_per_measurement",
          steps_per_measurement,
          AtLeast(1),
          "training steps of one measurement on hardware, to estimate the hours that simulation "
          "saves; 11: one discarded and ten timed, as in the reference code of ICLR 2018");
  v.Field("jobs", jobs, AtLeast(0), "searches at a time; 0: one per core");
  v.Field("threads",
          threads,
          AtLeast(0),
          "threads of each search, which share its batches of placements or run its searches "
          "concurrently (portfolio); 0: the cores that jobs leave. Changes no result");
  v.AddedField(
      "ranks",
      ranks,
      "auto",
      "processes of a search: mpi (all processes of mpirun share each search, one search at "
      "a time), none (this process alone), auto (mpi under mpirun, else none). Changes no "
      "result");
  v.Field("output", output, "HDF5 file; empty: results/<config name>.h5");
}

std::string RunPlan::ResolvedYaml() const {
  return WriteFields(config);
}

std::string RunPlan::FullYaml() const {
  RunConfig full = config;
  const auto resolve = [](const Menu& menu, const std::filesystem::path& path, std::string& key) {
    if (LooksLikePath(menu, key)) {
      key = std::filesystem::absolute(path).lexically_normal().string();
    }
  };
  resolve(GraphMenu(), graph, full.graph);
  resolve(ClusterMenu(), cluster, full.cluster);
  resolve(CostsMenu(), costs, full.costs);
  if (!issue_order.empty()) {
    full.issue_order = std::filesystem::absolute(issue_order).lexically_normal().string();
  }
  std::string list;
  for (const AgentSpec& spec : agents) {
    ConfigNode agent;
    agent.Set("name", QuoteYaml(spec.entry->name));
    agent.Set("label", QuoteYaml(spec.label));
    const ConfigNode settings =
        ConfigNode::FromString(spec.entry->resolve_settings(spec.settings), spec.label);
    for (const std::string& key : settings.Keys()) agent.Put(key, settings.At(key));
    list += "- " + IndentLines(agent.Dump(), 2).substr(2);
  }
  full.agents = ConfigNode::FromString(list, "agents");
  return WriteFields(full, /*whole=*/true);
}

SimulatorOptions RunPlan::SimulatorFor(const Problem& problem) const {
  std::vector<int> given;
  if (priority == Priority::kGiven) {
    given =
        ReadPlacement(issue_order, problem.graph(), problem.cluster(), PrintWarning).issue_order;
    if (given.empty()) {
      throw InputError(fmt::format("{}: issue_order is missing, which priority given needs",
                                   issue_order.string()));
    }
  }
  return WithPriority(simulator, priority, problem, given);
}

std::vector<std::uint64_t> ParseSeeds(const ConfigNode& node) {
  std::vector<std::uint64_t> seeds;
  if (node.IsSequence()) {
    for (const ConfigNode& element : node.Elements()) AppendSeeds(element, seeds);
  } else {
    AppendSeeds(node, seeds);
    if (node.AsString().find(':') == std::string::npos) {
      node.Fail(fmt::format("got {0}; expected [{0}] for seed {0}, or 0:N for the seeds 0 to N - 1",
                            seeds[0]));
    }
  }
  if (seeds.empty()) node.Fail("expected at least one seed");
  std::vector<std::uint64_t> sorted = seeds;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) node.Fail(fmt::format("seed {} is listed twice", *twice));
  return seeds;
}

RunPlan ReadRunPlan(const std::filesystem::path& path,
                    const std::vector<std::string>& settings,
                    const AgentRegistry& registry) {
  return MakeRunPlan(
      ReadWithSettings(path, settings), path.stem().string(), path.parent_path(), registry);
}

RunPlan MakeRunPlan(const ConfigNode& root,
                    const std::string& name,
                    const std::filesystem::path& beside,
                    const AgentRegistry& registry) {
  RunPlan plan;
  plan.name = name;
  plan.config = ReadFields<RunConfig>(root);
  const RunConfig& config = plan.config;
  plan.graph = ResolveMenu(GraphMenu(), config.graph, root.At("graph").Where(), beside);
  plan.cluster = ResolveMenu(ClusterMenu(), config.cluster, root.At("cluster").Where(), beside);
  if (config.costs != "none") {
    plan.costs = ResolveMenu(CostsMenu(), config.costs, root.At("costs").Where(), beside);
  }
  plan.simulator.semantics = ParseSemantics(config.semantics, PlaceOf(root, "semantics").Where());
  plan.simulator.count_gaps = config.count_gaps;
  plan.priority =
      ParsePriority(config.priority, PlaceOf(root, "priority").Where(), plan.simulator.semantics);
  plan.issue_order = FindIssueOrder(root, plan, beside);
  plan.objective = ParseObjective(config.objective, PlaceOf(root, "objective").Where());
  if (config.gpu) {
    const std::string reason = WhyNotOnGpu(plan.simulator.semantics, plan.objective);
    if (!reason.empty()) root.At("gpu").Fail(reason + "; leave out gpu or set it to none");
  }
  plan.passes = ParsePasses(config.coarsen);
  plan.agents = ParseAgents(root.At("agents"), registry, beside, {}, config.start);
  plan.seeds = ParseSeeds(config.seeds);
  plan.budget = ParseBudget(root, config);
  static const std::vector<std::string> kRanks = {"auto", "mpi", "none"};
  if (std::ranges::find(kRanks, config.ranks) == kRanks.end()) {
    ThrowUnknown(PlaceOf(root, "ranks").Where(), "ranks", config.ranks, kRanks);
  }
  RequireLauncher(root, config.ranks);
  plan.simulator.threads = config.threads > 0 ? config.threads : NumCores();
  return plan;
}

void RunPlan::ShareCores(int searches_at_a_time, int cores) {
  UseCores(std::max(1, (cores > 0 ? cores : NumCores()) / searches_at_a_time));
}

void RunPlan::UseCores(int cores) {
  if (config.threads == 0) simulator.threads = cores;
}

}  // namespace emplace

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/problem/load.h"
#include "experiments/problem/step_interval.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_problem.h"
#include "experiments/simulate/simulate_question.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/bounds/bounds.h"
#include "framework/bounds/partial_bound.h"
#include "framework/search/agent.h"
#include "framework/search/meter.h"
#include "simulator/reference/reference.h"

namespace emplace {
namespace {

void RequireAllowed(const Graph& graph,
                    const Cluster& cluster,
                    const Costs& costs,
                    const std::vector<DeviceIndex>& device_of_op,
                    const std::string& where) {
  for (int v = 0; v < graph.num_ops(); ++v) {
    if (costs.allowed(v, device_of_op[v])) continue;
    std::vector<std::string> choices;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (costs.allowed(v, d)) choices.push_back(cluster.device(d).name);
    }
    throw InputError(fmt::format("{}: op \"{}\" may not run on \"{}\"; choices: {}",
                                 where,
                                 graph.op(v).name,
                                 cluster.device(device_of_op[v]).name,
                                 fmt::join(choices, ", ")));
  }
}

// Returns null without bounds.
nlohmann::ordered_json IntervalToJson(Nanos time, const StepInterval& step) {
  if (!step.interval.is_bounded()) return nullptr;
  const TimeInterval ends = step.interval.Around(static_cast<double>(time));
  return {{"low", std::llround(ends.low)},
          {"high", std::llround(ends.high)},
          {"level", step.interval.level},
          {"held_out", step.interval.held_out},
          {"source", step.source}};
}

nlohmann::ordered_json OutcomeToJson(const Cluster& cluster,
                                     const Outcome& outcome,
                                     const StepInterval& interval) {
  nlohmann::ordered_json json, devices, channels;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceOutcome& device = outcome.devices[d];
    devices[cluster.device(d).name] = {
        {"busy_ns", device.busy}, {"peak_bytes", device.peak}, {"deficit_bytes", device.deficit}};
  }
  channels = nlohmann::ordered_json::object();
  for (int k = 0; k < cluster.num_channels(); ++k) {
    const ChannelOutcome& channel = outcome.channels[k];
    channels[cluster.channel(k).name] = {
        {"busy_ns", channel.busy}, {"transfers", channel.transfers}, {"bytes", channel.bytes}};
  }
  json["step_time_ns"] = outcome.step_time;
  json["interval_ns"] = IntervalToJson(outcome.step_time, interval);
  json["feasible"] = outcome.feasible;
  json["devices"] = std::move(devices);
  json["channels"] = std::move(channels);
  return json;
}

nlohmann::ordered_json SimulatedToJson(const Question& question, const SimulatedAs& is) {
  const std::string& label = question.placed.label;
  return {{"placement", label == question.where ? label : label + " of " + question.where},
          {"semantics", is.semantics},
          {"priority", is.priority},
          {"objective", is.objective},
          {"count_gaps", is.count_gaps},
          {"costs", is.costs},
          {"contracted",
           is.contracted.empty() ? nlohmann::ordered_json(nullptr)
                                 : nlohmann::ordered_json(is.contracted)}};
}

// Returns the differences as "semantics stream, priority upward_rank" and "semantics queue,
// priority id".
// @param costs  whether other costs count as a difference
std::pair<std::string, std::string> Differences(const SimulatedAs& was,
                                                const SimulatedAs& is,
                                                bool costs) {
  std::vector<std::string> before, now;
  const auto compare = [&](const std::string& key, const std::string& a, const std::string& b) {
    if (a == b) return;
    before.push_back(key + " " + a);
    now.push_back(key + " " + b);
  };
  compare("semantics", was.semantics, is.semantics);
  compare("priority", was.priority, is.priority);
  compare("objective", was.objective, is.objective);
  compare("count_gaps", was.count_gaps ? "true" : "false", is.count_gaps ? "true" : "false");
  if (costs) compare("costs", was.costs, is.costs);
  compare("groups",
          was.contracted.empty() ? "op by op" : "contracted",
          is.contracted.empty() ? "op by op" : "contracted");
  return {fmt::format("{}", fmt::join(before, ", ")), fmt::format("{}", fmt::join(now, ", "))};
}

// Warns if the simulation or its result differs from the one recorded in the file.
// @return whether both are equal
bool CompareWithFile(const Question& question, const SimulatedAs& is) {
  if (!question.placed.simulated) return false;
  const SimulatedAs& was = *question.placed.simulated;
  const bool same_time = was.step_time == is.step_time;
  // A moved cost file counts as equal if it gives the same time.
  const auto [before, now] = Differences(was, is, !same_time);
  if (!before.empty()) {
    PrintWarning(fmt::format("{}: was simulated with {}{}; this is with {} ({})",
                             question.where,
                             before,
                             was.step_time ? fmt::format(" ({})", FormatTime(*was.step_time)) : "",
                             now,
                             FormatTime(*is.step_time)));
  } else if (was.step_time && !same_time) {
    PrintWarning(
        fmt::format("{}: its step time was {}, and is {}: graph, cluster or costs have changed "
                    "since, or the placement",
                    question.where,
                    FormatTime(*was.step_time),
                    FormatTime(*is.step_time)));
  }
  return before.empty() && same_time;
}

// Checks that the files of a run are unchanged, unless other files are named.
void CheckFilesOfRun(const Question& question, const RunFiles& files, const Problem& exact) {
  if (!question.of_results) return;
  if ((files.graph + files.cluster + files.costs).empty()) {
    RequireSameFiles(question.where, exact);
    return;
  }
  const std::string changes =
      DescribeChanges(ResultsReader(question.where), IdOf(exact), exact, kPartsOfFiles);
  if (changes.empty()) return;
  PrintWarning(
      fmt::format("{}: was made with {} than the files that are named", question.where, changes));
}

bool SameNumbers(const Outcome& a, const Outcome& b) {
  const auto same = [](const DeviceOutcome& x, const DeviceOutcome& y) {
    return x.busy == y.busy && x.peak == y.peak;
  };
  return a.step_time == b.step_time && a.feasible == b.feasible &&
         std::ranges::equal(a.devices, b.devices, same);
}

// Returns the best placement that a constructive agent makes, as a device per op.
Placement Construct(const AgentSpec& agent,
                    const LoadedProblem& problem,
                    const SimulatorOptions& how) {
  const auto simulator = MakeSimulator(problem.searched, how);
  MeteredEvaluator evaluator(*simulator, {});
  const auto made = agent.entry->make({.problem = problem.searched}, agent.settings);
  while (!made->Finished()) made->Step(evaluator);
  return {problem.Expand(evaluator.best()->placement)};
}

int Simulate(const SimulateOptions& options, const Command& command) {
  Question question = ReadQuestion(options, command);
  EarlierRun& run = question.placed.run;
  const Priority priority = question.priority;
  SimulatorOptions how;
  how.semantics = run.semantics;
  how.count_gaps = run.count_gaps;
  if (question.agent) {
    const LoadedProblem problem = MakeRunProblem(run, question.where_costs);
    question.placed.placement =
        Construct(*question.agent, problem, WithPriority(how, priority, *problem.searched));
  }
  Placement placement = question.placed.placement;
  const auto exact = MakeExactProblem(run, question.where_costs, run.objective);
  RequireAllowed(*run.graph, *run.cluster, exact->costs(), placement.device, question.where);
  CheckFilesOfRun(
      question,
      options.files,
      CountsNeighbors(question.recorded) == CountsNeighbors(run.semantics)
          ? *exact
          : *MakeExactProblem(run, question.where_costs, run.objective, question.recorded));
  std::shared_ptr<const Problem> problem = exact;
  if (run.simulate_groups) {
    const LoadedProblem loaded = MakeRunProblem(run, question.where_costs);
    placement = ContractPlacement(
        placement.device, loaded.exact->grouping(), *run.graph, *run.cluster, question.where);
    problem = loaded.searched;
  } else {
    CheckDeviceKinds(*run.graph, run.cluster.get(), question.where_costs);
  }
  how = WithPriority(how, priority, *problem, run.issue_order);
  const Outcome outcome = MakeSimulator(problem, how)->Evaluate(placement, {.channels = true});
  if (!options.trace.empty()) {
    const Timeline timeline =
        SimulateReference(*problem, ExpandPlacement(placement, problem->grouping()), how);
    EMPLACE_CHECK(SameNumbers(timeline.outcome, outcome), "reference and fast simulator disagree");
    WriteFileAtomically(options.trace, FormatTrace(*problem, timeline));
  }

  // An issue order from the file keeps the priority recorded in the file.
  if (priority != Priority::kGiven) run.priority = priority;
  SimulatedAs is = DescribeSimulation(run);
  is.step_time = outcome.step_time;
  const bool same = CompareWithFile(question, is);
  const bool of_steps = run.objective == Objective::kStepTime;
  StepInterval interval;
  if (of_steps && !run.simulate_groups) {
    interval = FindInterval(run.costs.get(), run.graph->name(), run.semantics);
  }
  nlohmann::ordered_json json = OutcomeToJson(*run.cluster, outcome, interval);
  const Bounds simple = ComputeBounds(*exact);
  LowerBound bound = of_steps && simple.critical_path >= simple.work
                         ? LowerBound{simple.critical_path, "critical_path"}
                         : LowerBound{simple.work, "work"};
  if (same && question.bound) bound = LargerOf(bound, *question.bound);
  json["bound_ns"] = bound.value;
  json["bound_method"] = bound.method;
  json["critical_path_ns"] = simple.critical_path;
  json["work_ns"] = simple.work;
  json["placement_bound_ns"] = nullptr;
  if (of_steps) json["placement_bound_ns"] = PartialBound(*problem).OfPlacement(placement);
  json["simulated"] = SimulatedToJson(question, is);
  Print(json.dump(2) + "\n");
  return 0;
}

}  // namespace

void AddSimulateCommand(Command program) {
  auto options = std::make_shared<SimulateOptions>();
  Command command = program.AddCommand(
      "simulate", "Simulate one placement exactly; one JSON object on stdout (times in ns)");
  command
      .Add("results",
           options->results,
           "results file of `emplace run` or of a sweep's run: simulates its best placement as the "
           "run did")
      .Type("RESULT.h5");
  command.Add("--placement",
              options->placement,
              "placement file (JSON) instead; what the file says of how it was simulated is the "
              "default of the options below. Or a name of `emplace list constructive-agents`: that "
              "agent places the graph with its default settings");
  command.Add(
      "--agent",
      options->agent,
      "whose best placement of the results: a label of the run, or one without its seed for "
      "the best seed; default: the best of all");
  command.Add("--graph",
              options->files.graph,
              "graph: a name of `emplace list graphs` or a path; of results only if its file has "
              "moved");
  command.Add(
      "--cluster",
      options->files.cluster,
      "cluster: a name of `emplace list clusters` or a path; of results only if its file has "
      "moved");
  command.Add("--costs",
              options->files.costs,
              "measured costs: a name of `emplace list costs` or a path; none: the graph's own "
              "and the roofline model; default: those of the file, else none. In stream semantics "
              "the held-out placements of the file tell how sure the step time is");
  command.Add("--semantics",
              options->semantics,
              SemanticsHelp() + "; default: as the file says, else queue");
  command.Add("--priority",
              options->priority,
              "the order in which stream and interference semantics issue ops: " + PriorityHelp() +
                  "; default: the order of the file, else as it says, else id");
  command.Add("--objective",
              options->objective,
              "step_time, or period of pipelined steps; default: as the file says, else step_time");
  command.AddFlag("--count-gaps",
                  options->count_gaps,
                  "the step time counts trailing gaps, as Placeto's published simulator does");
  command.AddFlag("--op-by-op",
                  options->op_by_op,
                  "every op by itself, even if the run simulated contracted groups");
  command.Add("--trace", options->trace, "write a timeline for Chrome's or Perfetto's viewer");
  command.Footer(
      "A warning names each option that differs from how the placement was simulated before. The "
      "bound is that of the\nrun where nothing differs, else the larger of critical path and "
      "work.");
  command.Does([options, command] { return Simulate(*options, command); });
}

}  // namespace emplace

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/existing_output.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/machine/fidelity_report.h"
#include "experiments/machine/fidelity_results.h"
#include "experiments/machine/fidelity_svg.h"
#include "experiments/machine/test_placements.h"
#include "experiments/machine/this_machine.h"
#include "experiments/problem/load.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/file_lock.h"
#include "profilers/measure/calibrate.h"
#include "profilers/measure/draw_placements.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kCalibrationSeed = 1;
constexpr const char* kJsonToStdout = "-";

struct ValidateOptions {
  std::vector<std::string> graphs, devices;
  std::string costs, cluster, output, json, svg, errors_svg;
  int placements = 30, rounds = 10, calibrate = 17;
  std::uint64_t seed = 2;
  double seconds = 5;
  bool eager = false, force = false, quiet = false;
};

std::shared_ptr<const Problem> MakeTestProblem(const std::shared_ptr<const Graph>& graph,
                                               const Calibration& model) {
  return model.MakeProblem(graph, SemanticsAsExecuted(*model.cluster), PrintWarning);
}

// Makes the problem with costs of isolated timings. Warnings on missing costs were printed for the
// other problem.
std::shared_ptr<const Problem> MakeIsolatedProblem(const std::shared_ptr<const Graph>& graph,
                                                   const Calibration& model) {
  return model.OfIsolatedTimings().MakeProblem(graph, SemanticsAsExecuted(*model.cluster));
}

// Draws the placements of the calibration again, with the seed of the profiler; at least
// `at_least`, the number that calibrates the model now.
std::vector<LabelledPlacement> CalibrationPlacements(const Problem& problem,
                                                     const CostTable& table,
                                                     int at_least) {
  const auto count = static_cast<int>(PropertyNumber(table, kPlacementsProperty));
  const auto seed = count > 0 ? static_cast<std::uint64_t>(PropertyNumber(table, kSeedProperty))
                              : kCalibrationSeed;
  return DrawPlacements(problem, std::max(count, at_least), seed);
}

// Removes the interference between devices from the costs; the cluster does not change.
Calibration WithoutNeighbors(Calibration model) {
  auto table = std::make_shared<CostTable>(*model.table);
  table->interference.clear();
  model.table = std::move(table);
  return model;
}

void RequireOtherSeed(const ValidateOptions& options, const CostTable& table) {
  if (PropertyNumber(table, kPlacementsProperty) == 0 ||
      PropertyNumber(table, kSeedProperty) != static_cast<std::int64_t>(options.seed)) {
    return;
  }
  throw InputError(fmt::format(
      "--seed: the costs were calibrated on placements of seed {}; expected another one",
      options.seed));
}

// Reads the model from files, without the machine.
Calibration ReadModel(const ValidateOptions& options) {
  Calibration model;
  const fs::path costs = ResolveMenu(CostsMenu(), options.costs, "--costs");
  model.table = LoadCosts(costs);
  model.cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
  model.where = costs.string();
  return model;
}

Calibration MeasureModel(const ValidateOptions& options,
                         const Machine& machine,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         DispatchMode mode) {
  ProfileOptions profile;
  profile.mode = mode;
  profile.seed = kCalibrationSeed;
  profile.links = false;        // the steps measure the copies
  profile.keep_drifted = true;  // the placements measured next show the quality of the model
  CostTable table = RunProfile(machine, graphs, profile, {}, options.quiet);
  if (!table.complete) throw RunError("stopped; nothing was written");
  Calibration model = Calibrate(std::move(table), machine.backend, mode, "measured");
  model.where = "validate";
  return model;
}

GraphFidelity ValidateGraph(const std::shared_ptr<const Graph>& graph,
                            const Calibration& model,
                            const Machine& machine,
                            const ValidateOptions& options,
                            const std::vector<std::string>& warnings) {
  const auto problem = MakeTestProblem(graph, model);
  std::vector<LabelledPlacement> calibration =
      CalibrationPlacements(*problem, *model.table, options.calibrate);
  TestPlacementOptions which{.count = options.placements,
                             .seed = options.seed,
                             .search_seconds = options.seconds,
                             .stop = StopRequest::requested};
  for (const LabelledPlacement& drawn : calibration) which.known.push_back(drawn.placement);
  const std::vector<Candidate> candidates = TestPlacements(problem, which);
  if (candidates.size() < 2) {
    throw InputError(fmt::format(
        "graph \"{}\": {} placements other than those of the calibration fit its devices; expected "
        "at least 2",
        graph->name(),
        candidates.size()));
  }
  for (const Candidate& candidate : candidates) {
    EMPLACE_CHECK(
        std::find(which.known.begin(), which.known.end(), candidate.placement) == which.known.end(),
        candidate.label);
  }
  VerificationOptions how{
      .rounds = options.rounds, .mode = model.mode, .stop = StopRequest::requested};
  calibration.resize(std::min<size_t>(calibration.size(), options.calibrate));
  how.calibration = std::move(calibration);
  GraphFidelity result;
  result.verification =
      VerifyWithProgress(problem, machine.backend, candidates, how, !options.quiet);
  Verification& verification = result.verification;
  if (verification.calibration.empty()) {
    verification.interval =
        FindInterval(model.table.get(), graph->name(), SemanticsAsExecuted(problem->cluster()));
    result.ablations = Ablate(verification, {.isolated = MakeIsolatedProblem(graph, model)});
  } else {
    const InSituTimings timings = Together(verification.calibration);
    const Calibration fresh = model.With(timings);
    verification.interval =
        MakeInterval(model.HoldOut(graph, verification.calibration, {}), "of these rounds");
    SimulateAgain(verification, MakeTestProblem(graph, fresh));
    AblatedProblems without{.isolated = MakeIsolatedProblem(graph, fresh), .earlier = problem};
    if (fresh.cluster->has_neighbors()) {
      without.no_interference = MakeTestProblem(graph, WithoutNeighbors(model).With(timings));
    }
    without.no_cold_reads = MakeTestProblem(graph, model.With(timings.WithoutColdReads()));
    result.ablations = Ablate(verification, without);
  }
  verification.warnings = warnings;
  result.summary = Summarize(verification);
  return result;
}

void RequireOptions(const ValidateOptions& options) {
  if (options.costs.empty() != options.cluster.empty()) {
    throw InputError(
        "--costs and --cluster go together, as `emplace profile` writes them; expected both or "
        "none "
        "(then the machine is profiled first)");
  }
}

std::vector<std::shared_ptr<const Graph>> LoadGraphs(const ValidateOptions& options) {
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const std::string& name : options.graphs) {
    graphs.push_back(LoadGraph(ResolveMenu(GraphMenu(), name, "--graph")));
    for (size_t i = 0; i + 1 < graphs.size(); ++i) {
      if (graphs[i]->name() != graphs.back()->name()) continue;
      throw InputError(fmt::format("--graph: two graphs are named \"{}\"", graphs[i]->name()));
    }
  }
  return graphs;
}

std::string AsJson(std::span<const GraphFidelity> results, const Calibration& model) {
  nlohmann::ordered_json json;
  json["machine"] = model.table->machine;
  json["properties"] = model.table->properties;
  json["graphs"] = nlohmann::ordered_json::array();
  for (const GraphFidelity& result : results) {
    json["graphs"].push_back(ToJson(result.verification, result.summary, result.ablations));
  }
  const auto residuals = PooledResiduals(results);
  json["residuals"] = residuals ? ResidualJson(*residuals) : nlohmann::ordered_json(nullptr);
  return json.dump(2) + "\n";
}

int Validate(const ValidateOptions& options) {
  RequireOptions(options);
  const std::vector<std::shared_ptr<const Graph>> graphs = LoadGraphs(options);
  Calibration model;
  if (!options.costs.empty()) model = ReadModel(options);
  const Machine machine = OpenDevices(options.devices,
                                      model.table.get(),
                                      model.cluster.get(),
                                      options.devices.empty() ? "validate" : "--devices");
  const DispatchMode mode = ChooseMode(machine, options.eager);
  std::optional<FileLock> lock;
  std::optional<ResultsFile> file;
  if (!options.output.empty()) {
    lock.emplace(options.output, PrintWarning);
    if (!options.force) {
      RequireUnused(options.output, "--force overwrites it, -o names another file");
    }
    file.emplace(options.output);
  }
  if (options.seed == kCalibrationSeed && model.table == nullptr) {
    throw InputError(fmt::format("--seed: {} is the seed of the calibration; expected another one",
                                 options.seed));
  }
  StopRequest::CatchSignals();
  if (model.table == nullptr) {
    model = MeasureModel(options, machine, graphs, mode);
  } else {
    RequireOtherSeed(options, *model.table);
    model.backend = machine.backend;
    model.mode = mode;
  }
  const std::vector<std::string> warnings =
      CompareMachines(model.table->properties, machine.backend->Properties(), model.where);
  for (const std::string& warning : warnings) PrintWarning(warning);

  std::vector<GraphFidelity> results;
  const bool json_only = options.json == kJsonToStdout;
  for (const auto& graph : graphs) {
    results.push_back(ValidateGraph(graph, model, machine, options, warnings));
    const GraphFidelity& result = results.back();
    if (file) {
      WriteVerification(*file,
                        "/validation/" + graph->name(),
                        result.verification,
                        result.summary,
                        result.ablations,
                        CollectProvenance());
      file->Commit();
    }
    if (!json_only) {
      Print(FormatSummary(result.summary, result.verification) +
            fmt::format("{:<17}{}: {} ops on {}\n\n",
                        "graph",
                        graph->name(),
                        graph->num_ops(),
                        fmt::join(model.cluster->DeviceNames(), ", ")) +
            FormatVerification(result.verification, result.summary) + "\n");
      FlushOutput();
    }
  }
  if (const auto residuals = PooledResiduals(results); file && residuals) {
    WriteRecord(*file, "/residuals", *residuals);
    file->Commit();
  }
  if (!json_only) Print(FormatFidelityMarkdown(results));
  if (json_only) {
    Print(AsJson(results, model));
  } else if (!options.json.empty()) {
    WriteFileAtomically(options.json, AsJson(results, model));
  }
  if (!options.svg.empty()) WriteFileAtomically(options.svg, FormatScatterSvg(results));
  if (!options.errors_svg.empty()) {
    WriteFileAtomically(options.errors_svg, FormatErrorSvg(results));
  }
  return 0;
}

}  // namespace

void AddValidateCommand(Command program) {
  auto options = std::make_shared<ValidateOptions>();
  Command command = program.AddCommand(
      "validate",
      "Execute many placements on this machine and report the errors of simulated times");
  command
      .Add("--graph", options->graphs, "a name of `emplace list graphs` or a path; may be repeated")
      .OneAtATime()
      .Required();
  command
      .Add("--devices",
           options->devices,
           "devices as `emplace profile` takes them; default: those profiled, else all")
      .SplitAt(',')
      .Type("D,D,...");
  command.Add("--costs",
              options->costs,
              "cost file that `emplace profile` wrote; default: the machine is profiled first");
  command.Add("--cluster",
              options->cluster,
              "cluster file that `emplace profile` wrote with the cost file");
  command.Add("--placements", options->placements, "number of placements of each graph")
      .Range(2, 100000)
      .ShowDefault();
  command.Add("--rounds", options->rounds, "number of steps of each placement")
      .Positive()
      .ShowDefault();
  command
      .Add("--calibrate",
           options->calibrate,
           "further placements, executed between the others, that recalibrate the model. Each is "
           "simulated by a model of the others, which gives the interval of simulated times (from "
           "9 placements on). 0: costs, cluster and interval are those of the files")
      .NotNegative()
      .ShowDefault();
  command
      .Add("--seed",
           options->seed,
           "seed of the placements, which must differ from that of the calibration")
      .ShowDefault();
  command.Add("--seconds", options->seconds, "time for searching good placements of each graph [s]")
      .Positive()
      .ShowDefault();
  command.Add("-o,--output", options->output, "results file (HDF5)").Type("FILE.h5");
  command.AddFlag("--force", options->force, "overwrite an earlier results file");
  command.Add("--json", options->json, "write everything as JSON, on stdout if no file is named")
      .ValueOptional(kJsonToStdout)
      .Type("FILE.json");
  command.Add("--svg", options->svg, "plot of simulated against measured step times (SVG)")
      .Type("FILE.svg");
  command
      .Add("--errors-svg",
           options->errors_svg,
           "plot of errors over crossing bytes and over overlap of devices (SVG)")
      .Type("FILE.svg");
  command.AddFlag("--eager", options->eager, "issue steps op by op instead of as captured graphs");
  command.AddFlag("--quiet", options->quiet, "print no progress on stderr");
  command.Does([options] { return Validate(*options); });
}

}  // namespace emplace

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/machine/fidelity_report.h"
#include "experiments/machine/fidelity_results.h"
#include "experiments/machine/this_machine.h"
#include "experiments/sweep/run_store.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

struct VerifyOptions {
  std::string results;
  RunFiles files;
  std::vector<std::string> devices;
  int top = 5, rounds = 10;
  bool eager = false, json = false, quiet = false;
};

std::string MachineText(const EarlierRun& run, const Machine& machine) {
  std::vector<std::string> devices;
  for (const BackendDevice& device : machine.backend->devices()) {
    devices.push_back(fmt::format("{} ({})", device.name, device.description));
  }
  return fmt::format("graph    {}: {} ops\ncluster  {}\ndevices  {}\ncosts    {}\n",
                     run.graph->name(),
                     run.graph->num_ops(),
                     run.cluster->name(),
                     fmt::join(devices, ", "),
                     run.costs ? run.costs_path.string() : "none: the graph's own and the model");
}

int VerifyRun(const VerifyOptions& options) {
  ResultsReader{options.results};  // refuses sweeps and other files
  const RunStore store({options.results});
  const ProblemRuns runs = store.Problems().at(0);  // a file has one problem
  const EarlierRun run = store.Read(runs, options.files);
  std::vector<Candidate> found = store.ReadFound(runs, run);
  const auto problem = MakeExactProblem(
      run, options.results, Objective::kStepTime, SemanticsAsExecuted(*run.cluster));
  const Machine machine = OpenDevices(
      options.devices,
      run.costs.get(),
      run.cluster.get(),
      options.devices.empty()
          ? fmt::format("{}: the devices of cluster \"{}\"", options.results, run.cluster->name())
          : "--devices");
  VerificationOptions how{.rounds = options.rounds, .mode = ChooseMode(machine, options.eager)};
  std::vector<std::string> machine_warnings;
  if (run.costs != nullptr) {
    machine_warnings = CompareMachines(
        run.costs->properties, machine.backend->Properties(), run.costs_path.string());
    for (const std::string& warning : machine_warnings) PrintWarning(warning);
  }
  found.resize(std::min<size_t>(found.size(), options.top));

  StopRequest::CatchSignals();
  how.issue_order = run.issue_order;
  how.stop = StopRequest::requested;
  Verification verification =
      VerifyWithProgress(problem, machine.backend, found, how, !options.quiet);
  verification.interval =
      FindInterval(run.costs.get(), run.graph->name(), SemanticsAsExecuted(problem->cluster()));
  verification.warnings = machine_warnings;
  const VerificationSummary summary = Summarize(verification);
  store.Extend(runs, [&](ResultsFile& file) {
    WriteVerification(file, "/verification", verification, summary, {}, CollectProvenance());
  });
  if (options.json) {
    Print(ToJson(verification, summary).dump(2) + "\n");
  } else {
    Print(FormatSummary(summary, verification) + "\n" + FormatVerification(verification, summary) +
          "\n" + MachineText(run, machine) + fmt::format("results  {}\n", options.results));
  }
  return 0;
}

}  // namespace

void AddVerifyCommand(Command program) {
  auto options = std::make_shared<VerifyOptions>();
  Command command = program.AddCommand(
      "verify", "Execute the best placements of a run on this machine's devices");
  command.Add("results", options->results, "results file of `emplace run`")
      .Type("RESULT.h5")
      .Required();
  command.Add("--top", options->top, "number of the run's placements to execute, best first")
      .Positive()
      .ShowDefault();
  command.Add("--rounds", options->rounds, "number of steps of each placement")
      .Positive()
      .ShowDefault();
  command
      .Add("--devices",
           options->devices,
           "devices as `emplace profile` takes them; default: those profiled, else the cluster's")
      .SplitAt(',')
      .Type("D,D,...");
  command.AddFlag("--eager", options->eager, "issue steps op by op instead of as captured graphs");
  command.Add("--graph", options->files.graph, "the run's graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the run's cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "the run's cost file, if it has moved");
  command.AddFlag("--json", options->json, "print everything as JSON on stdout");
  command.AddFlag("--quiet", options->quiet, "print no progress on stderr");
  command.Does([options] { return VerifyRun(*options); });
}

}  // namespace emplace

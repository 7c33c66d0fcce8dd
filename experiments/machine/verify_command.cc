#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/machine/fidelity_report.h"
#include "experiments/machine/fidelity_results.h"
#include "experiments/machine/profile_run.h"
#include "experiments/output.h"
#include "experiments/run/run_reader.h"
#include "experiments/run/search_run.h"

namespace emplace {
namespace {

struct Options {
  std::string results;
  RunFiles files;
  std::vector<std::string> devices;
  int top = 5, rounds = 10;
  bool eager = false, json = false, quiet = false;
};

std::string HeaderText(const EarlierRun& run, const Machine& machine) {
  std::vector<std::string> devices;
  for (const BackendDevice& device : machine.backend->devices()) {
    devices.push_back(fmt::format("{} ({})", device.name, device.description));
  }
  return fmt::format("graph    {}: {} ops\ncluster  {}\ndevices  {}\ncosts    {}\n\n",
                     run.graph->name(),
                     run.graph->num_ops(),
                     run.cluster->name(),
                     fmt::join(devices, ", "),
                     run.costs ? run.costs_path.string() : "none: the graph's own and the model");
}

int VerifyRun(const Options& options) {
  EarlierRun run = ReadRun(options.results, options.files);
  const auto problem = MakeExactProblem(run, options.results);
  const Machine machine = OpenDevices(
      options.devices,
      run.costs.get(),
      run.cluster.get(),
      options.devices.empty()
          ? fmt::format("{}: the devices of cluster \"{}\"", options.results, run.cluster->name())
          : "--devices");
  if (run.costs != nullptr) {
    for (const std::string& warning : CompareMachines(
             run.costs->properties, machine.backend->Properties(), run.costs_path.string())) {
      PrintWarning(warning);
    }
  }
  run.found.resize(std::min<size_t>(run.found.size(), options.top));
  ResultsFile file(options.results, ResultsMode::kExtend);  // writable? Better asked now.

  StopRequest::CatchSignals();
  VerificationOptions how{.rounds = options.rounds, .mode = ChooseMode(machine, options.eager)};
  how.stop = StopRequest::requested;
  const Verification verification =
      VerifyWithProgress(problem, machine.backend, run.found, how, !options.quiet);
  const VerificationSummary summary = Summarize(verification);
  WriteVerification(file, "/verification", verification, summary, {}, CollectProvenance());
  file.Commit();
  if (options.json) {
    Print(ToJson(verification, summary).dump(2) + "\n");
  } else {
    Print(HeaderText(run, machine) + FormatVerification(verification) + "\n" +
          FormatSummary(summary, verification) +
          fmt::format("{:<17}{}\n", "results", options.results));
  }
  return 0;
}

}  // namespace

void AddVerifyCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "verify", "Execute the best placements of a run on this machine's devices");
  command->add_option("results", options->results, "results file of `emplace run`")
      ->type_name("RESULT.h5")
      ->required();
  command->add_option("--top", options->top, "how many of the run's placements, best first")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "steps of each placement")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--devices",
                   options->devices,
                   "as `emplace profile` takes them; default: as profiled, else the cluster's")
      ->delimiter(',')
      ->type_name("D,D,...");
  command->add_flag("--eager", options->eager, "steps issued command by command, no graphs");
  command->add_option("--graph", options->files.graph, "the run's graph, if its file has moved");
  command->add_option("--cluster", options->files.cluster, "the run's cluster, if it has moved");
  command->add_option("--costs", options->files.costs, "the run's costs, if they have moved");
  command->add_flag("--json", options->json, "everything as JSON on stdout");
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  command->callback([options, &action] { action = [options] { return VerifyRun(*options); }; });
}

}  // namespace emplace

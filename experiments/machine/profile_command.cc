#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/machine/profile_report.h"
#include "experiments/machine/this_machine.h"
#include "experiments/problem/load.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/file_lock.h"
#include "framework/cluster/cluster_io.h"
#include "profilers/measure/calibrate.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct ProfileCommandOptions {
  std::vector<std::string> graphs, devices;
  std::string output = "costs.json", cluster_output, command;
  bool resume = false, force = false, cold = false, eager = false, no_links = false,
       no_interference = false, json = false, quiet = false;
  ProfileOptions profile;
};

// Turns "dir/costs.json.gz" into "dir/costs".
fs::path WithoutExtensions(fs::path path) {
  if (path.extension() == ".gz") path.replace_extension();
  return path.replace_extension();
}

fs::path ClusterPath(const ProfileCommandOptions& options) {
  if (!options.cluster_output.empty()) return options.cluster_output;
  return WithoutExtensions(options.output).string() + ".cluster.yaml";
}

// Returns the name of the cluster, from the file's name: "costs" for "costs.cluster.yaml".
std::string ClusterName(const fs::path& path) {
  fs::path name = WithoutExtensions(path).filename();
  if (name.extension() == ".cluster") name.replace_extension();
  return name.string();
}

// Returns the profile to resume. An existing profile is replaced only with --force; other files are
// never replaced.
CostTable EarlierProfile(const ProfileCommandOptions& options) {
  std::error_code ignored;
  if (!fs::exists(options.output, ignored)) {
    if (options.resume) PrintWarning(options.output + ": does not exist yet; a new profile starts");
    return {};
  }
  CostTable earlier = ReadCostTable(options.output);
  if (options.resume) return earlier;
  if (options.force) return {};
  throw InputError(fmt::format(
      "{}: holds a {} of {}; --force overwrites it, --resume continues it, -o names another "
      "file",
      options.output,
      earlier.complete ? "profile" : "stopped profile",
      earlier.machine));
}

CostTable MeasureMachine(const Machine& machine,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         const ProfileOptions& profile,
                         const CostTable& earlier,
                         const ProfileCommandOptions& options) {
  const auto keep = [&](const CostTable& partial) {
    WriteFileAtomically(options.output, FormatCostTable(partial));
  };
  try {
    return RunProfile(machine, graphs, profile, earlier, options.quiet, keep);
  } catch (const InputError& error) {  // the earlier profile belongs to another machine
    throw InputError(fmt::format("{}: {}", options.output, error.what()));
  } catch (const DriftError& error) {
    throw RunError(fmt::format(
        "{}; {} holds the measurements before the drift: stop other programs on this machine, then "
        "continue with the same command and --resume; --allow-drift keeps measurements that drift",
        error.what(),
        options.output));
  }
}

int Profile(const ProfileCommandOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const fs::path cluster_path = ClusterPath(options);
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const std::string& graph : options.graphs) {
    graphs.push_back(LoadGraph(ResolveMenu(GraphMenu(), graph, "--graph")));
  }
  const FileLock lock(options.output, PrintWarning);
  const CostTable earlier = EarlierProfile(options);
  const Machine machine = OpenDevices(options.devices,
                                      options.resume ? &earlier : nullptr,
                                      nullptr,
                                      options.devices.empty() ? "profile" : "--devices");
  RequireWritable(cluster_path);
  ProfileOptions profile = options.profile;
  profile.cold = options.cold;
  profile.links = !options.no_links;
  profile.interference = !options.no_interference;
  profile.mode = ChooseMode(machine, options.eager);

  StopRequest::CatchSignals();
  CostTable table = MeasureMachine(machine, graphs, profile, earlier, options);
  table.properties.try_emplace("command", options.command);
  WriteFileAtomically(options.output, FormatCostTable(table));
  if (!table.complete) {
    throw RunError(
        fmt::format("stopped: {} holds the measurements so far; the same command with --resume "
                    "continues from there",
                    options.output));
  }
  const Cluster cluster =
      *Calibrate(table, machine.backend, profile.mode, ClusterName(cluster_path)).cluster;
  WriteFileAtomically(cluster_path, FormatCluster(cluster));

  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.json) {
    nlohmann::ordered_json json = ProfileReportJson(table, graphs, seconds);
    json["costs"] = options.output;
    json["cluster"] = cluster_path.string();
    Print(json.dump(2) + "\n");
  } else {
    Print(FormatProfileReport(table, graphs, seconds));
    Print(fmt::format("\ncosts    {}\ncluster  {}\n", options.output, cluster_path.string()));
  }
  return 0;
}

}  // namespace

void AddProfileCommand(Command program, const std::string& command_line) {
  auto options = std::make_shared<ProfileCommandOptions>();
  options->command = command_line;
  Command command = program.AddCommand(
      "profile", "Measure ops, links and dispatch of this machine; writes costs and a cluster");
  command
      .Add("--graph",
           options->graphs,
           "graph whose ops are measured: a name of `emplace list graphs` or a path; may be "
           "repeated")
      .OneAtATime();
  command
      .Add("--devices",
           options->devices,
           "cpu:0,cpu:1 (its cores divided), gpu:0, gpu:0/4 (four partitions), "
           "gpu:0/64+32+32 (by SMs); default: all")
      .SplitAt(',')
      .Type("D,D,...");
  command.Add("-o,--output", options->output, "cost file (JSON; .gz: compressed)")
      .Type("FILE.json")
      .ShowDefault();
  command
      .Add("--cluster-output",
           options->cluster_output,
           "cluster file; default: NAME.cluster.yaml in the folder of the cost file")
      .Type("FILE.yaml");
  command.AddFlag(
      "--resume", options->resume, "resume from the cost file and keep its measurements");
  command.AddFlag("--force", options->force, "overwrite an earlier profile");
  command
      .Add("--seconds",
           options->profile.rule.max_seconds,
           "longest time for one op alone and for one link size [s]")
      .Positive()
      .ShowDefault();
  command
      .Add("--in-situ",
           options->profile.in_situ_placements,
           "number of placements of each graph that are executed to time ops within whole steps")
      .NotNegative()
      .ShowDefault();
  command.AddFlag("--cold", options->cold, "also time ops with flushed caches");
  command.AddFlag(
      "--eager", options->eager, "issue whole steps op by op instead of as captured graphs");
  command.AddFlag("--no-links",
                  options->no_links,
                  "measure links with three sizes only, and do not measure contention");
  command.AddFlag("--no-interference",
                  options->no_interference,
                  "do not measure ops that run concurrently on devices that share memory; steps "
                  "are then simulated in stream semantics");
  command.AddFlag(
      "--allow-drift",
      options->profile.keep_drifted,
      "keep measurements during which the machine's speed changed by more than 10 %, instead of "
      "repeating them and failing after three attempts; costs and report mention the drift");
  command.AddFlag("--json", options->json, "print the report as JSON on stdout");
  command.AddFlag("--quiet", options->quiet, "print no progress on stderr");
  command.Does([options] {
    if (options->profile.keep_drifted) {  // without repeats or waiting
      options->profile.repeats = 0;
      options->profile.settle_seconds = 0;
    }
    return Profile(*options);
  });
}

}  // namespace emplace

#include <algorithm>
#include <filesystem>
#include <mutex>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/generalize_results.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string config, output;
  std::vector<std::string> settings;
  int jobs = -1;
  bool resume = false, quiet = false;
};

/// The experiment under way.
struct Experiment {
  GeneralizePlan plan;
  std::vector<Family> families;
  std::vector<FamilyResults> results;  ///< [families]
  fs::path output;
  bool quiet = false;
};

std::string TrainingLabel(const TrainPlan& train, std::uint64_t seed) {
  return SearchLabel(train.agent, seed);
}

// Next to the results, so that it can be taken to `emplace run`.
fs::path PolicyPath(const Experiment& experiment, int family, const std::string& label) {
  return fs::path(experiment.output).replace_extension(".policies") /
         fmt::format("{}.{}.policy", experiment.plan.families[family].config.name, label);
}

void ThrowIfStopped(const Experiment& experiment) {
  if (!StopRequest::requested()) return;
  throw RunError(fmt::format("stopped: what was done is in {}, --resume goes on from there",
                             experiment.output.string()));
}

void Save(const Experiment& experiment, ResultsFile& file, int family) {
  WriteFamily(file, experiment.plan, experiment.plan.families[family], experiment.results[family]);
  file.Commit();
}

void TrainFamily(Experiment& experiment, ResultsFile& file, int index, int jobs) {
  const Family& family = experiment.families[index];
  std::vector<Training>& trainings = experiment.results[index].trainings;
  struct Task {
    const TrainPlan* plan;
    std::uint64_t seed;
    Training training;
  };
  std::vector<Task> tasks;
  std::int64_t total = 0, done = 0;
  for (const TrainPlan& plan : experiment.plan.train) {
    for (std::uint64_t seed : experiment.plan.seeds) {
      Task task{&plan, seed, {.label = TrainingLabel(plan, seed)}};
      for (const Training& earlier : trainings) {
        if (earlier.label == task.training.label) task.training = earlier;
      }
      total += plan.updates;
      done += task.training.updates.num_rows();
      tasks.push_back(std::move(task));
    }
  }
  trainings.clear();
  for (const Task& task : tasks) trainings.push_back(task.training);
  const int threads = std::max(1, jobs / std::max<int>(1, static_cast<int>(tasks.size())));
  Progress progress("training on " + family.plan->config.name, total, !experiment.quiet);
  progress.Update(done);
  std::mutex mutex;
  ParallelFor(static_cast<int>(tasks.size()), jobs, [&](int i) {
    Task& task = tasks[i];
    if (!task.training.done()) {
      Train(family, *task.plan, task.seed, threads, task.training, [&](std::int64_t updates) {
        const std::lock_guard lock(mutex);
        progress.Update(++done, fmt::format("{}: {} updates", task.training.label, updates));
      });
    }
    const std::lock_guard lock(mutex);
    trainings[i] = task.training;
    Save(experiment, file, index);
    if (!task.training.done()) return;
    const fs::path path = PolicyPath(experiment, index, task.training.label);
    fs::create_directories(path.parent_path());
    WriteFileAtomically(path, task.training.policy);
  });
  ThrowIfStopped(experiment);
}

void TestFamily(Experiment& experiment, ResultsFile& file, int index, int jobs) {
  const Family& family = experiment.families[index];
  const GeneralizePlan& plan = experiment.plan;
  FamilyResults& results = experiment.results[index];
  std::vector<Test> tasks;
  for (int graph = 0; graph < std::ssize(family.test); ++graph) {
    for (int method = 0; method < std::ssize(plan.test); ++method) {
      for (std::uint64_t seed : plan.seeds) {
        tasks.push_back({.graph = graph, .method = method, .seed = seed});
        if (!plan.test[method].agent.entry->uses_seed) break;
      }
    }
  }
  std::erase_if(tasks, [&](const Test& task) {
    return std::any_of(results.tests.begin(), results.tests.end(), [&](const Test& done) {
      return done.graph == task.graph && done.method == task.method && done.seed == task.seed;
    });
  });
  Progress progress("placing " + family.plan->config.name,
                    static_cast<std::int64_t>(tasks.size()),
                    !experiment.quiet);
  std::mutex mutex;
  int done = 0;
  ParallelFor(static_cast<int>(tasks.size()), jobs, [&](int i) {
    const TestPlan& method = plan.test[tasks[i].method];
    fs::path policy;
    for (const TrainPlan& train : plan.train) {
      if (train.agent.label != method.policy) continue;
      policy = PolicyPath(experiment, index, TrainingLabel(train, tasks[i].seed));
    }
    std::optional<Test> test = RunTest(family, method, tasks[i].graph, tasks[i].seed, policy);
    if (!test) return;
    test->method = tasks[i].method;
    const std::lock_guard lock(mutex);
    results.tests.push_back(*test);
    Save(experiment, file, index);
    progress.Update(++done, method.agent.label);
  });
  // The same file for every number of jobs.
  std::sort(results.tests.begin(), results.tests.end(), [](const Test& a, const Test& b) {
    return std::tie(a.graph, a.method, a.seed) < std::tie(b.graph, b.method, b.seed);
  });
  Save(experiment, file, index);
  ThrowIfStopped(experiment);
}

fs::path OutputPath(const GeneralizePlan& plan, const Options& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  fs::create_directories("results");
  return fs::path("results") / (plan.name + ".h5");
}

int Generalize(const Options& options) {
  Experiment experiment;
  experiment.plan = ReadGeneralizePlan(
      ResolveMenu(RunMenu(), options.config, "generalize"), options.settings, AllAgents());
  const GeneralizePlan& plan = experiment.plan;
  experiment.output = OutputPath(plan, options);
  experiment.quiet = options.quiet;
  for (const FamilyPlan& family : plan.families) {
    experiment.families.push_back(LoadFamily(family));
    FamilyResults& results = experiment.results.emplace_back();
    for (const auto& problem : experiment.families.back().test) {
      results.graphs.push_back(problem->graph().name());
    }
    // Settings are validated by the agents themselves: all of them before the first training.
    for (const TrainPlan& train : plan.train) {
      train.agent.entry->make_trainer({experiment.families.back().train, plan.seeds[0], 1},
                                      train.agent.settings);
    }
    for (const TestPlan& test : plan.test) {
      test.agent.entry->make({experiment.families.back().test[0], plan.seeds[0]},
                             test.agent.settings);
    }
  }
  const bool resumed = options.resume && fs::exists(experiment.output);
  if (resumed) {
    experiment.results = ReadEarlierFamilies(experiment.output, plan, experiment.families);
  } else if (options.resume) {
    PrintWarning(experiment.output.string() + ": is not there yet; a new experiment begins");
  }
  ResultsFile file(experiment.output, resumed ? ResultsMode::kExtend : ResultsMode::kCreate);
  if (!resumed) WriteGeneralizeHeader(file, plan);
  StopRequest::CatchSignals();
  int jobs = options.jobs >= 0 ? options.jobs : plan.config.jobs;
  if (jobs == 0) jobs = NumCores();
  for (int index = 0; index < std::ssize(experiment.families); ++index) {
    TrainFamily(experiment, file, index, jobs);
    TestFamily(experiment, file, index, jobs);
    Print(FormatFamily(plan, plan.families[index], experiment.results[index]) + "\n");
    FlushOutput();
  }
  Print(fmt::format(
      "final, best: step time of the last and of the best placement a method evaluated, over the "
      "best known of the graph\nresults  {}\n",
      experiment.output.string()));
  return 0;
}

}  // namespace

void AddGeneralizeCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "generalize", "Train policies on graphs of a family, then place graphs they never saw");
  command->add_option("config", options->config, "config: a path, or a name in the configs folder")
      ->required();
  command
      ->add_option("--set", options->settings, "replace a key of the config, as in families=[ptb]")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output, "results file (HDF5)")->type_name("FILE.h5");
  command->add_flag("--resume",
                    options->resume,
                    "go on with what the results file holds: trainings and tests that are done "
                    "are kept, stopped trainings continued");
  command->add_option("--jobs", options->jobs, "trainings or tests at a time; 0: one per core")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  command->callback([=, &action] { action = [options] { return Generalize(*options); }; });
}

}  // namespace emplace

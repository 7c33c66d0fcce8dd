#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include "agents/registry.h"
#include "agents/shared/policy_file.h"
#include "experiments/commands.h"
#include "experiments/console/config_command.h"
#include "experiments/console/existing_output.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/generalize/generalize_results.h"
#include "experiments/provenance/provenance.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/file_lock.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

/// The running experiment.
struct Experiment {
  GeneralizePlan plan;
  std::vector<Family> families;
  std::vector<FamilyResults> results;  ///< [families]
  fs::path output;
  bool quiet = false;
  int jobs = 1;
  std::mutex mutex;  ///< protects results and file while tasks run
  std::optional<ResultsFile> file;
  std::atomic<bool> unwritable = false;  ///< skips the tasks that have not begun

  // The caller holds the mutex.
  void Save(const std::function<void()>& write) {
    try {
      write();
      file->Commit();
    } catch (...) {
      unwritable = true;
      throw;
    }
  }
  void ThrowIfStopped() const {
    if (!StopRequest::requested()) return;
    throw RunError(fmt::format("stopped: the finished part is in {}; --resume continues from there",
                               output.string()));
  }
};

// Returns a path next to the results; `emplace run` can use the file, too.
fs::path PolicyPath(const Experiment& experiment, const FamilyPlan& family, const Training& of) {
  return fs::path(experiment.output).replace_extension(".policies") /
         fmt::format("{}.{}.policy", family.config.name, of.label);
}

void TrainFamily(Experiment& experiment, int index) {
  const Family& family = experiment.families[index];
  const GeneralizePlan& plan = experiment.plan;
  FamilyResults& results = experiment.results[index];
  const int count = static_cast<int>(results.trainings.size());
  const int num_seeds = static_cast<int>(plan.seeds.size());
  std::int64_t total = 0, done = 0;
  for (const TrainPlan& train : plan.train) total += num_seeds * train.updates;
  for (const Training& training : results.trainings) done += training.updates.num_rows();
  Progress progress("training on " + family.plan->config.name, total, !experiment.quiet, done);
  ParallelFor(count, experiment.jobs, [&](int i) {
    if (experiment.unwritable || StopRequest::requested()) return;
    const TrainPlan& train = plan.train[i / num_seeds];
    Training& training = results.trainings[i];
    const bool begins = !training.done();
    if (begins) {
      try {
        const int threads = std::max(1, experiment.jobs / count);
        const std::uint64_t seed = plan.seeds[i % num_seeds];
        Train(family, train, seed, threads, training, [&](std::int64_t updates) {
          const std::lock_guard lock(experiment.mutex);
          progress.Update(++done, fmt::format("{}: {} updates", training.label, updates));
        });
      } catch (const RunError& error) {
        const std::lock_guard lock(experiment.mutex);
        results.failures.emplace_back(error.what());
        return;
      }
    }
    const std::lock_guard lock(experiment.mutex);
    experiment.Save([&] {
      WriteTraining(*experiment.file, *family.plan, training);
      if (!training.done()) return;
      const fs::path path = PolicyPath(experiment, *family.plan, training);
      CreateFolder(path.parent_path());
      WriteFileAtomically(path, training.policy.text);
    });
    if (!begins || !training.done()) return;
    progress.Line(fmt::format(
        "{}: {} trained in {:.1f} s", family.plan->config.name, training.label, training.seconds));
  });
  std::sort(results.failures.begin(), results.failures.end());
  experiment.ThrowIfStopped();
}

// Returns the remaining tests, without methods whose policy could not be trained.
std::vector<Test> ListTests(const GeneralizePlan& plan, const FamilyResults& results) {
  std::vector<Test> tests;
  for (int graph = 0; graph < std::ssize(results.graphs); ++graph) {
    for (int method = 0; method < std::ssize(plan.test); ++method) {
      for (const std::uint64_t seed : plan.seeds) {
        const bool done =
            std::any_of(results.tests.begin(), results.tests.end(), [&](const Test& test) {
              return test.graph == graph && test.method == method && test.seed == seed;
            });
        const Training* training = results.FindTraining(plan, plan.test[method], seed);
        const bool possible = plan.test[method].policy.empty() || training->done();
        if (!done && possible) tests.push_back({.graph = graph, .method = method, .seed = seed});
        if (!plan.test[method].agent.entry->uses_seed) break;
      }
    }
  }
  return tests;
}

void TestFamily(Experiment& experiment, int index) {
  const Family& family = experiment.families[index];
  const GeneralizePlan& plan = experiment.plan;
  FamilyResults& results = experiment.results[index];
  const std::vector<Test> tasks = ListTests(plan, results);
  Progress progress("placing " + family.plan->config.name, std::ssize(tasks), !experiment.quiet);
  int done = 0;
  ParallelFor(static_cast<int>(tasks.size()), experiment.jobs, [&](int i) {
    if (experiment.unwritable) return;
    const Test& task = tasks[i];
    const TestPlan& method = plan.test[task.method];
    const Training* training = results.FindTraining(plan, method, task.seed);
    std::optional<Test> test;
    std::string failure;
    try {
      test = RunTest(family,
                     method,
                     task.graph,
                     task.seed,
                     training ? PolicyPath(experiment, *family.plan, *training) : fs::path());
      if (!test) return;  // stopped
      test->method = task.method;
    } catch (const RunError& error) {
      failure = error.what();
    }
    const std::lock_guard lock(experiment.mutex);
    test ? results.tests.push_back(*test) : results.failures.push_back(failure);
    experiment.Save([&] { WriteTests(*experiment.file, *family.plan, results); });
    progress.Update(++done, method.agent.label);
  });
  // Makes the file independent of the number of jobs.
  std::sort(results.tests.begin(), results.tests.end(), [](const Test& a, const Test& b) {
    return std::tie(a.graph, a.method, a.seed) < std::tie(b.graph, b.method, b.seed);
  });
  std::sort(results.failures.begin(), results.failures.end());
  experiment.Save([&] { WriteTests(*experiment.file, *family.plan, results); });
  experiment.ThrowIfStopped();
}

fs::path OutputPath(const GeneralizePlan& plan, const ConfigOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  return fs::path("results") / (plan.name + NamePart(options.settings) + ".h5");
}

// Lets the agents validate their settings, all of them before the first training.
void RequireAgents(const GeneralizePlan& plan, const Family& family) {
  for (const TrainPlan& train : plan.train) {
    train.agent.entry->make_trainer({family.train, plan.seeds[0], 1}, train.agent.settings);
  }
  for (const TestPlan& test : plan.test) {
    test.agent.entry->make({family.test[0], plan.seeds[0]}, test.agent.settings);
  }
}

// Makes each method with an untrained policy, so that a method that refuses the policy is found
// before hours of training.
void RequirePolicies(const Experiment& experiment, const Family& family) {
  const GeneralizePlan& plan = experiment.plan;
  for (const TrainPlan& train : plan.train) {
    const fs::path path =
        PolicyPath(experiment, *family.plan, {.label = train.agent.label + ".untrained"});
    CreateFolder(path.parent_path());
    std::ostringstream policy;
    train.agent.entry->make_trainer({family.train, plan.seeds[0], 1}, train.agent.settings)
        ->SavePolicy(policy);
    WriteFileAtomically(
        path,
        PolicyFileText(policy.str(), train.agent.entry->resolve_settings(train.agent.settings)));
    std::exception_ptr refusal;
    try {
      for (const TestPlan& test : plan.test) {
        if (test.policy != train.agent.label) continue;
        test.agent.entry->make({family.test[0], plan.seeds[0]}, SettingsWithPolicy(test, path));
      }
    } catch (const InputError&) {
      refusal = std::current_exception();
    }
    std::error_code error;
    fs::remove(path, error);
    if (refusal) std::rethrow_exception(refusal);
    if (error)
      throw RunError(fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
  }
}

// Opens the results file, and reads its contents if the experiment is to resume.
void OpenResults(Experiment& experiment, bool resume) {
  std::error_code ignored;
  const bool resumed = resume && fs::exists(experiment.output, ignored);
  if (resume && !resumed) {
    PrintWarning(experiment.output.string() + ": does not exist yet; a new experiment starts");
  }
  const GeneralizePlan& plan = experiment.plan;
  if (resumed) {
    experiment.results = ReadEarlierFamilies(experiment.output, plan, experiment.families);
    experiment.file.emplace(experiment.output, ResultsMode::kExtend);
    experiment.file->SetAttribute("/config", "resumed", CollectProvenance().date);
    return;
  }
  experiment.file.emplace(experiment.output, ResultsMode::kCreate);
  WriteGeneralizeHeader(*experiment.file, plan);
  for (const Family& family : experiment.families) {
    RequirePolicies(experiment, family);
    WriteFamily(*experiment.file, plan, family);
    experiment.results.push_back(BeginFamily(plan, family));
  }
}

// Prints the trainings and tests that would run.
void PrintTasks(const Experiment& experiment) {
  const GeneralizePlan& plan = experiment.plan;
  for (const Family& family : experiment.families) {
    const std::string& name = family.plan->config.name;
    for (const Training& training : BeginFamily(plan, family).trainings) {
      Print(fmt::format("{}: train {} on {} graphs\n", name, training.label, family.train.size()));
    }
    for (const TestPlan& test : plan.test) {
      const size_t seeds = test.agent.entry->uses_seed ? plan.seeds.size() : 1;
      Print(fmt::format("{}: test {} on {} graphs with {} seed{}\n",
                        name,
                        test.agent.label,
                        family.test.size(),
                        seeds,
                        seeds == 1 ? "" : "s"));
    }
  }
  Print(fmt::format("results  {}\n", experiment.output.string()));
}

int Generalize(const ConfigOptions& options) {
  Experiment experiment;
  const Menu menu{"experiment", "generalization", "", {".yaml", ".yml"}};
  experiment.plan = ReadGeneralizePlan(
      ResolveMenu(menu, options.config, "generalize"), options.settings, AllAgents());
  const GeneralizePlan& plan = experiment.plan;
  experiment.output = OutputPath(plan, options);
  experiment.quiet = options.quiet;
  experiment.jobs = options.jobs >= 0 ? options.jobs : plan.config.jobs;
  if (options.print_config) {
    GeneralizeConfig config = plan.config;
    config.jobs = experiment.jobs;
    config.output = options.output.empty() ? config.output : options.output;
    Print(WriteFields(config, /*whole=*/true));
    return 0;
  }
  if (experiment.jobs == 0) experiment.jobs = NumCores();
  std::optional<FileLock> lock;
  if (!options.dry_run) {
    if (experiment.output.parent_path() == "results") CreateFolder("results");
    lock.emplace(experiment.output, PrintWarning);
    if (!options.resume && !options.force) {
      RequireUnused(experiment.output,
                    "--force overwrites it, --resume continues it, -o names another file");
    }
  }
  for (const FamilyPlan& family : plan.families) {
    experiment.families.push_back(LoadFamily(family, options.strict));
    RequireAgents(plan, experiment.families.back());
  }
  if (options.dry_run) {
    PrintTasks(experiment);
    return 0;
  }
  OpenResults(experiment, options.resume);
  StopRequest::CatchSignals();
  std::size_t failed = 0;
  for (int index = 0; index < std::ssize(experiment.families); ++index) {
    TrainFamily(experiment, index);
    TestFamily(experiment, index);
    Print(FormatFamily(plan, plan.families[index], experiment.results[index]) + "\n");
    FlushOutput();
    failed += experiment.results[index].failures.size();
  }
  Print(fmt::format(
      "final, best: step time over the best known step time of the graph. final: of the placement "
      "that the method returns\n(the last one of a policy with `updates`, else the best one); "
      "best: of the best placement that it evaluated.\nresults  {}\n",
      experiment.output.string()));
  if (failed > 0) {
    throw RunError(
        fmt::format("{} trainings and tests failed, see the tables; --resume tries them "
                    "again",
                    failed));
  }
  return 0;
}

}  // namespace

void AddGeneralizeCommand(Command program) {
  auto options = std::make_shared<ConfigOptions>();
  AddConfigCommand(
      program,
      {.name = "generalize",
       .sentence = "Train policies on some graphs of a family and test them on other graphs of it",
       .kind = "a generalisation config",
       .where = "a path, or a name in the folder configs/generalization",
       .setting = "families=[ptb]",
       .output =
           "results file (HDF5); default: results/CONFIG.h5, with the changes of --set in its name",
       .output_type = "FILE.h5",
       .resume = "resume from the results file: keep finished trainings and tests, continue "
                 "stopped trainings",
       .jobs = "trainings or tests",
       .dry_run = "check everything and print the trainings and tests, without training or writing",
       .force = "overwrite an earlier results file"},
      *options,
      [] { return DescribeFields<GeneralizeConfig>(); },
      [options] { return Generalize(*options); });
}

}  // namespace emplace

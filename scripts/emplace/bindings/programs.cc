#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include "agents/registry.h"
#include "experiments/console/existing_output.h"
#include "experiments/console/menu.h"
#include "experiments/console/stop_request.h"
#include "experiments/program.h"
#include "experiments/run/run_execution.h"
#include "framework/base/error.h"
#include "framework/bounds/highs.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

// `emplace sweep` forks its workers, which may run agents written in Python. The interpreter is
// notified of the forks of the program, and of no other ones.
thread_local bool in_program = false;
PyGILState_STATE state_at_fork;

void BeforeFork() {
  if (!in_program) return;
  state_at_fork = PyGILState_Ensure();
  PyOS_BeforeFork();
}
void AfterForkInParent() {
  if (!in_program) return;
  PyOS_AfterFork_Parent();
  PyGILState_Release(state_at_fork);
}
void AfterForkInChild() {
  if (!in_program) return;
  PyOS_AfterFork_Child();
  PyGILState_Release(state_at_fork);
}

// Runs a part of the program without the GIL, restores the signal handlers, and returns whether the
// user requested a stop. If `body` throws after such a request, Python sees both.
template <class Body>
bool AsProgram(const Body& body) {
  const nb::gil_scoped_release release;
  bool stopped = false;
  struct Scope {
    explicit Scope(bool& flag) : stopped(flag) { in_program = true; }
    ~Scope() {
      in_program = false;
      stopped = StopRequest::ReleaseSignals();
    }
    bool& stopped;
  };
  try {
    const Scope scope(stopped);
    body();
  } catch (...) {
    if (stopped) PyErr_SetInterrupt();
    throw;
  }
  return stopped;
}

[[noreturn]] void ThrowKeyboardInterrupt(const std::string& message) {
  PyErr_SetString(PyExc_KeyboardInterrupt, message.c_str());
  throw nb::python_error();
}

int RunArguments(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  int code = 0;
  AsProgram([&] { code = RunProgram(static_cast<int>(argv.size()), argv.data()); });
  return code;
}

// A Python callback as a C++ function; emplace.searches makes its argument. After the callback has
// thrown, all searches that ask are stopped, and Rethrow() rethrows its exception.
class Watch {
 public:
  explicit Watch(std::optional<nb::object> callback) : callback_(std::move(callback)) {}

  // Returns an empty function if there is no callback. Any thread may call it, without the GIL.
  std::function<bool(const SearchMoment&)> function() {
    if (!callback_) return {};
    return [this](const SearchMoment& moment) {
      const nb::gil_scoped_acquire gil;
      if (error_) return false;
      try {
        return Call(moment);
      } catch (nb::python_error& error) {
        error_.emplace(error);
        return false;
      }
    };
  }

  void Rethrow() {
    const nb::gil_scoped_acquire gil;
    if (error_) throw nb::python_error(std::move(*error_));
  }

 private:
  bool Call(const SearchMoment& moment) const {
    std::vector<double> row;
    std::int64_t num_updates = 0;
    if (moment.updates != nullptr) num_updates = moment.updates->num_rows();
    if (num_updates > 0) {
      row.assign(moment.updates->values.end() - std::ssize(moment.updates->columns),
                 moment.updates->values.end());
    }
    return nb::cast<bool>(
        (*callback_)(std::string(moment.label),
                     moment.seed,
                     moment.steps,
                     moment.evaluations,
                     moment.seconds,
                     moment.step_time,
                     moment.bound,
                     num_updates,
                     row.empty() ? std::vector<std::string>() : moment.updates->columns,
                     row,
                     moment.ended ? std::string(ToString(*moment.ended)) : ""));
  }

  const std::optional<nb::object> callback_;
  std::optional<nb::python_error> error_;
};

constexpr const char* kRunOutputChoices =
    "force=True overwrites it, resume=True continues it, output names another file";

nb::dict RunConfigured(const std::string& config,
                       const std::string& name,
                       const std::string& beside,
                       const std::string& output,
                       bool resume,
                       bool force,
                       int jobs,
                       bool quiet,
                       std::optional<nb::handle_t<PythonProblem>> problem,
                       std::optional<nb::object> callback) {
  std::string table;
  std::string message =
      fmt::format("stopped: every search is complete; the results are in {}", output);
  Watch watch(std::move(callback));
  const PythonProblem* given = problem ? &nb::cast<const PythonProblem&>(*problem) : nullptr;
  const bool stopped = AsProgram([&] {
    RunPlan plan = MakeRunPlan(ConfigNode::FromString(config, name), name, beside, AllAgents());
    LoadedProblem loaded = given != nullptr ? given->loaded : LoadProblem(plan);
    Run run = PrepareRun(std::move(plan), std::move(loaded), jobs);
    const auto ends = [&] {
      const std::vector<TableRow> rows = MakeRows(run);
      table = TableAsJson(run, rows);
      WriteBestPlacement(run, rows, output);
    };
    ExecuteRun(run,
               {.output = output,
                .resume = resume,
                .force = force,
                .instead = kRunOutputChoices,
                .quiet = quiet,
                .watch = watch.function(),
                .begins = StopRequest::CatchSignals,
                .ends = ends});
    watch.Rethrow();
    try {
      RequireComplete(run, output);
    } catch (const RunError& error) {
      if (!StopRequest::requested()) throw;
      message = error.what();
    }
  });
  if (stopped) ThrowKeyboardInterrupt(message);
  return nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(table));
}

nb::dict CheckConfig(const std::string& config,
                     const std::string& name,
                     const std::string& beside) {
  std::string json;
  {
    const nb::gil_scoped_release release;
    RunPlan plan = MakeRunPlan(ConfigNode::FromString(config, name), name, beside, AllAgents());
    LoadedProblem loaded = LoadProblem(plan);
    const Run run = PrepareRun(std::move(plan), std::move(loaded));
    const auto number_or_null = [](const auto& limit) {
      return limit ? fmt::to_string(*limit) : std::string("null");
    };
    json = fmt::format(R"({{"bound_ns": {}, "searches": {}, "evaluations": {}, "seconds": {}}})",
                       run.bounds.proven.value,
                       run.tasks.size(),
                       number_or_null(run.plan.config.max_evaluations),
                       number_or_null(run.plan.config.max_seconds));
  }
  return nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(json));
}

// The result of one search.
struct PythonSearch {
  SearchResult result;
  std::vector<double> seconds, best;    // [evaluations]
  std::vector<std::int64_t> step_time;  // [evaluations]
};

PythonSearch SearchWith(const PythonProblem& problem,
                        const std::string& agent,
                        std::uint64_t seed,
                        std::int64_t evaluations,
                        double seconds,
                        std::int64_t steps,
                        std::optional<nb::object> callback) {
  PythonSearch search;
  Watch watch(std::move(callback));
  const bool stopped = AsProgram([&] {
    const std::vector<AgentSpec> specs =
        ParseAgents(ConfigNode::FromString(agent, "agent"), AllAgents(), {});
    specs[0].entry->make({problem.loaded.searched, seed},
                         specs[0].settings);  // only checks the settings
    StopRequest::CatchSignals();
    search.result = RunSearch(problem.loaded.searched,
                              problem.how,
                              specs[0],
                              seed,
                              {.evaluations = evaluations, .seconds = seconds, .steps = steps},
                              nullptr,
                              {.watch = watch.function()});
    watch.Rethrow();
  });
  if (stopped) ThrowKeyboardInterrupt("the search was stopped");
  if (search.result.status == SearchStatus::kFailed) throw RunError(search.result.error);
  for (const EvaluationRecord& record : search.result.records) {
    search.seconds.push_back(record.wall_seconds);
    search.step_time.push_back(record.step_time);
    search.best.push_back(record.best_step_time < kMaxNanos
                              ? static_cast<double>(record.best_step_time)
                              : std::numeric_limits<double>::quiet_NaN());
  }
  return search;
}

}  // namespace

void AddPrograms(nb::module_& module) {
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  module.def("run_program",
             RunArguments,
             nb::arg("arguments"),
             "Runs the C++ program in this process. arguments: the first is its name. Returns the "
             "exit code.");
  module.def(
      "set_configs_folder",
      [](const std::string& path) { SetConfigsFolder(path); },
      nb::arg("path"),
      "The folder of the menus, unless $EMPLACE_CONFIGS names another.");
  module.def("set_highs_python",
             SetHighsPython,
             nb::arg("program"),
             "The Python program that runs HiGHS (package highspy) for bounds of periods.");
  module.def(
      "configs_folder", [] { return ConfigsFolder().string(); }, "The folder of the menus.");
  module.def(
      "require_unused",
      [](const std::string& output) { RequireUnused(output, kRunOutputChoices); },
      nb::arg("output"),
      "Throws InputError if the results file of a run already exists, naming its contents.");
  module.def("run_config",
             RunConfigured,
             nb::arg("config"),
             nb::arg("name"),
             nb::arg("beside"),
             nb::arg("output"),
             nb::arg("resume"),
             nb::arg("force"),
             nb::arg("jobs"),
             nb::arg("quiet"),
             nb::arg("problem") = nb::none(),
             nb::arg("callback") = nb::none(),
             nb::sig("def run_config(config: str, name: str, beside: str, output: str, resume: "
                     "bool, force: bool, jobs: int, quiet: bool, problem: Problem | None = None, "
                     "callback: object | None = None) -> dict[str, object]"),
             "emplace.run() for the text of a config.");
  module.def("check_config",
             CheckConfig,
             nb::arg("config"),
             nb::arg("name"),
             nb::arg("beside"),
             nb::sig("def check_config(config: str, name: str, beside: str) -> dict[str, int | "
                     "float | None]"),
             "Checks the text of a run config, agents included. Returns bound_ns, searches, and "
             "the limits evaluations and seconds of each search, or None.");

  using S = PythonSearch;
  nb::class_<S>(module, "Search", "The result of one search.")
      .def_prop_ro(
          "status",
          [](const S& self) { return std::string(ToString(self.result.status)); },
          "\"finished\", \"budget\", or \"stopped\" by the callback")
      .def_prop_ro("placement",
                   Array<S>([](const S& s, nb::handle self) -> std::optional<View<DeviceIndex, 1>> {
                     if (!s.result.best) return std::nullopt;
                     const auto& device = s.result.best->placement.device;
                     return ViewOf(device.data(), device.size(), self);
                   }),
                   "[num_groups] uint8: the best placement; None: nothing was evaluated")
      .def_prop_ro(
          "step_time",
          [](const S& self) { return FittingTime(self.result); },
          "objective of the best placement [ns]; None: none fits into memory")
      .def_prop_ro("evaluations", [](const S& self) { return self.result.records.size(); })
      .def_prop_ro(
          "steps",
          [](const S& self) { return self.result.steps; },
          "number of finished steps of the agent")
      .def_prop_ro(
          "seconds", [](const S& self) { return self.result.seconds; }, "[s]")
      .def_prop_ro(
          "bound",
          [](const S& self) { return self.result.bound; },
          "lower bound that the agent proved [ns]; 0: none")
      .def_prop_ro(
          "wall_seconds",
          Array<S>([](const S& s, nb::handle self) {
            return ViewOf(s.seconds.data(), s.seconds.size(), self);
          }),
          "[evaluations] float64: time of each evaluation since the begin of the search [s]")
      .def_prop_ro("step_times",
                   Array<S>([](const S& s, nb::handle self) {
                     return ViewOf(s.step_time.data(), s.step_time.size(), self);
                   }),
                   "[evaluations] int64 [ns]")
      .def_prop_ro("best_step_times",
                   Array<S>([](const S& s, nb::handle self) {
                     return ViewOf(s.best.data(), s.best.size(), self);
                   }),
                   "[evaluations] float64: best objective so far of a placement that fits [ns]; "
                   "NaN: none yet")
      .def("__repr__", [](const S& self) {
        const auto best = FittingTime(self.result);
        return fmt::format(
            "Search({}, {} evaluations, {})",
            ToString(self.result.status),
            self.result.records.size(),
            best ? fmt::format("{:.6g} ms", static_cast<double>(*best) / 1e6) : "nothing fits");
      });
  module.def("search_with",
             SearchWith,
             nb::arg("problem"),
             nb::arg("agent"),
             nb::arg("seed"),
             nb::arg("evaluations"),
             nb::arg("seconds"),
             nb::arg("steps"),
             nb::arg("callback") = nb::none(),
             "emplace.search() for the text of an agent's entry in a config.");
}

}  // namespace emplace::python

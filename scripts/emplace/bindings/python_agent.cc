#include "scripts/emplace/bindings/python_agent.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/search/state.h"
#include "scripts/emplace/bindings/bindings.h"
#include "scripts/emplace/bindings/python_errors.h"

namespace emplace::python {
namespace {

nb::object Support() {
  return nb::module_::import_("emplace.agent");
}

// Calls Python with the GIL, and converts a Python exception to its C++ counterpart.
template <class Call>
auto InPython(const std::string& what, const Call& call) {
  const nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (nb::python_error& error) {
    if (error.matches(budget_exhausted)) throw BudgetExhausted();
    if (error.matches(interrupted)) throw Interrupted();
    const bool wrong_input = error.matches(nb::module_::import_("emplace").attr("InputError"));
    const std::string message =
        wrong_input
            ? std::string(nb::str(error.value()).c_str())
            : fmt::format(
                  "{}: {}", what, nb::cast<std::string>(Support().attr("describe")(error.value())));
    if (wrong_input) throw InputError(message);
    throw RunError(message);
  }
}

class PythonAgent final : public Agent {
 public:
  PythonAgent(std::string name, const AgentContext& context, const std::string& settings)
      : name_(std::move(name)) {
    InPython(name_, [&] {
      agent_ = Support().attr("make")(name_, ProblemView(context.problem), context.seed, settings);
    });
  }
  ~PythonAgent() override {
    const nb::gil_scoped_acquire gil;
    agent_.reset();
  }

  void Step(Evaluator& evaluator) override {
    InPython(name_, [&] {
      const nb::object view = nb::cast(EvaluatorView(evaluator));
      struct End {  // also after an exception: the evaluator belongs to the runner
        EvaluatorView& view;
        ~End() { view.End(); }
      } end{nb::cast<EvaluatorView&>(view)};
      agent_.attr("step")(view);
    });
    ReadState();
  }

  bool Finished() const override { return finished_; }
  Nanos bound() const override { return bound_; }
  const UpdateTable* updates() const override {
    return updates_.columns.empty() ? nullptr : &updates_;
  }

  void VisitState(StateVisitor& v) override {
    std::string state;
    if (!v.reading()) {
      InPython(name_, [&] {
        const auto bytes = nb::cast<nb::bytes>(Support().attr("save")(agent_));
        state.assign(bytes.c_str(), bytes.size());
      });
    }
    v.Text("the state of an agent in Python", state);
    if (!v.reading()) return;
    InPython(name_, [&] { agent_.attr("load")(nb::bytes(state.data(), state.size())); });
    ReadState();
  }

 private:
  // Reads the state that the runner requests between two steps, perhaps from inner loops.
  void ReadState() {
    InPython(name_, [&] {
      const auto [finished, bound] =
          nb::cast<std::pair<bool, Nanos>>(Support().attr("state")(agent_));
      finished_ = finished;
      bound_ = bound;
      using Rows = std::pair<std::vector<std::string>, std::vector<double>>;
      auto [columns, values] = nb::cast<Rows>(Support().attr("updates")(agent_));
      updates_ = {std::move(columns), std::move(values)};
    });
  }

  const std::string name_;
  nb::object agent_;
  bool finished_ = false;
  Nanos bound_ = 0;
  UpdateTable updates_;
};

AgentEntry MakeEntry(const std::string& name, const std::string& where) {
  AgentEntry entry;
  entry.name = name;
  InPython(where, [&] {
    const nb::object info = Support().attr("find")(name);
    entry.sentence = nb::cast<std::string>(info.attr("sentence"));
    entry.uses_seed = nb::cast<bool>(info.attr("uses_seed"));
  });
  entry.growth = "written in Python";
  entry.make = [name](const AgentContext& context, const ConfigNode& settings) {
    return std::make_unique<PythonAgent>(name, context, settings.Dump());
  };
  entry.describe_settings = [name] {
    return InPython(name, [&] {
      std::vector<FieldHelp> fields;
      for (nb::handle field : nb::iter(Support().attr("describe_settings")(name))) {
        fields.push_back({nb::cast<std::string>(field[0]),
                          nb::cast<std::string>(field[1]),
                          nb::cast<std::string>(field[2])});
      }
      return fields;
    });
  };
  entry.resolve_settings = [name](const ConfigNode& settings) {
    return InPython(name, [&] {
      return nb::cast<std::string>(Support().attr("resolve_settings")(name, settings.Dump()));
    });
  };
  return entry;
}

}  // namespace

Evaluator& EvaluatorView::get() const {
  if (evaluator_ == nullptr) throw RunError("an evaluator may only be used within its own step");
  return *evaluator_;
}

void LoadPythonAgents() {
  LoadAgentsBy("python:", MakeEntry);
}

}  // namespace emplace::python

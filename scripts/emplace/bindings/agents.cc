#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "scripts/emplace/bindings/bindings.h"
#include "scripts/emplace/bindings/evaluation.h"
#include "scripts/emplace/bindings/python_agent.h"

namespace emplace::python {
namespace {

nb::list AgentNames() {
  nb::list names;
  for (const AgentEntry& entry : AllAgents().entries()) names.append(entry.name);
  return names;
}

nb::dict AgentHelp(const std::string& name) {
  const AgentEntry& entry = AllAgents().Find(name, "agent");
  nb::dict settings, help;
  for (const FieldHelp& field : entry.describe_settings()) {
    settings[field.key.c_str()] = nb::make_tuple(field.default_value, field.help);
  }
  help["name"] = entry.name;
  help["sentence"] = entry.sentence;
  help["uses_seed"] = entry.uses_seed;
  help["growth"] = entry.growth;
  help["settings"] = settings;
  return help;
}

}  // namespace

void AddAgents(nb::module_& module) {
  nb::class_<EvaluatorView> evaluator(
      module,
      "Evaluator",
      "The evaluator of an agent's step, which counts, records and limits evaluations.\n"
      "\n"
      "May be used within the step only. Throws BudgetExhausted when the budget ends.");
  evaluator.def_prop_ro(
      "remaining",
      [](const EvaluatorView& self) { return self.get().remaining(); },
      "number of evaluations left in the budget; 2^63 - 1: no limit");
  AddEvaluation(evaluator, [](EvaluatorView& self, const auto& body) {
    Evaluator& inner = self.get();
    const nb::gil_scoped_release release;
    return body(inner);
  });
  module.def("agent_names",
             AgentNames,
             nb::sig("def agent_names() -> list[str]"),
             "Every compiled agent.");
  module.def("agent_help",
             AgentHelp,
             nb::arg("name"),
             nb::sig("def agent_help(name: str) -> dict[str, object]"),
             "Description of an agent and its settings: name -> (default as YAML, sentence).");
  LoadPythonAgents();
}

}  // namespace emplace::python

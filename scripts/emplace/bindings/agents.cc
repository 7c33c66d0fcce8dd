#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "scripts/emplace/bindings/bindings.h"
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

std::shared_ptr<Outcomes> EvaluateBytes(EvaluatorView& self,
                                        PlacementArray placements,
                                        bool peaks,
                                        bool busy) {
  Evaluator& evaluator = self.get();
  const nb::gil_scoped_release release;
  return EvaluateRows(
      evaluator, {placements.data(), placements.shape(0), placements.shape(1)}, {peaks, busy});
}

std::shared_ptr<Outcomes> EvaluateIntegers(EvaluatorView& self,
                                           nb::handle placements,
                                           bool peaks,
                                           bool busy) {
  Evaluator& evaluator = self.get();
  const GivenPlacements given(placements);
  const nb::gil_scoped_release release;
  return EvaluateRows(
      evaluator, {given.device.data(), given.num_placements, given.num_groups}, {peaks, busy});
}

std::shared_ptr<Outcomes> Moves(EvaluatorView& self,
                                nb::handle base,
                                nb::handle moves,
                                nb::handle begin,
                                bool peaks,
                                bool busy) {
  Evaluator& evaluator = self.get();
  const GivenMoves given(base, moves, begin);
  const nb::gil_scoped_release release;
  return EvaluateMoves(evaluator, given, {peaks, busy});
}

}  // namespace

void AddAgents(nb::module_& module) {
  nb::class_<EvaluatorView>(
      module,
      "Evaluator",
      "What an agent's step asks: counts, records and limits what is evaluated.\n\n"
      "May be used within the step only. Throws BudgetExhausted when the budget ends.")
      .def_prop_ro(
          "remaining",
          [](const EvaluatorView& self) { return self.get().remaining(); },
          "evaluations that the budget still allows; 2^63 - 1: no limit")
      .def("evaluate",
           EvaluateBytes,
           nb::arg("placements").noconvert(),
           nb::kw_only(),
           nb::arg("peaks") = true,
           nb::arg("busy") = false,
           "Evaluates placements, uint8 [B, num_groups], in order.")
      .def("evaluate",
           EvaluateIntegers,
           nb::arg("placements"),
           nb::sig("def evaluate(self, placements: numpy.typing.ArrayLike, *, peaks: bool = True, "
                   "busy: bool = False) -> Outcomes"),
           nb::sig("def evaluate(self, placements: numpy.typing.ArrayLike, *, peaks: bool = True, "
                   "busy: bool = False) -> Outcomes"),
           nb::kw_only(),
           nb::arg("peaks") = true,
           nb::arg("busy") = false,
           "The same for other integers, which are copied.")
      .def("moves",
           Moves,
           nb::sig("def moves(self, base: numpy.typing.ArrayLike, moves: numpy.typing.ArrayLike, "
                   "begin: numpy.typing.ArrayLike | None = None, *, peaks: bool = False, busy: "
                   "bool = False) -> Outcomes"),
           nb::sig("def moves(self, base: numpy.typing.ArrayLike, moves: numpy.typing.ArrayLike, "
                   "begin: numpy.typing.ArrayLike | None = None, *, peaks: bool = False, busy: "
                   "bool = False) -> Outcomes"),
           nb::arg("base"),
           nb::arg("moves"),
           nb::arg("begin") = nb::none(),
           nb::kw_only(),
           nb::arg("peaks") = false,
           nb::arg("busy") = false,
           "Evaluates neighbours of a placement, as Problem.moves().");
  module.def("agent_names",
             AgentNames,
             nb::sig("def agent_names() -> list[str]"),
             "Every compiled agent.");
  module.def("agent_help",
             AgentHelp,
             nb::arg("name"),
             nb::sig("def agent_help(name: str) -> dict[str, object]"),
             "What an agent is, and its settings: name -> (default as YAML, sentence).");
  LoadPythonAgents();
}

}  // namespace emplace::python

#include "scripts/emplace/bindings/bindings.h"

NB_MODULE(_emplace, module) {
  module.attr("__doc__") = "The compiled part of the package emplace; import emplace instead.";
  emplace::python::AddErrors(module);
  emplace::python::AddGraph(module);
  emplace::python::AddCluster(module);
  emplace::python::AddCosts(module);
  emplace::python::AddCostTable(module);
  emplace::python::AddOutcomes(module);
  emplace::python::AddTimeline(module);
  emplace::python::AddProblemView(module);
  emplace::python::AddProblem(module);
  emplace::python::AddPlan(module);
  emplace::python::AddAgents(module);
  emplace::python::AddPrograms(module);
}

#include "agents/shared/policy_gradient/learner_state.h"

#include <iterator>

#include "framework/base/error.h"

namespace emplace {

void VisitParameters(StateVisitor& v, ParameterSet& parameters) {
  v.Size("parameters", std::ssize(parameters.all()));
  for (Parameter& parameter : parameters.all()) {
    v.Name("parameter", parameter.name);
    v.Matrix("parameter " + parameter.name, parameter.value);
  }
  if (v.reading()) parameters.ClearGradients();
}

void CopyValues(const ParameterSet& from, ParameterSet& to) {
  EMPLACE_CHECK(from.all().size() == to.all().size());
  for (std::size_t i = 0; i < from.all().size(); ++i) {
    const Parameter& source = from.all()[i];
    Parameter& target = to.all()[i];
    EMPLACE_CHECK(source.name == target.name, source.name + ", " + target.name);
    EMPLACE_CHECK(
        source.value.rows() == target.value.rows() && source.value.cols() == target.value.cols(),
        source.name);
    target.value = source.value;
  }
}

void VisitLearner(StateVisitor& v, ParameterSet& parameters, Optimizer& optimizer) {
  VisitParameters(v, parameters);
  v.Name("the optimizer", optimizer.method());
  std::int64_t updates = optimizer.updates();
  v.Count("a number of updates", updates);
  optimizer.set_updates(updates);
  v.Size("moments of the optimizer", std::ssize(optimizer.moments()));
  for (Matrix& moment : optimizer.moments()) v.Matrix("a moment", moment);
}

}  // namespace emplace

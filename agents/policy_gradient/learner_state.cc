#include "agents/policy_gradient/learner_state.h"

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

void SaveLearner(StateWriter& writer, const ParameterSet& parameters, const Optimizer& optimizer) {
  writer.Int(static_cast<std::int64_t>(parameters.all().size()));
  for (const Parameter& parameter : parameters.all()) {
    writer.Name(parameter.name);
    writer.Matrix(parameter.value);
  }
  writer.Name(optimizer.method());
  writer.Int(optimizer.updates());
  writer.Int(static_cast<std::int64_t>(optimizer.moments().size()));
  for (const Matrix& moment : optimizer.moments()) writer.Matrix(moment);
}

void LoadLearner(StateReader& reader, ParameterSet& parameters, Optimizer& optimizer) {
  const auto require_count = [&](std::size_t expected, const char* what) {
    const std::int64_t count = reader.Int(what);
    if (count == static_cast<std::int64_t>(expected)) return;
    throw InputError(fmt::format("agent state: expected {} {}, got {}", expected, what, count));
  };
  require_count(parameters.all().size(), "parameters");
  for (Parameter& parameter : parameters.all()) {
    reader.Name("parameter", parameter.name);
    reader.Matrix("parameter " + parameter.name, parameter.value);
  }
  reader.Name("the optimizer", optimizer.method());
  const std::int64_t updates = reader.Int("a number of updates");
  if (updates < 0) {
    throw InputError(fmt::format("agent state: expected a number of updates, got {}", updates));
  }
  optimizer.set_updates(updates);
  require_count(optimizer.moments().size(), "moments of the optimizer");
  for (Matrix& moment : optimizer.moments()) reader.Matrix("a moment", moment);
  parameters.ClearGradients();
}

}  // namespace emplace

#include "agents/policy_gradient/learner_state.h"

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

void RequireCount(StateReader& reader, std::size_t expected, const char* what) {
  const std::int64_t count = reader.Int(what);
  if (count == static_cast<std::int64_t>(expected)) return;
  reader.Fail(fmt::format("expected {} {}, got {}", expected, what, count));
}

}  // namespace

void SaveParameters(StateWriter& writer, const ParameterSet& parameters) {
  writer.Int(static_cast<std::int64_t>(parameters.all().size()));
  for (const Parameter& parameter : parameters.all()) {
    writer.Name(parameter.name);
    writer.Matrix(parameter.value);
  }
}

void LoadParameters(StateReader& reader, ParameterSet& parameters) {
  RequireCount(reader, parameters.all().size(), "parameters");
  for (Parameter& parameter : parameters.all()) {
    reader.Name("parameter", parameter.name);
    reader.Matrix("parameter " + parameter.name, parameter.value);
  }
  parameters.ClearGradients();
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

void SaveLearner(StateWriter& writer, const ParameterSet& parameters, const Optimizer& optimizer) {
  SaveParameters(writer, parameters);
  writer.Name(optimizer.method());
  writer.Int(optimizer.updates());
  writer.Int(static_cast<std::int64_t>(optimizer.moments().size()));
  for (const Matrix& moment : optimizer.moments()) writer.Matrix(moment);
}

void LoadLearner(StateReader& reader, ParameterSet& parameters, Optimizer& optimizer) {
  LoadParameters(reader, parameters);
  reader.Name("the optimizer", optimizer.method());
  optimizer.set_updates(reader.Count("a number of updates"));
  RequireCount(reader, optimizer.moments().size(), "moments of the optimizer");
  for (Matrix& moment : optimizer.moments()) reader.Matrix("a moment", moment);
}

}  // namespace emplace

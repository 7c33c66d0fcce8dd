#include "agents/shared/policy_gradient/learner_core.h"

#include <cmath>

#include <fmt/format.h>

#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"

namespace emplace {

UpdateTable MakeUpdateTable(const UpdateFields& fields) {
  UpdateTable table;
  for (const auto& [name, value] : fields) table.columns.push_back(name);
  return table;
}

void AddRow(UpdateTable& table, const UpdateFields& fields) {
  EMPLACE_CHECK(fields.size() == table.columns.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EMPLACE_CHECK(fields[i].first == table.columns[i], fields[i].first);
    table.values.push_back(fields[i].second);
  }
}

void ThrowNotFinite(std::int64_t update, const Tape& tape, const std::string& graph) {
  const std::string what = tape.FirstNonFinite();
  throw RunError(fmt::format("update {}: {}not finite: {}",
                             update,
                             graph.empty() ? "" : fmt::format("graph \"{}\": ", graph),
                             what.empty() ? "the loss" : what));
}

LearnerCore::LearnerCore(const OptimizerConfig& optimizer,
                         const PpoConfig& ppo,
                         ParameterSet& parameters,
                         const UpdateFields& columns)
    : parameters_(parameters),
      optimizer_(optimizer, parameters, "optimizer"),
      ppo_(ppo, "ppo"),
      table_(MakeUpdateTable(columns)) {
}

Optimizer::StepInfo LearnerCore::Descend(Tape& tape,
                                         Var loss,
                                         std::int64_t update,
                                         Controllers* controllers) {
  if (!std::isfinite(tape.value(loss)(0, 0))) ThrowNotFinite(update, tape);
  tape.Backward(loss);
  if (controllers != nullptr) controllers->Begin();
  const Optimizer::StepInfo info = optimizer_.Step();
  if (controllers != nullptr) controllers->End();
  if (!std::isfinite(info.gradient_norm)) ThrowNotFinite(update, tape);
  tape.Clear();
  return info;
}

void LearnerCore::AddCopy(ParameterSet& copy) {
  CopyValues(parameters_, copy);
  copies_.push_back(&copy);
}

Optimizer::StepInfo LearnerCore::DescendTogether(
    int threads,
    std::int64_t update,
    float divisor,
    const std::function<void(int copy)>& differentiate) {
  ParallelFor(static_cast<int>(copies_.size()), threads, [&](int i) {
    copies_[i]->ClearGradients();
    differentiate(i);
  });
  for (std::size_t p = 0; p < parameters_.all().size(); ++p) {
    Matrix& gradient = parameters_.all()[p].gradient;
    gradient.setZero();
    for (const ParameterSet* copy : copies_) gradient += copy->all()[p].gradient;
    gradient /= divisor;
  }
  const Optimizer::StepInfo info = optimizer_.Step();
  if (!std::isfinite(info.gradient_norm)) {
    throw RunError(fmt::format("update {}: not finite: the sum of the gradients", update));
  }
  UpdateCopies();
  return info;
}

void LearnerCore::UpdateCopies() {
  for (ParameterSet* copy : copies_) CopyValues(parameters_, *copy);
}

void LearnerCore::Restart() {
  optimizer_.Reset();
  ppo_.Reset();
  UpdateCopies();
}

void LearnerCore::VisitState(StateVisitor& v) {
  VisitLearner(v, parameters_, optimizer_);
  if (v.reading()) UpdateCopies();
}

}  // namespace emplace

#include "agents/shared/policy_gradient/controllers.h"

namespace emplace {
namespace {

std::vector<Matrix> ValuesOf(const ParameterSet& parameters) {
  std::vector<Matrix> values;
  for (const Parameter& parameter : parameters.all()) values.push_back(parameter.value);
  return values;
}

void SetValues(const std::vector<Matrix>& values, ParameterSet& parameters) {
  for (std::size_t i = 0; i < values.size(); ++i) parameters.all()[i].value = values[i];
}

}  // namespace

Controllers::Controllers(int count, ParameterSet& parameters)
    : parameters_(parameters), count_(count) {
  Reset();
}

void Controllers::Begin() {
  if (count_ > 1) SetValues(shared_, parameters_);
}

void Controllers::End() {
  if (count_ == 1) return;
  shared_ = ValuesOf(parameters_);
  held_[turn_] = shared_;
  turn_ = (turn_ + 1) % count_;
  SetValues(held_[turn_], parameters_);
}

void Controllers::Reset() {
  if (count_ == 1) return;
  shared_ = ValuesOf(parameters_);
  held_.assign(count_, shared_);
  turn_ = 0;
}

void Controllers::TakeShared() {
  Begin();
  Reset();
}

void Controllers::VisitState(StateVisitor& v) {
  if (count_ == 1) return;
  v.Int("a controller's turn", turn_, 0, count_ - 1);
  for (Matrix& value : shared_) v.Matrix("a shared parameter", value);
  for (Values& values : held_) {
    for (Matrix& value : values) v.Matrix("a controller's parameter", value);
  }
}

}  // namespace emplace

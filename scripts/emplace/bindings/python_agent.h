#pragma once

// Agents written in Python: classes with step(evaluator), searched with by the same runner, meter
// and budgets as ours. emplace/agent.py says what such a class consists of.

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "framework/search/agent.h"

namespace emplace::python {

/// From now on agents may be named "python:MODULE.CLASS" or "python:FILE.py:CLASS".
void LoadPythonAgents();

/// An evaluator as a Python agent sees it: only while its step runs.
class EvaluatorView {
 public:
  explicit EvaluatorView(Evaluator& evaluator) : evaluator_(&evaluator) {}
  void End() { evaluator_ = nullptr; }
  /// @throws RunError if the step is over
  Evaluator& get() const;

 private:
  Evaluator* evaluator_;
};

/// The Python object for the problem of an agent's context.
nanobind::object ProblemForAgent(std::shared_ptr<const Problem> problem);

}  // namespace emplace::python

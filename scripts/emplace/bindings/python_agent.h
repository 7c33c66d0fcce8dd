#pragma once

// Agents written in Python: classes with step(evaluator). The same runner, meter and budgets search
// with them as with agents in C++. emplace/agent.py documents such classes.

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "framework/search/agent.h"

namespace emplace::python {

/// Enables agents of the names "python:MODULE.CLASS" and "python:FILE.py:CLASS".
void LoadPythonAgents();

/// An evaluator for a Python agent; it is valid only during the step.
class EvaluatorView {
 public:
  explicit EvaluatorView(Evaluator& evaluator) : evaluator_(&evaluator) {}
  void End() { evaluator_ = nullptr; }
  /// @throws RunError if the step has ended
  Evaluator& get() const;

 private:
  Evaluator* evaluator_;
};

}  // namespace emplace::python

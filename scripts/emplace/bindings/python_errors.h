#pragma once

#include <nanobind/nanobind.h>

namespace emplace::python {

/// The Python classes of BudgetExhausted and Interrupted, which pass through agents in both
/// languages. AddErrors() sets them.
extern nanobind::handle budget_exhausted, interrupted;

}  // namespace emplace::python

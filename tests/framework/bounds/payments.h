#pragma once

#include "framework/base/time.h"
#include "framework/bounds/least_payment.h"
#include "framework/bounds/period_programme.h"
#include "framework/search/compiled_period.h"

namespace emplace::testing {

/// Returns the least payments of the classes of equal costs, for placements with a period of less
/// than `known`.
inline LeastPayments PaymentsOf(const CompiledPeriod& problem, Nanos known) {
  return FindLeastPayments(problem, ClassesOfEqualCosts(problem), known, [] { return false; });
}

}  // namespace emplace::testing

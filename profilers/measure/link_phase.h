#pragma once

// The phase of a profile that times copies: every link alone over its sizes, and every pair of
// links together.

#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills the missing entries of CostTable::links and link_contention. Sizes are 1 B, 2 B, 4 B ...
/// up to ProfileOptions::max_link_bytes or a quarter of the smaller memory. Contention is timed at
/// one size: 16 MiB, or the link's largest size if that is smaller.
void MeasureLinks(ProfilingSession& session);

}  // namespace emplace

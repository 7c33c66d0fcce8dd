#pragma once

// Every link alone over its sizes, and every pair of links together.

#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills CostTable::links and link_contention where they lack something. Contention is timed at one
/// size: 16 MiB, or the largest of the link.
void MeasureLinks(ProfilingSession& session);

}  // namespace emplace

#pragma once

// The phase of a profile that runs whole steps of each graph under drawn placements, for the times
// that ops and copies take among their neighbours.

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/measure/op_phase.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills OpMeasurement::in_situ, the links' kInSituMemory entries and, unless steps are dispatched
/// eagerly, the times between commands (in_situ.h). A graph whose ops all have in-situ times
/// already is not run again.
/// @param failed  ops whose kernels failed alone, as MeasureOps() returns them
void MeasureSteps(ProfilingSession& session,
                  std::span<const std::shared_ptr<const Graph>> graphs,
                  const OpItems& ops,
                  const std::set<SignatureOnDevice>& failed);

}  // namespace emplace

#pragma once

// Whole steps of each graph under drawn placements: what ops take among their neighbours.

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/measure/op_phase.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills OpMeasurement::in_situ, the links' kInSituMemory entries and, unless steps are dispatched
/// eagerly, what passes between commands. A graph all of whose ops the table has seen in situ is
/// not run again.
/// @param failed  ops whose kernels failed alone
void MeasureSteps(ProfilingSession& session,
                  std::span<const std::shared_ptr<const Graph>> graphs,
                  const OpItems& ops,
                  const std::set<SignatureOnDevice>& failed);

}  // namespace emplace

#pragma once

// The phase of a profile that runs whole steps of each graph under drawn placements, to time ops
// and copies among their neighbours.

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/measure/op_phase.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Returns the expected time of the steps of each graph: the sum of its op times alone on one
/// device, mean over the device kinds, times the number of steps that MeasureSteps() runs; 0 for a
/// graph without timed ops. [graphs] [s]
std::vector<double> ExpectedSteps(ProfilingSession& session,
                                  std::span<const std::shared_ptr<const Graph>> graphs);

/// Fills OpMeasurement::in_situ, the links' kInSituMemory entries and, unless steps are dispatched
/// eagerly, the times between commands (in_situ.h). A graph whose ops all have in-situ times is not
/// run again. For the graphs that are run, Calibration::HoldOut() fills CostTable::held_out.
/// @param failed  ops whose kernels failed alone, as MeasureOps() returns them
void MeasureSteps(ProfilingSession& session,
                  std::span<const std::shared_ptr<const Graph>> graphs,
                  const OpItems& ops,
                  const std::set<SignatureOnDevice>& failed);

}  // namespace emplace

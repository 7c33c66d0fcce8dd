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

/// How long the steps of each graph are expected to take: those of all its ops alone on one device,
/// mean over the device kinds, as often as MeasureSteps() runs them; 0 for a graph of which nothing
/// was timed. [graphs] [s]
std::vector<double> ExpectedSteps(ProfilingSession& session,
                                  std::span<const std::shared_ptr<const Graph>> graphs);

/// Fills OpMeasurement::in_situ, the links' kInSituMemory entries and, unless steps are dispatched
/// eagerly, the times between commands (in_situ.h). A graph whose ops all have in-situ times
/// already is not run again. Calibration::HoldOut() fills CostTable::held_out, for the graphs that
/// are run.
/// @param failed  ops whose kernels failed alone, as MeasureOps() returns them
void MeasureSteps(ProfilingSession& session,
                  std::span<const std::shared_ptr<const Graph>> graphs,
                  const OpItems& ops,
                  const std::set<SignatureOnDevice>& failed);

}  // namespace emplace

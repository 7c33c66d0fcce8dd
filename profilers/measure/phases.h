#pragma once

// The phases of a profile, besides that of interference (interference_phase.h). op_phase.cc times
// every op signature of some graphs alone on a device, and the dispatch costs. link_phase.cc times
// copies: every link alone over its sizes, and every pair of links together. step_phase.cc runs
// whole steps of each graph under drawn placements, to time ops and copies among their neighbours.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// An op signature (framework/cost/op_signature.h), and the device that represents its kind.
using SignatureOnDevice = std::pair<std::string, int>;

/// The measurements to make: every signature with work, once per device kind on which it may run.
struct OpItems {
  struct Item {
    int device = 0;  ///< the first of its kind
    std::shared_ptr<const Graph> graph;
    int op = 0;  ///< the first with the signature
    std::string signature;
  };
  std::vector<Item> items;  ///< by device, then in the order of the graphs
  std::vector<std::set<SignatureOnDevice>> of_graph;  ///< [num_graphs]
};
/// @param graphs  only their ops with work count
OpItems FindOps(const ProfilingSession& session,
                std::span<const std::shared_ptr<const Graph>> graphs);

/// Returns the indices of the items that MeasureOps() has to time, ascending.
std::vector<size_t> MissingOps(ProfilingSession& session, const OpItems& ops);

/// Returns the op of an item, to be timed on `device` with warm caches.
LoneOp LoneOpOf(const OpItems::Item& item, int device);

/// Fills missing OpMeasurement::isolated (and `cold`, if the options ask for it).
/// @return the items whose kernels failed; each adds a warning
std::set<SignatureOnDevice> MeasureOps(ProfilingSession& session, const OpItems& ops);

/// Measures DispatchCosts of every kind that has none, and sets issue and launch of that kind.
void MeasureDispatch(ProfilingSession& session);

/// Fills the missing entries of CostTable::links and link_contention. Sizes are 1 B, 2 B, 4 B ...
/// up to ProfileOptions::max_link_bytes or a quarter of the smaller memory. Contention is timed at
/// one size: 16 MiB, or the link's largest size if that is smaller.
void MeasureLinks(ProfilingSession& session);

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

#pragma once

// The phases of a profile that time every op signature of some graphs alone on a device, and the
// dispatch costs.

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

}  // namespace emplace

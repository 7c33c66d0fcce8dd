#pragma once

// Every op signature of some graphs alone on its device, and what dispatch costs.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// An op signature and the representative of a device kind.
using SignatureOnDevice = std::pair<std::string, int>;

/// What is to be measured: signatures with work, once per device kind that may run them.
struct OpItems {
  struct Item {
    int device = 0;  ///< first of its kind
    std::shared_ptr<const Graph> graph;
    int op = 0;  ///< the first of the signature
    std::string signature;
  };
  std::vector<Item> items;  ///< by device, then in the order of the graphs
  std::vector<std::set<SignatureOnDevice>> of_graph;  ///< [num_graphs]
};
OpItems FindOps(const ProfilingSession& session,
                std::span<const std::shared_ptr<const Graph>> graphs);

/// Fills OpMeasurement::isolated (and cold if wanted) where they are missing.
/// @return those whose kernels failed
std::set<SignatureOnDevice> MeasureOps(ProfilingSession& session, const OpItems& ops);

/// DispatchCosts of every kind that has none, and the kinds' issue and launch.
void MeasureDispatch(ProfilingSession& session);

}  // namespace emplace

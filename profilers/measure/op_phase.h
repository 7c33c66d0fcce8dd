#pragma once

// The phases of a profile that time every op signature of some graphs alone on a device, and what
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

/// What is to be measured: every signature with work, once per device kind that may run it.
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
/// @param graphs  of which only ops with work count
OpItems FindOps(const ProfilingSession& session,
                std::span<const std::shared_ptr<const Graph>> graphs);

/// Indices of the items that MeasureOps() has to time, ascending.
std::vector<size_t> MissingOps(ProfilingSession& session, const OpItems& ops);

/// Bytes of the storage at which the views of each tensor start. [tensors] [B]
std::vector<std::int64_t> StorageBytes(const Graph& graph, const std::vector<int>& tensors);

/// Fills OpMeasurement::isolated (and `cold`, if the options ask for it) where they are missing.
/// @return the items whose kernels failed; each is a warning
std::set<SignatureOnDevice> MeasureOps(ProfilingSession& session, const OpItems& ops);

/// Measures DispatchCosts of every kind that has none, and sets that kind's issue and launch.
void MeasureDispatch(ProfilingSession& session);

}  // namespace emplace

#pragma once

// The degrees of a plan search (plan_search.h): which there are, their bounds, and the stages with
// which their search begins.

#include <optional>
#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// The facts that all plans of one graph share.
struct GraphFacts {
  ModelLayers layers;
  std::vector<std::uint64_t> allowed;  ///< [ops] devices
  std::vector<int> alike;              ///< DevicesOfEqualCosts()
  std::vector<int> exchange;           ///< [devices] interchangeable ones have equal numbers
  std::optional<LayerCosts> costs[2];  ///< without and with recomputation
  /// All ops may run on all devices with stages, and each layer has a forward op that is none of a
  /// parameter or constant: devices then have the virtual stages that layers give them
  /// (StagesOf()).
  bool can_interleave = true;
};

/// A division of the devices into replicas.
struct Division {
  Plan plan;                                    ///< replicas and groups
  std::vector<std::vector<int>> groups;         ///< DeviceGroups()
  std::vector<bool> alike;                      ///< [graphs] one replica stands for all
  std::vector<std::vector<int>> stage_devices;  ///< [replicas] those of `groups` with stages
};

struct Degrees {
  FoundPlan best;             ///< so far; its stages are `start` at first
  std::vector<Stages> start;  ///< balanced, and improved by the estimate
  int division = 0;
  double reduce_ns_per_byte = 0;
};

GraphFacts FactsOf(const PlanGraph& graph, const PlanSearchOptions& options);

struct PlanDegrees {
  std::vector<GraphFacts> facts;  ///< [graphs]
  std::vector<Division> divisions;
  std::vector<Degrees> degrees;  ///< those that fit, by graph, division, and stages
  int num_degrees = 0, num_too_large = 0;
  Nanos bound = kMaxNanos;  ///< the least bound of `degrees` [ns]

  const Division& DivisionOf(const Degrees& of) const { return divisions[of.division]; }
};

/// @throws InputError if no degrees divide the batch (with the sizes of the graphs)
PlanDegrees FindDegrees(const std::vector<PlanGraph>& graphs, const PlanSearchOptions& options);

/// Returns the estimate of degrees with these stages of their replicas.
Estimate EstimateOf(const PlanDegrees& all,
                    const Degrees& degrees,
                    const PlanSetting& setting,
                    const std::vector<Stages>& stages);

/// Returns the neighbours of the stages, each with one change in one replica.
std::vector<std::vector<Stages>> NeighborsOf(const PlanDegrees& all,
                                             const Degrees& degrees,
                                             const std::vector<Stages>& stages);

}  // namespace emplace

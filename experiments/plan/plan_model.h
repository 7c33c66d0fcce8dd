#pragma once

// A quick estimate of the step time of a plan, for choosing the plans that are simulated: each
// stage makes its passes in the order of the schedule, each pass takes the sum of the costs of its
// ops, and each boundary is crossed by one message per pass. Overlap of transfers with the pass
// that makes them, and waiting for channels, are left out.

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/plan/plan_simulation.h"
#include "experiments/plan/plan_stages.h"
#include "framework/cost/costs.h"
#include "framework/plan/layers.h"

namespace emplace {

/// The work, memory and messages of the layers of a step in all plans with or without
/// recomputation. Costs of ops that may not run on a device count 0 there.
struct LayerCosts {
  PlannedGraph planned;  ///< the step of one micro-batch, or of two with the sums of gradients
  int num_layers = 0, num_devices = 0;
  std::vector<Nanos> forward, backward;  ///< [layers, devices] of a micro-batch
  std::vector<Nanos> sum, update;        ///< [layers, devices] of a sum of gradients; of a step
  std::vector<std::int64_t> resident;    ///< [layers] in memory for the whole step [B]
  std::vector<std::int64_t> gradient;    ///< [layers] that replicas reduce [B]
  std::vector<std::int64_t> kept;        ///< [layers] from the forward to the backward pass [B]
  std::vector<std::int64_t> held;        ///< [layers] of `kept`, read by the layer itself [B]
  /// [layers] of a micro-batch, from this layer and those before to the ones after it, and back [B]
  std::vector<std::int64_t> forward_cut, backward_cut;

  std::vector<std::int64_t> resident_before, held_before;  ///< [layers + 1] sums of layers before
  Costs times;                                             ///< [planned ops, devices]
  std::vector<int> layer_of_op;                            ///< [planned ops]

  /// Returns how often a plan of this number of micro-batches executes a planned op. Ops of the
  /// first micro-batch count for all, and a sum for all sums of its gradient.
  Nanos Executions(int op, int micro_batches) const;

  /// Returns whether the layers [begin, end) can fit into the memory of a device. They hold their
  /// resident bytes, and `held` bytes of each micro-batch in flight: those whose forward passes the
  /// schedule puts before the first backward pass.
  bool CanFit(const StageChoice& stage, const Cluster& cluster, int in_flight) const;

  std::size_t at(int layer, int device) const { return std::size_t(layer) * num_devices + device; }
};

/// @param recompute  Plan::recompute
/// @param several    the step is copied for several micro-batches, so that sums are known
/// @throws InputError as Recompute(), CopyMicroBatches() and ComputeCosts()
LayerCosts SumLayers(const PlanSetting& setting,
                     const ModelLayers& layers,
                     std::span<const std::string> recompute,
                     bool several);

struct Estimate {
  std::int64_t deficit = 0;  ///< bytes that miss on all devices of a replica [B]
  Nanos time = 0;            ///< [ns]

  auto operator<=>(const Estimate&) const = default;
};

/// Returns the estimate of the step time or the period. The period is the largest load of a device
/// (simulator/period/period.h), and the schedule counts for memory only.
/// @param reduce_ns_per_byte  of the all-reduces of gradients; 0 for one replica
Estimate EstimatePlan(const LayerCosts& costs,
                      const Cluster& cluster,
                      const Stages& stages,
                      int micro_batches,
                      Schedule schedule,
                      double reduce_ns_per_byte,
                      Objective objective);

/// Returns the micro-batches in flight of a stage: those that it has received and not given back,
/// when it begins its first backward pass. GPipe or 1F1B.
int InFlight(int micro_batches, int following_stages, Schedule schedule);

/// Returns, for 1, 2, ... stages, those whose slowest one takes the least time for its work and
/// message of a micro-batch. Each CanFit().
/// @param classes  devices of equal costs and memory, ascending
std::vector<BalancedStages> BalanceLayers(const LayerCosts& costs,
                                          const Cluster& cluster,
                                          const std::vector<std::vector<int>>& classes,
                                          int micro_batches,
                                          Schedule schedule);

}  // namespace emplace

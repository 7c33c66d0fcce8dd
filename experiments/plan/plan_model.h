#pragma once

// A quick estimate of the step time of a plan, for choosing the plans that are simulated: each
// stage makes its passes in the order of the schedule, each pass takes the sum of the costs of its
// ops, and each boundary is crossed by one message per pass. Overlap of transfers with the pass
// that makes them, and waiting for channels, are left out.

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/plan/plan_simulation.h"
#include "framework/plan/layers.h"

namespace emplace {

/// The work, memory and messages of the layers of a step in all plans with or without
/// recomputation. Costs of ops that may not run on a device count 0 there.
struct LayerCosts {
  int num_layers = 0, num_devices = 0;
  std::vector<Nanos> forward, backward;  ///< [layers, devices] of a micro-batch
  std::vector<Nanos> sum, update;        ///< [layers, devices] of a sum of gradients; of a step
  std::vector<std::int64_t> resident;    ///< [layers] in memory for the whole step [B]
  std::vector<std::int64_t> gradient;    ///< [layers] that replicas reduce [B]
  std::vector<std::int64_t> kept;        ///< [layers] from the forward to the backward pass [B]
  /// [layers] of a micro-batch, from this layer and those before to the ones after it, and back [B]
  std::vector<std::int64_t> forward_cut, backward_cut;

  // The cost of each job on each device, for bounds: an op of the step, of recomputation or of a
  // sum. [jobs, devices] kMaxNanos where it may not run
  std::vector<Nanos> job_cost;
  enum class Times : std::uint8_t { kOnce, kMicroBatches, kFurther };
  std::vector<Times> job_times;  ///< [jobs] once, per micro-batch, per micro-batch but the first

  std::size_t at(int layer, int device) const { return std::size_t(layer) * num_devices + device; }
};

/// @param recompute  Plan::recompute
/// @param several    the step is copied for several micro-batches, so that sums are known
/// @throws InputError as Recompute(), CopyMicroBatches() and ComputeCosts()
LayerCosts SumLayers(const PlanSetting& setting,
                     const ModelLayers& layers,
                     std::span<const std::string> recompute,
                     bool several);

/// The stages of a replica, in the order of the layers.
struct Stages {
  std::vector<int> end;     ///< [stages] first layer after the stage
  std::vector<int> device;  ///< [stages]

  auto operator<=>(const Stages&) const = default;
};

struct Estimate {
  std::int64_t deficit = 0;  ///< bytes that miss on all devices of a replica [B]
  Nanos time = 0;            ///< [ns]

  auto operator<=>(const Estimate&) const = default;
};

/// @param reduce_ns_per_byte  of the all-reduces of gradients; 0 for one replica
Estimate EstimatePlan(const LayerCosts& costs,
                      const Cluster& cluster,
                      const Stages& stages,
                      int micro_batches,
                      Schedule schedule,
                      double reduce_ns_per_byte);

/// Returns the contiguous stages whose slowest one takes the least time for its work and message of
/// a micro-batch, by a dynamic program over the layers and the number of used devices of each
/// class. Of a class, devices are used in their order. Resident bytes fit into each device.
/// @param classes  devices of equal costs and memory, ascending
/// @return no stages if there are none that fit
Stages BalancedStages(const LayerCosts& costs,
                      const Cluster& cluster,
                      const std::vector<std::vector<int>>& classes,
                      int num_stages);

}  // namespace emplace

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/plan/planned_graph.h"

namespace emplace {

enum class Schedule : std::uint8_t {
  kGpipe,       ///< all forward passes, then all backward passes (Huang et al., NeurIPS 2019)
  k1F1B,        ///< stage s of S: S - 1 - s forward passes, then one forward and one backward in
                ///< turn (PipeDream-Flush; Narayanan et al., ICML 2021)
  kInterleaved  ///< 1F1B with several virtual stages on each device (Narayanan et al., Efficient
                ///< Large-Scale Language Model Training, SC 2021); see PassesOf()
};

/// Returns "gpipe", "1f1b", "interleaved".
const std::vector<std::string>& ScheduleNames();

const std::string& NameOf(Schedule schedule);

/// Returns the schedule of a name. @throws InputError naming `where`, with the choices
Schedule ParseSchedule(std::string_view name, std::string_view where);

/// A forward or backward pass of one micro-batch through one stage.
struct Pass {
  bool backward;
  int stage;  ///< 0 to num_stages * virtual_stages - 1, in the order in which micro-batches pass
  int micro_batch;
};

/// Returns the passes of each of `num_stages` devices in their order. Device s has the virtual
/// stages s, s + num_stages, ..., `virtual_stages` of them; with one, a device is a stage.
///
/// Interleaved: with S devices, v virtual stages on each and M micro-batches, device s makes
/// min(M v, 2 (S - 1 - s) + (v - 1) S) forward passes, then one forward and one backward in turn.
/// The forward passes are those of micro-batches 0 to S - 1 through its first virtual stage, of the
/// same ones through the second, and so on to the last, then those of the next S micro-batches; the
/// backward passes likewise from the last virtual stage to the first. If all passes of a direction
/// take the same time f or b, and transfers none, the step takes (M v + S - 1) (f + b).
/// With one virtual stage it is 1F1B.
/// @throws SettingError with several virtual stages for key "virtual_stages" (another schedule),
///   "schedule" (one device) or "micro_batches" (not a multiple of num_stages); for
///   "virtual_stages" below 1
std::vector<std::vector<Pass>> PassesOf(int num_stages,
                                        int virtual_stages,
                                        int micro_batches,
                                        Schedule schedule);

/// Times of the passes of a virtual stage. [ns]
struct PassTimes {
  Nanos forward = 0, backward = 0;
  Nanos sum = 0;                ///< added to the backward passes of micro-batches 1, 2, ...
  Nanos send = 0, receive = 0;  ///< from a forward pass to the next stage, and back
};

/// Returns the ends of all passes, forward and backward, if each begins when its device is free and
/// its input is there. [2][virtual stages * micro-batches] [ns]
/// @param passes  PassesOf()
/// @param times   [virtual stages]
std::array<std::vector<Nanos>, 2> PassEnds(std::span<const std::vector<Pass>> passes,
                                           std::span<const PassTimes> times,
                                           int micro_batches);

/// Returns the issue order of the planned graph: each device makes its passes in the order of the
/// schedule. [num_ops]
///
/// The order is that of a pipeline whose passes all take one unit: a pass begins when its device is
/// free, and the pass of the stage before (backward: behind) on the micro-batch is over. Ops are
/// issued by the begin of their pass, then by id, each behind its predecessors. Parameters and
/// constants come as early as their readers need them, an all-reduce among replicas comes behind
/// the last pass that it awaits, and the update comes last.
/// @param stage_of_op  [ops of the step] the stage of each op, 0 to num_stages * virtual_stages
///   - 1, in the order in which micro-batches pass the stages
/// @throws as PassesOf()
std::vector<int> PipelineOrder(const PlannedGraph& planned,
                               std::span<const int> stage_of_op,
                               int num_stages,
                               Schedule schedule,
                               int virtual_stages = 1);

/// Returns the stage of each op, for a placement of the step. [num_ops]
///
/// Devices are numbered as stages in the order of the mean topological position of their forward
/// ops (parameters and constants left out), of equals in order of the devices; a device without
/// forward ops counts as the last stage. `num_stages` is set to their number S.
///
/// Several virtual stages: the forward ops of a device, in topological order, are cut where most
/// forward ops of other devices are in between, of equals at the first places; the n-th part of
/// stage s is the virtual stage n S + s, n = 0, 1, ... Its backward ops are cut likewise, from the
/// last to the first. So contiguous virtual stages are found from their devices.
/// @throws SettingError for key "virtual_stages": below 1, or more than the forward ops of a stage
std::vector<int> StagesOf(const Graph& step,
                          std::span<const int> device_of_op,
                          int& num_stages,
                          int virtual_stages = 1);

/// Adds control inputs with which each device executes its ops in an order also in queue semantics,
/// which has no issue order: from each op to the next one on its device, parameters and constants
/// left out.
/// @param device_of_op  [num_ops] -1: no edges
/// @param order         [num_ops] a topological order
Graph InOrder(const Graph& graph, std::span<const int> device_of_op, std::span<const int> order);

}  // namespace emplace

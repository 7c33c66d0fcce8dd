#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/plan/planned_graph.h"

namespace emplace {

enum class Schedule : std::uint8_t {
  kGpipe,  ///< all forward passes, then all backward passes (Huang et al., NeurIPS 2019)
  k1F1B    ///< stage s of S: S - 1 - s forward passes, then one forward and one backward in turn
           ///< (PipeDream-Flush; Narayanan et al., ICML 2021)
};

/// Returns the issue order of the planned graph: each stage works on its micro-batches in the order
/// of the schedule. [num_ops]
///
/// The order is that of a pipeline whose passes all take one unit: a pass begins when its stage is
/// free, and the pass of the stage before (backward: behind) on the micro-batch is over. Ops are
/// issued by the begin of their pass, then by id, each behind its predecessors. Parameters and
/// constants come as early as their readers need them, an all-reduce among replicas comes behind
/// the last pass that it awaits, and the update comes last.
/// @param stage_of_op  [ops of the step] the stage of each op, 0 to num_stages - 1, in the order in
///   which micro-batches pass the stages
std::vector<int> PipelineOrder(const PlannedGraph& planned,
                               std::span<const int> stage_of_op,
                               int num_stages,
                               Schedule schedule);

/// Returns the number of each device as a stage, for a placement of the step: devices in the order
/// of the mean topological position of their forward ops (parameters and constants left out), of
/// equals in order of the devices. [num_ops] of each op, that of its device; a device without
/// forward ops counts as the last stage.
std::vector<int> StagesOf(const Graph& step, std::span<const int> device_of_op, int& num_stages);

/// Adds control inputs with which each device executes its ops in an order also in queue semantics,
/// which has no issue order: from each op to the next one on its device, parameters and constants
/// left out.
/// @param device_of_op  [num_ops] -1: no edges
/// @param order         [num_ops] a topological order
Graph InOrder(const Graph& graph, std::span<const int> device_of_op, std::span<const int> order);

}  // namespace emplace

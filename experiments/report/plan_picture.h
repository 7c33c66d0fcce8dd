#pragma once

// A picture of the simulated step of a plan (SVG): a row for each device with its passes over
// micro-batches and its memory over time, and rows of the network with the collectives. Devices are
// grouped by replica and ordered by stage. Within a replica, stage s is the s-th device to begin a
// forward pass.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plan/planned_graph.h"
#include "framework/search/problem.h"
#include "simulator/timeline.h"

namespace emplace {

enum class PassKind : std::uint8_t { kForward, kBackward, kUpdate, kReduce };

/// Consecutive ops of a slot of a device that belong to the same pass over a micro-batch. Sums of
/// gradients and recomputed ops belong to the backward pass.
struct DrawnPass {
  int device = 0, slot = 0;
  PassKind kind = PassKind::kForward;
  int replica = -1, micro_batch = -1;  ///< -1: of all
  /// Virtual stage on the device: 0 for the first forward pass over the micro-batch and the last
  /// backward pass over it, and one more each time the forward pass comes back from another device.
  int part = 0;
  Nanos start = 0, finish = 0;    ///< of the first and last op [ns]
  Nanos busy = 0, recompute = 0;  ///< time of its ops, and of recomputed ones among them [ns]
};

/// Returns the passes by device, slot and start. A pass ends before an op of another pass, and
/// before a pause of more than a hundredth of the step per micro-batch, where it goes on as another
/// one of the same part. Ops that take no time are left out.
/// @param origin  [num_ops] of the problem's graph
std::vector<DrawnPass> MergePasses(const Graph& graph,
                                   std::span<const PlannedOp> origin,
                                   const Timeline& timeline);

/// Returns the picture, which fits a page in light and dark colours. Colours are those of passes,
/// darker for later micro-batches, whose numbers are in the boxes, with a letter for the virtual
/// stage if a device has several. Each box has a tooltip.
/// @param title  one line above the picture; may be empty
std::string FormatPlanPicture(const Problem& problem,
                              std::span<const PlannedOp> origin,
                              const Timeline& timeline,
                              std::string_view title);

}  // namespace emplace

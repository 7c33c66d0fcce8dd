#pragma once

// The random graphs, and the placements of them, that the simulator is measured with: 4 devices, a
// private channel for each ordered pair of them, and ops that each read one or two tensors of
// recent ops.

#include <memory>
#include <vector>

#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// The random graph of this size, always the same one.
/// @param latency    of every channel [ns]
/// @param neighbors  all devices are neighbours, and each op slows down those beside it
std::shared_ptr<const Problem> RandomGraphProblem(int num_ops,
                                                  Nanos latency = 15'000,
                                                  bool neighbors = false);

/// 64 placements as a search makes them: half uniform, half blocks with a few ops elsewhere. They
/// vary, because a processor's branch predictor learns a single placement by heart, which gives too
/// good a figure.
std::vector<Placement> VariedPlacements(const Problem& problem);

}  // namespace emplace::testing

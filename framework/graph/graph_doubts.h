#pragma once

// Plausible mistakes in a graph that follows all rules of its format. Each makes a simulated step
// time wrong without an error. So commands warn of them, or refuse them with --strict.
//
// | doubt                                    | consequence                                       |
// |------------------------------------------|---------------------------------------------------|
// | no FLOPs of a product or convolution     | its cost is only the time of its bytes            |
// | FLOPs unlike those of the shapes         | its cost is wrong by that factor                  |
// | bytes unlike shape x dtype               | transfers and memory are wrong by that factor     |
// | a forward_op that names no op            | the gradient is not placed with its op            |
// | a co-location label of one op            | nothing is placed together                        |
// | a gradient that no op reads              | the update is missing, or reads another tensor    |
// | a device kind without a device           | the op may run on fewer devices than intended     |
// | a pattern in devices without a device    | the graph cannot be simulated on the cluster      |
// | no producer, and a role other than input | the tensor is on every device at no cost          |
// | an input with a producer, an alias of a tensor that its op does not read, a parameter from an |
// | op in the step, a parameter or constant op with inputs or FLOPs: memory is counted wrongly    |
//
// Sizes and FLOPs are doubted from a factor of 1.9, because common mistakes cause a factor of two:
// multiply-adds counted once, f32 sizes of f16 elements. Sizes may be 512 B larger, the rounding of
// allocators. Ops with `cost_ns` need no FLOPs. A gradient that another op awaits through
// control_inputs is not doubted: TensorFlow keeps gradients in this way. The graphs in this
// repository cause no doubts.
//
// The Python importers have the same list (scripts/emplace/src/emplace/importers/graph_doubts.py);
// tests compare both with the messages of tests/golden/graph_doubts.json.

#include <span>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// Returns one line for each kind of doubt, except those below: the first place with its value and
/// the expected value, and the number of further places. Returns no lines for a graph whose source
/// contains `contracted`: its ops stand for groups and have summed values.
std::vector<std::string> FindDoubts(const Graph& graph);

/// Returns at most one line for the doubts about device kinds.
/// @param known  classes and names of device kinds
std::vector<std::string> FindUnknownDeviceKinds(const Graph& graph,
                                                std::span<const std::string> known);

/// Returns at most one line for the names and patterns in `devices` of ops that match no device.
/// @param devices  names of all devices of a cluster
std::vector<std::string> FindUnmatchedDevices(const Graph& graph,
                                              const std::vector<std::string>& devices);

}  // namespace emplace

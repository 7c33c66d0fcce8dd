#pragma once

// Reads the published instances of max-load minimisation, as JSON:
//
//   J. M. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino, Efficient
//   Algorithms for Device Placement of DNN Graph Operators, NeurIPS 2020;
//   github.com/msr-fiddle/dnn-partitioning
//
// Their max-load is our objective `period` (simulator/README.md, "The second objective: pipelined
// steps") of the problem made from these keys:
//
//   maxCPUs, maxFPGAs  devices "cpu:0", ... of kind "cpu", which does not pay for transfers, and
//                      "gpu:0", ... of kind "accelerator", of `maxSizePerFPGA` bytes each
//   node               an op; `cpuLatency` and `fpgaLatency` are its costs by kind. Without
//                      `supportedOnFpga` it may run on CPUs only. `colorClass` is a label: nodes of
//                      equal label can be grouped (ColocateByLabel, framework/graph/coarsen.h).
//                      `isBackwardNode` is its phase.
//   `size` of a node   bytes of a tensor without readers, which takes memory on the node's device
//   edges of a node    one tensor, read by their `destId`s, which is an alias of the tensor above
//                      and takes no memory. Its bytes are the edges' `cost` in nanoseconds. Every
//                      pair of devices has one channel of 1 B/ns without latency, so a transfer
//                      takes exactly the cost, between any two devices. Edges of one node have one
//                      cost; if they differ by 1e-6 or less, the largest counts.
//
// As in the paper, an accelerator pays once for each node whose output it sends or receives, and a
// CPU never pays. The published times have no unit; here a unit is a second, so the least of them,
// 1e-8 units, have an error of a few percent. Sizes are rounded up, times to the nearest
// nanosecond. A node without `size` has size 0; one without `name` has the name "node ID". Other
// keys do not affect the problem and are ignored.

#include <string>
#include <string_view>

#include "framework/instances/instance.h"

namespace emplace {

/// @param name   of graph and cluster
/// @param where  prefix of error messages
/// @throws InputError naming `where`, node or edge, key and value: text that is not JSON, a missing
///   or wrong value, an id that two nodes have or none, edges of one node with different costs, a
///   cycle, no device or more than kMaxDevices, a negative number
Instance ReadMaxLoad(std::string_view text, const std::string& name, const std::string& where);

}  // namespace emplace

#pragma once

// Reads the published instances of max-load minimisation, as JSON:
//
//   J. M. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino, Efficient
//   Algorithms for Device Placement of DNN Graph Operators, NeurIPS 2020;
//   github.com/msr-fiddle/dnn-partitioning
//
// Their max-load is our objective `period` (simulator/README.md, "The second objective: pipelined
// steps") of what is made of them:
//
//   maxCPUs, maxFPGAs  devices "cpu:0", ... of kind "cpu" that does not pay for transfers, and
//                      "gpu:0", ... of kind "accelerator", of `maxSizePerFPGA` bytes each
//   node               an op; `cpuLatency` and `fpgaLatency` are its costs by kind. Without
//                      `supportedOnFpga` it may run on CPUs only; equal `colorClass` is a label to
//                      be grouped by (ColocateByLabel, framework/graph/coarsen.h);
//                      `isBackwardNode` is its phase
//   `size` of a node   a tensor of so many bytes that nobody reads: memory on its device
//   edges of a node    one tensor that their `destId`s read, an alias of that one so that it takes
//                      no memory. Its bytes are the edges' `cost` in nanoseconds, and every pair of
//                      devices is joined by one channel of 1 B/ns without latency: the transfer
//                      takes the cost exactly, between any two devices. Edges of one node have one
//                      cost; where they differ by 1e-6 or less, it is the largest
//
// An accelerator pays once for each node whose output it sends or receives, a CPU never, as there.
// Times there have no unit; `ns_per_unit` says how many ns one is. Sizes are rounded up, times to
// the nearest nanosecond. A node without `size` has 0, without `name` the name "node ID". Other
// keys say nothing about the problem and are left out.

#include <memory>
#include <string>
#include <string_view>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"

namespace emplace {

struct MaxLoadInstance {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
};

/// A unit is a second: the least published times, 1e-8 units, are kept to a few percent.
inline constexpr double kMaxLoadNanosPerUnit = 1e9;

/// @param name   of graph and cluster
/// @param where  stands for the file in messages
/// @throws InputError naming `where`, node or edge, key and value: no JSON, a missing or wrong
///   value, an id that two nodes or no node has, edges of one node with different costs, a cycle,
///   no device or more than kMaxDevices, a negative number
MaxLoadInstance ReadMaxLoad(std::string_view text,
                            const std::string& name,
                            const std::string& where,
                            double ns_per_unit = kMaxLoadNanosPerUnit);

}  // namespace emplace

#pragma once

// A graph as the devices of a placement hold it: what was received from another device is a tensor
// of its own. What a view is a view of, and which storage an op finds, are then questions to the
// graph: StorageOf() (framework/schedule/memory_plan.h) and WorkOf() (kernels/op_work.h).

#include <map>
#include <span>
#include <utility>

#include "framework/search/problem.h"
#include "profilers/executor/issued_commands.h"
#include "profilers/kernels/op_work.h"

namespace emplace {

struct PlacedGraph {
  /// Ops read the copies that are on their device, and views made there are aliases of the copies.
  /// Op ids and tensor ids stay; received copies stand behind them, without producer.
  Graph graph;
  std::map<std::pair<int, int>, int> received;  ///< (tensor, device) -> tensor in `graph`
  OwnLayouts layouts;  ///< of received copies that are not row-major (copy_layout.h)
};

/// How a tensor that is sent to another device lies at its source; as plain bytes where its shape
/// does not explain its size.
TensorView SentLayout(const PlacedGraph& placed, int tensor);

/// @param device_of_op  [num_ops]    @param copies  in the order of issue
/// @throws InputError naming op and devices for an alias of storage on another device that its op
///   does not read
PlacedGraph PlaceGraph(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       std::span<const CarriedCopy> copies);

}  // namespace emplace

#pragma once

// The graph of a placement, in which every tensor received from another device is a separate
// tensor. Functions of graphs then give the base of a view and the storage of an op: StorageOf()
// (framework/schedule/memory_plan.h) and WorkOf() (kernels/op_work.h).

#include <map>
#include <span>
#include <utility>

#include "framework/search/problem.h"
#include "profilers/executor/issued_commands.h"
#include "profilers/kernels/op_work.h"

namespace emplace {

struct PlacedGraph {
  /// Ops read the copies on their device, and views made there are aliases of the copies. Op ids
  /// and tensor ids stay the same. Received copies come after them and have no producer.
  Graph graph;
  std::map<std::pair<int, int>, int> received;  ///< (tensor, device) -> tensor in `graph`
  OwnLayouts layouts;                           ///< of received copies that are not row-major
};

/// The order in which the elements of a tensor are copied to another device, and their layout
/// there. Elements are copied in the order of their addresses, without holes. A transposed matrix
/// is copied byte by byte and arrives transposed, as with PyTorch's Tensor.to(). So only copies of
/// slices need strided reads, and ops run on the same layouts on every device.
struct CopyLayout {
  TensorView source;    ///< the sent elements, dimensions by descending stride
  TensorView received;  ///< the tensor at the destination, with its own dimensions, without holes
};

/// @param view  of the tensor at its source. A view that repeats elements (a stride of 0) is sent
///   and arrives row-major.
CopyLayout LayoutOfCopy(const TensorView& view);

/// Returns the layout of a tensor at its source when it is sent to another device, or a layout of
/// plain bytes if its shape does not match its size.
TensorView SentLayout(const PlacedGraph& placed, int tensor);

/// @param device_of_op  [num_ops]
/// @param copies        in issue order
/// @throws InputError naming op and devices for an alias of storage on another device that its op
///   does not read
PlacedGraph PlaceGraph(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       std::span<const CarriedCopy> copies);

}  // namespace emplace

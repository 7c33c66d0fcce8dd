#pragma once

// The order in which the elements of a tensor are copied to another device, and their layout there.

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Elements are copied in the order of their addresses, without holes. A transposed matrix is
/// copied byte by byte and arrives transposed, as with PyTorch's Tensor.to(). So only copies of
/// slices need strided reads, and ops run on the same layouts on every device.
struct CopyLayout {
  TensorView source;    ///< the sent elements, dimensions by descending stride
  TensorView received;  ///< the tensor at the destination, with its own dimensions, without holes
};

/// @param view  of the tensor at its source. A view that repeats elements (a stride of 0) is sent
///   and arrives row-major.
CopyLayout LayoutOfCopy(const TensorView& view);

}  // namespace emplace

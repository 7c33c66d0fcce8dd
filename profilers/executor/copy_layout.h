#pragma once

// In which order the elements of a tensor travel to another device, and how they lie there.

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Elements travel in the order in which they lie in memory, and holes do not: a transposed matrix
/// is copied byte by byte and arrives transposed, as PyTorch's Tensor.to() does it. So copies need
/// no strided reads but for slices, and ops run on the same layouts wherever their inputs come
/// from.
struct CopyLayout {
  TensorView source;    ///< the sent elements, dimensions by descending stride
  TensorView received;  ///< the tensor at the destination, its own dimensions, without holes
};

/// @param view  of the tensor at its source. One that repeats elements (a stride of 0) travels and
///   arrives row-major.
CopyLayout LayoutOfCopy(const TensorView& view);

}  // namespace emplace

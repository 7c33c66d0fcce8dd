#pragma once

// From an op of a graph to the kernel calls that do its work, in PyTorch's ("aten.*",
// "optimizer.*") and TensorFlow's names. Framework semantics end here: layouts (NHWC, transposed
// operands, views), paddings (SAME), broadcasting and defaults are resolved into views and
// parameters.

#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// What an op does: calls in order, each one launch. Empty for storage, views and ops that only
/// touch shapes (OpClass::kView).
struct OpWork {
  std::vector<KernelCall> calls;

  bool is_proxy() const;
};

/// How a tensor's elements lie in the bytes it owns or shares: row-major unless a view (transpose,
/// slice, expand, ...) of its storage says otherwise. The view starts at the storage root's first
/// byte and stays inside of the root's bytes. A tensor whose dtype no kernel knows is seen as bytes
/// (kBool). A reshape that strides cannot express (the framework would have copied) is taken as
/// row-major from the storage's start, and as one element everywhere if that is too short.
TensorView LayoutOf(const Graph& graph, int tensor);

/// The calls of an op. An op kind without kernel, or one whose attributes or dtypes are beyond the
/// kernels, becomes one kProxy call with the op's FLOPs. Every view of every call lies inside of
/// its tensor's storage, and every call passes WhyMalformed (check_call.h). Updates use the
/// learning rate of KernelParams and not the op's: it changes no work, and weights stay where they
/// are however many steps a measurement takes. Values that are data and not known (a slice's begin
/// computed by another op) are taken as 0.
/// @param dense_input  [inputs of the op] true: this input is a packed copy received from another
/// device, row-major whatever LayoutOf says; empty: none
OpWork WorkOf(const Graph& graph, int op, const std::vector<bool>& dense_input = {});

/// Why an op is a proxy ("no kernel for kind \"Unique\""), or empty if it has kernels.
std::string WhyProxy(const Graph& graph, int op);

}  // namespace emplace

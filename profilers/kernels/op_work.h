#pragma once

// From an op of a graph to the kernel calls that do its work. Knows PyTorch's ops ("aten.*",
// "optimizer.*") and TensorFlow's. What is special to a framework ends here: layouts (NHWC,
// transposed operands, views), paddings (SAME), broadcasting and default values are resolved into
// views and parameters. README.md here says how to add an op.

#include <map>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// What an op does: its calls in order, each of them one launch. Storage, views and ops that only
/// touch shapes (OpClass::kView) have none.
struct OpWork {
  std::vector<KernelCall> calls;

  /// Whether a proxy stands in for the op.
  bool is_proxy() const;
};

/// Layouts of tensors that own their bytes, by id; those that are not here are row-major.
using OwnLayouts = std::map<int, TensorView>;

/// How a tensor's elements lie in the bytes it owns or shares: row-major, unless a view of that
/// storage (transpose, slice, expand, ...) says otherwise. The view counts from the first byte of
/// the tensor that owns the storage (Graph::alias_root) and stays inside its bytes. A tensor whose
/// dtype no kernel knows is seen as single bytes (kBool). A reshape that strides cannot express,
/// for which the framework would have copied, is taken as row-major from the storage's start; if
/// the storage is too short for that, all strides are 0.
TensorView LayoutOf(const Graph& graph, int tensor, const OwnLayouts& own = {});

/// The calls of an op. An op kind without rule, or an op whose attributes, shapes or dtypes no
/// kernel can do, becomes one kProxy call with the op's FLOPs. Every view of every call lies inside
/// its tensor's storage, and every call passes WhyMalformed() (check_call.h).
///
/// Two things differ from the framework, neither of which changes the amount of work. Optimisers
/// take the tiny learning rate of KernelParams, so that weights hardly move however many steps a
/// measurement takes. Values that only a running step knows (a slice's begin computed by another
/// op) are taken as 0.
OpWork WorkOf(const Graph& graph, int op, const OwnLayouts& own = {});

/// Why an op is a proxy ("no kernel for kind \"Unique\""), or empty if it has kernels or no work.
/// Nothing in the programs reads it: it is what a failing test of an op table prints.
std::string WhyProxy(const Graph& graph, int op);

}  // namespace emplace

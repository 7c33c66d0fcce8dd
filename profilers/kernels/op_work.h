#pragma once

// Maps an op of a graph to the kernel calls that do its work. Supports PyTorch's ops ("aten.*",
// "optimizer.*") and TensorFlow's. Everything specific to a framework ends here: layouts (NHWC,
// transposed operands, views), paddings (SAME), broadcasting and default values are resolved into
// views and parameters. README.md here explains how to add an op.

#include <map>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// The work of an op: its calls in order, one launch each. Storage, views and ops that only touch
/// shapes (OpClass::kView) have none.
struct OpWork {
  std::vector<KernelCall> calls;

  /// Returns whether a proxy stands in for the op.
  bool is_proxy() const;
};

/// Layouts of tensors that own their bytes, by id; tensors not listed here are row-major.
using OwnLayouts = std::map<int, TensorView>;

/// Returns the layout of a tensor's elements in the bytes that it owns or shares: row-major, unless
/// a view of that storage (transpose, slice, expand, ...) defines another one. The view counts from
/// the first byte of the tensor that owns the storage (Graph::alias_root) and stays inside its
/// bytes. A tensor whose dtype no kernel supports is viewed as single bytes (kBool). A reshape that
/// strides cannot express, for which the framework would have copied, is treated as row-major from
/// the storage's start; if the storage is too short for that, all strides are 0.
TensorView LayoutOf(const Graph& graph, int tensor, const OwnLayouts& own = {});

/// Returns the calls of an op. An op becomes one kProxy call with the op's FLOPs if its kind has no
/// rule or if no kernel supports its attributes, shapes or dtypes. Every view of every call lies
/// inside its tensor's storage, and every call passes WhyMalformed() (kernel_table.h).
///
/// Two things differ from the framework; neither changes the amount of work. Optimisers use the
/// tiny learning rate of KernelParams, so that the weights hardly change over any number of
/// measured steps. Values that are known only in a running step (a slice's begin computed by
/// another op) are taken as 0.
OpWork WorkOf(const Graph& graph, int op, const OwnLayouts& own = {});

/// Returns why an op is a proxy ("no kernel for kind \"Unique\""), or empty if it has kernels or no
/// work. Programs do not use it; failing tests of an op table print it.
std::string WhyProxy(const Graph& graph, int op);

}  // namespace emplace

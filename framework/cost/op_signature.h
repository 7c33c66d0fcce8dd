#pragma once

#include <string>

#include "framework/graph/graph.h"

namespace emplace {

/// Returns the properties that determine the cost of an op on a device as one line of text
/// (FORMAT.md has the definition): kind, dtypes and shapes of inputs and outputs, inputs that are
/// the same tensor or views out of row-major order, and attributes that change the work. Ops of
/// equal signatures cost the same.
///
///   aten.mm(f32[128,768], f32[768,3072]:aten.t) -> f32[128,3072] {}
///   aten.add(f32[8,512]:aten.split{dim=1}[8,1536], f32[8,512]) -> f32[8,512] {alpha=1}
///   AddN(f32[512] x3, f32[], #0) -> f32[512] {}
///
/// "#0" is the tensor of argument 0 again. A view names the ops that made it, the last one first,
/// each with its dimensions and, unless it only swaps them, the shape of its input; reshapes keep
/// the order and are not named. The signature leaves out names of modules and of forward ops,
/// constants that only change values (learning rates, epsilons, seeds), and attributes that repeat
/// the shapes. Attributes are sorted by key. A tensor without known shape is identified by its
/// bytes ("f32[4096B]", "?[4096B]" without dtype). The signature of an op with such a tensor, or
/// without tensors, includes FLOPs and bytes accessed.
std::string OpSignature(const Graph& graph, int op);

}  // namespace emplace

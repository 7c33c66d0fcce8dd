#pragma once

#include <string>

#include "framework/graph/graph.h"

namespace emplace {

/// All that decides what an op costs on a device, as one line of text (FORMAT.md defines it in
/// full): kind, dtypes and shapes of inputs and outputs, which inputs are the same tensor or views
/// out of row-major order, and the attributes that change the work. Ops of equal signatures cost
/// the same.
///
///   aten.mm(f32[128,768], f32[768,3072]:aten.t) -> f32[128,3072] {}
///   aten.add(f32[8,512]:aten.split{dim=1}[8,1536], f32[8,512]) -> f32[8,512] {alpha=1}
///   AddN(f32[512] x3, f32[], #0) -> f32[512] {}
///
/// "#0" is the tensor of argument 0 again. A view names the ops that made it, the last one first,
/// each with its dimensions and, unless it only swaps them, the shape it looks into; reshapes keep
/// the order and stay unnamed. Left out are names of modules and of forward ops, constants that
/// change the values only (learning rates, epsilons, seeds), and what the shapes tell already;
/// attributes are sorted by key. A tensor without known shape is told apart by its
/// bytes ("f32[4096B]", "?[4096B]" without dtype); an op that has one, or no tensors at all, also
/// by FLOPs and bytes accessed.
std::string OpSignature(const Graph& graph, int op);

}  // namespace emplace

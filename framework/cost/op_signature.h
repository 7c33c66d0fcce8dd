#pragma once

#include <string>

#include "framework/graph/graph.h"

namespace emplace {

/// What makes two ops cost the same on one device: kind, dtypes and shapes of inputs and outputs,
/// which inputs are views (and of what kind), and the attributes that change the work, as one line
/// of text:
///
///   aten.mm(f32[128,768], f32[768,3072]:aten.t) -> f32[128,3072] {}
///
/// Names of modules and of forward ops are no part of it; attributes are sorted by key. Ops without
/// known shapes are told apart by their bytes ("?[4096B]").
std::string OpSignature(const Graph& graph, int op);

}  // namespace emplace

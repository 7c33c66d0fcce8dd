#pragma once

#include <span>
#include <string>

#include "framework/plan/planned_graph.h"

namespace emplace {

/// Adds ops that compute activations of some layers once more, shortly before the backward pass
/// reads them, so that memory need not hold them from the forward pass on (activation
/// checkpointing; Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016).
///
/// A layer is the set of forward ops whose names match one pattern of `layers`; an op belongs to
/// the first pattern that it matches. Parameters and constants belong to no layer. An activation of
/// a layer is *inner* if an op of another phase reads it and no forward op outside of the layer
/// does. What forward ops outside of the layer read is kept.
///
/// - Every op of the layer that an inner activation depends on, through inner activations and other
///   tensors that only the layer reads, gets a copy "recompute/NAME" of phase backward, with the
///   same label, costs and restrictions.
/// - A copy reads copies of inner activations and of tensors that the layer alone reads, else the
///   tensors that the op reads. Ops of other phases read the copies of inner activations. Outputs
///   of both that are aliases of such tensors are aliases of the copies.
/// - A copy has the control inputs of the op. Those on ops of its layer with copies are on the
///   copies.
/// - A copy without a predecessor among the copies has further control inputs: the backward
///   predecessors of the first op, in topological order, that reads an inner activation of the
///   layer. So recomputation begins when the gradients of the layer's outputs are there.
/// - An op is not copied, and its outputs are kept, if one of its outputs is an alias of a tensor
///   from outside of the layer or has a role other than activation or gradient (running statistics
///   of a batch norm).
///
/// Copies stand directly before the first op that reads an inner activation of their layer, several
/// in topological order of their ops. The order of all other ops stays.
/// @throws InputError naming a pattern that matches no forward op
PlannedGraph Recompute(const Graph& step, std::span<const std::string> layers);

}  // namespace emplace

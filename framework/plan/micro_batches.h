#pragma once

#include "framework/plan/planned_graph.h"

namespace emplace {

/// Copies the forward and backward pass for each of `count` micro-batches. The step's graph is that
/// of one micro-batch.
///
/// - Ops of phase forward and backward, except parameters and constants, are copied: "m0/NAME",
///   "m1/NAME", ... So are their outputs and the graph inputs of role input that only they read.
///   An alias of a copied tensor is an alias of the copy. The attribute forward_op names the copy.
/// - Parameters, constants and ops of phase update occur once. A tensor that a copied op makes and
///   one of these ops reads is a gradient. Of a gradient, micro-batch m > 0 adds its copy to the
///   sum so far by an op "mM/accumulate/NAME" of kind aten.add and phase backward, NAME that of the
///   gradient's producer, with /1, /2, ... for its further gradients. The sum is an alias of the
///   gradient of micro-batch 0. The ops that occur once read the last sum.
/// - The copies of an op share a label, so that they have one device: the op's own label, else its
///   name. Sums have the label of their gradient's producer.
///
/// Order of ids: parameters, constants and what else occurs once before the first copied op; for
/// each micro-batch the forward pass; for each micro-batch the backward pass, each sum behind the
/// producer of the gradient; what occurs once. All in topological order. This is the order of GPipe
/// (Huang et al., NeurIPS 2019).
///
/// Sums are not divided by `count`: a mean of the loss over the whole batch is left to its author.
/// @throws InputError if count < 1, or if a copied op depends on an op of phase update
PlannedGraph CopyMicroBatches(const PlannedGraph& step, int count);

}  // namespace emplace

#pragma once

#include "framework/plan/planned_graph.h"

namespace emplace {

/// Copies the forward and backward pass for each of `count` micro-batches. The step's graph is that
/// of one micro-batch.
///
/// - Ops of phase forward and backward, except parameters and constants (those that await no other
///   op), are copied: "m0/NAME", "m1/NAME", ... So are their outputs and the graph inputs of role
///   input that only they read. An alias of a copied tensor is an alias of the copy. The attribute
///   forward_op names the copy.
/// - Parameters, constants and ops of phase update occur once. A tensor that a copied op makes and
///   one of these ops reads is a gradient. Of a gradient, micro-batch m > 0 adds its copy to the
///   sum so far by an op "mM/accumulate/NAME" of kind aten.add and phase backward, NAME that of the
///   gradient's producer, with /1, /2, ... for its further gradients. The sum is an alias of the
///   one that it adds to, has a FLOP for each element of its shape, and may run where the
///   producer may. The ops that occur once read the last sum, and an alias of the gradient among
///   their outputs is an alias of the last sum. They await all copies of their control inputs.
/// - The copies of an op share a label, so that they have one device: the op's own label, else its
///   name. Sums have the label of their gradient's producer.
///
/// Order of ids: ops that occur once before the first copied op; other parameters and constants;
/// for each micro-batch the forward pass; for each micro-batch the backward pass, each sum behind
/// the producer of the gradient; other ops that occur once. All in topological order. This is the
/// order of GPipe (Huang et al., NeurIPS 2019).
///
/// Sums are not divided by `count`: a mean of the loss over the whole batch is left to its author.
/// With a count of 1 nothing is copied or renamed.
/// @throws InputError if count < 1. With a larger count, if a copied op depends on an op of phase
///   update, or one of phase forward on one of phase backward
PlannedGraph CopyMicroBatches(const PlannedGraph& step, int count);

}  // namespace emplace

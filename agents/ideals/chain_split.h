#pragma once

// The best placements whose devices follow one another: dynamic programmes over the ways to cut a
// precedence order of the groups into one convex piece per device, for the period.
//
// Order. A group stands where its first forward op stands in topological order; one without forward
// ops beside the group with which it exchanges the most bytes and that has a place. Groups that
// exchange an item are ordered by their places. On a graph of forward ops these are its
// dependencies; of a training graph whose backward ops share groups with forward ones they are the
// dependencies of the forward pass, and the backward pass comes along.
//
// An ideal is a set of groups with everything before them. With J an ideal, I a smaller one and u
// the devices used so far,
//
//   best(J, u + d) = min over I of max(best(I, u), load_d(J \ I)),     load_d within memory
//
// where load_d counts ops, and once each item that J \ I sends or receives, at its mean transfer
// time between d and the other devices: exact where all routes are alike. Devices of one kind and
// memory are interchangeable. Where no split of the linear order fits into memory, memory is left
// out. Devices that most of the work may not use take no part, and groups that may not run on all
// that do are placed one by one afterwards.
//
// Reference: J. M. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino, Efficient
// Algorithms for Device Placement of DNN Graph Operators, NeurIPS 2020.

#include "framework/base/interrupt.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

struct SplitOfGroups {
  Placement placement;
  int num_ideals = 0;  ///< all that there are; 0: only those of the linear order were tried
};

/// The best split over all ideals if there are at most `max_ideals`. Else, and with 0, over those
/// of one linear order, the groups by their places: time about (groups)^2, but for more than 1,000
/// groups only 1,000 places of equal cost are cut at.
/// @throws Interrupted
SplitOfGroups Split(const CompiledPeriod& problem, int max_ideals, const Interrupt& interrupt = {});

}  // namespace emplace

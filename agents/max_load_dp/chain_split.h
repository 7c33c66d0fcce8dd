#pragma once

// Optimal placements in which the devices follow one another, for the period objective: dynamic
// programs over the ways to cut a precedence order of the groups into one convex piece per device.
//
// Order. The position of a group is that of its first forward op in topological order. A group
// without forward ops gets the position of the positioned group with which it exchanges the most
// bytes. Groups that exchange an item are ordered by their positions. On a graph of forward ops the
// order consists of the dependencies. On a training graph whose backward ops share groups with
// forward ones it consists of the dependencies of the forward pass, and the backward pass follows.
//
// An ideal is a set of groups that includes all groups before its members. With J an ideal, I a
// smaller one and u the devices used so far,
//
//   best(J, u + d) = min over I of max(best(I, u), load_d(J \ I)),     load_d within memory
//
// where load_d counts the ops and, once for each item that J \ I sends or receives, the item's mean
// transfer time between d and the other devices. This is exact if all routes are alike. Devices of
// the same kind and memory are interchangeable. If no split of the linear order fits into memory,
// memory is ignored. Devices on which most of the work is not allowed take no part; groups that are
// not allowed on all participating devices are placed one by one afterwards.
//
// Reference: J. M. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino, Efficient
// Algorithms for Device Placement of DNN Graph Operators, NeurIPS 2020.

#include "framework/base/interrupt.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

struct SplitOfGroups {
  Placement placement;
  int num_ideals = 0;  ///< number of all ideals; 0: only those of the linear order were tried
};

/// Returns the best split over all ideals if there are at most `max_ideals`. Otherwise, and if
/// `max_ideals` is 0, returns the best split of one linear order, the groups by position. That
/// takes time of about (groups)^2; for more than 1,000 groups, only 1,000 cuts at equal distances
/// in cost are considered.
/// @throws Interrupted
SplitOfGroups Split(const CompiledPeriod& problem, int max_ideals, const Interrupt& interrupt = {});

}  // namespace emplace

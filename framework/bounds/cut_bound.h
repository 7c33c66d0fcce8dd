#pragma once

// Lower bounds on the step time by what transfers take: a linear programme over shares of groups on
// devices, in which items are cut.
//
// Devices on which every op costs the same are one *class*; y_gk is the share of group g on class
// k. Items of one maker and the same readers are one. An item *crosses* between two classes, or
// within one, if its maker and some reader are there on different devices; x_it is 1 then. In a
// step of time T
//
//   classes    work for at most T in each slot, and hold what stays in memory for the whole step:
//              sum_g c_gk y_gk <= slots_k T,  sum_g bytes_g y_gk <= bytes of k,  sum_k y_gk = 1
//   crossings  an item of which only one end is on class k leaves or enters k:
//              sum of x_it over the ways t between k and others >= |y_maker,k - y_reader,k|
//   channels   carry one transfer at a time. For each set C of channels, of those on the routes of
//              one way and of all: sum_it w_itC x_it <= |C| T,  where w_itC is the least time that
//              the item's transfer keeps channels of C busy on any route of that way; broadcast
//              channels not counted, on which the item may go several ways at once
//   spreading  what is on the device of group v fits there. With dist(v, u) the length of a path of
//              items from v to u, an item counting sum_t x_it, groups on different devices are at
//              least 1 apart. So for all sets U_k of groups
//              sum_k sum_(u in U_k) c_uk (y_vk - dist(v, u)) <= slots of one device * T
//              and likewise for the bytes that stay, against the memory of one device of k
//
// All hold for the 0s and 1s of any placement that fits, in every semantics and with every issue
// order: devices and channels are each busy for no longer than the step. So memory that forces
// groups apart, or a T that does, cuts items between them, and these take time. (Spreading metrics:
// G. Even, J. Naor, S. Rao, B. Schieber, Journal of the ACM 47, 2000.)
//
// Crossings and spreading are added where a solution violates them; each linear programme proves a
// bound by its prices (mip.h).

#include <functional>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/search/problem.h"

namespace emplace {

/// Does more stay in memory for the whole step than the largest device holds?
bool NeedsSeveralDevices(const Problem& problem);

/// Bounds on the step time of the placements that fit and are within the masks, better and better,
/// until nothing is to be gained or an end is wanted.
/// @param masks  [num_groups] devices that each group may have, none is 0
/// @param unit   > 0, about the size of the bound: the programme's unit of time [ns]
/// @param stop   asked often; may throw
/// @param told   gets each bound [ns]; true ends it
void ProveCuts(const Problem& problem,
               const DeviceMasks& masks,
               Nanos unit,
               const std::function<bool()>& stop,
               const std::function<bool(Nanos)>& told);

}  // namespace emplace

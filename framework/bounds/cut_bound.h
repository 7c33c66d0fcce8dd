#pragma once

// Lower bounds on the step time from the time of transfers, by a linear program over the shares of
// groups on devices and the items that cross between devices.
//
// Devices on which every op costs the same form a *class*; y_gk is the share of group g on class k.
// Items with equal maker and equal readers are merged. An item *crosses* between two classes, or
// within one, if its maker and some reader are there on different devices. Then x_it is 1, where t
// is the *way*: the pair of classes, or the class. In a step of time T, these inequalities hold:
//
//   classes    A slot works for at most T, and resident bytes fit into memory:
//              sum_g c_gk y_gk <= slots_k T,  sum_g bytes_g y_gk <= bytes of k,  sum_k y_gk = 1
//   crossings  An item with exactly one end on class k leaves or enters k:
//              sum of x_it over the ways t between k and others >= |y_maker,k - y_reader,k|
//   channels   A channel carries one transfer at a time. For each set C of channels (those on the
//              routes of a way, or all): sum_it w_itC x_it <= |C| T,  where w_itC is the least
//              time that the item's transfer keeps channels of C busy on any route of that way.
//              Broadcast channels are not counted, since one transfer there may serve several ways.
//   spreading  The groups on the device of group v fit there. Let dist(v, u) be the length of a
//              path of items from v to u, where an item has length sum_t x_it; groups on different
//              devices are at least 1 apart. So for all sets U_k of groups
//              sum_k sum_(u in U_k) c_uk (y_vk - dist(v, u)) <= slots of one device * T
//              and likewise for resident bytes and the memory of one device of k.
//
// All inequalities hold for the 0-1 values of any placement that fits, in every semantics and with
// every issue order, because devices and channels are each busy for no longer than the step. If
// memory or a small T forces groups onto different devices, items between them must cross, and
// their transfers take time. (Spreading metrics: G. Even, J. Naor, S. Rao, B. Schieber, Journal of
// the ACM 47, 2000.)
//
// Crossings and spreading inequalities are added where a solution violates them. The dual prices of
// each linear program prove a bound (mip.h).

#include <functional>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns whether the bytes that stay in memory for the whole step exceed the largest device.
bool NeedsSeveralDevices(const Problem& problem);

/// Proves increasing bounds on the step time of the placements that fit and are within the masks,
/// until no more can be gained or an end is requested.
/// @param masks  [num_groups] devices that each group may have, never 0
/// @param unit   > 0, about the size of the bound: the program's unit of time [ns]
/// @param stop   called often; true ends the proof, or it may throw
/// @param told   called with each bound [ns]; true ends the proof
void ProveCuts(const Problem& problem,
               const DeviceMasks& masks,
               Nanos unit,
               const std::function<bool()>& stop,
               const std::function<bool(Nanos)>& told);

}  // namespace emplace

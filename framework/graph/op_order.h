#pragma once

#include <span>
#include <string>

#include "framework/graph/graph.h"

namespace emplace {

/// Checks that an order of ops is one in which a graph can be issued.
/// @param order  op ids
/// @param where  stands at the beginning of the message: a file and key, or what the order is for
/// @throws InputError unless `order` holds every op of the graph once, and each behind everything
///   that it awaits; names the first op that is wrong, and the op that it awaits
void RequireOpOrder(const Graph& graph, std::span<const int> order, const std::string& where);

}  // namespace emplace

#pragma once

#include <span>
#include <string>

#include "framework/graph/graph.h"

namespace emplace {

/// Checks that ops can be issued in an order.
/// @param order  op ids
/// @param where  start of the message: a file and key, or the purpose of the order
/// @throws InputError unless `order` contains every op of the graph once and each op after its
///   predecessors; names the first wrong op and the predecessor that follows it
void RequireOpOrder(const Graph& graph, std::span<const int> order, const std::string& where);

}  // namespace emplace

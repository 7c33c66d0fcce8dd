#include "framework/graph/op_order.h"

#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

void RequireOpOrder(const Graph& graph, std::span<const int> order, const std::string& where) {
  const auto size = static_cast<size_t>(graph.num_ops());
  if (order.size() != size) {
    throw InputError(fmt::format("{}: has {} ops, expected each of the {} ops of graph \"{}\" once",
                                 where,
                                 order.size(),
                                 size,
                                 graph.name()));
  }
  std::vector<bool> is_issued(size, false);
  for (size_t i = 0; i < size; ++i) {
    const int v = order[i];
    if (v < 0 || v >= graph.num_ops()) {
      throw InputError(
          fmt::format("{}: position {} is op {}, expected 0 to {}", where, i, v, size - 1));
    }
    if (is_issued[v]) {
      throw InputError(fmt::format(
          "{}: op \"{}\" is listed twice, again at position {}", where, graph.op(v).name, i));
    }
    for (const int before : graph.predecessors(v)) {
      if (is_issued[before]) continue;
      throw InputError(
          fmt::format("{}: op \"{}\" at position {} depends on op \"{}\", which comes after it",
                      where,
                      graph.op(v).name,
                      i,
                      graph.op(before).name));
    }
    is_issued[v] = true;
  }
}

}  // namespace emplace

#include "framework/plan/planned_graph.h"

#include <utility>

namespace emplace {

Graph GraphLike(const Graph& other, std::vector<Tensor> tensors, std::vector<Op> ops) {
  for (Tensor& tensor : tensors) tensor.producer = -1;
  return Graph(other.name(),
               std::move(tensors),
               std::move(ops),
               other.source(),
               other.name(),
               other.extra(),
               other.ranks());
}

}  // namespace emplace

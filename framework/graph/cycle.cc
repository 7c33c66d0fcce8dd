#include "framework/graph/cycle.h"

#include <algorithm>

#include <fmt/format.h>

namespace emplace::internal {

std::vector<int> FindCycle(const Adjacency& successors) {
  const int count = static_cast<int>(successors.offsets.size()) - 1;
  std::vector<int> next(count, -1), path;  // position of the next successor; -1: not visited
  std::vector<bool> on_path(count, false);
  const auto enter = [&](int v) {
    next[v] = 0;
    on_path[v] = true;
    path.push_back(v);
  };
  for (int root = 0; root < count; ++root) {
    if (next[root] < 0) enter(root);
    while (!path.empty()) {
      const int v = path.back();
      if (next[v] == std::ssize(successors[v])) {
        on_path[v] = false;
        path.pop_back();
        continue;
      }
      const int to = successors[v][next[v]++];
      if (on_path[to]) {
        std::vector<int> cycle(std::ranges::find(path, to), path.end());
        std::rotate(cycle.begin(), std::ranges::min_element(cycle) + 1, cycle.end());
        return cycle;
      }
      if (next[to] < 0) enter(to);
    }
  }
  return {};
}

std::string DescribeCycle(const std::vector<int>& cycle,
                          const std::function<std::string_view(int)>& name_of,
                          std::string_view things) {
  constexpr size_t kNamed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
    text += fmt::format("\"{}\" -> ", name_of(cycle[i]));
  }
  if (cycle.size() > kNamed) text += fmt::format("... ({} {}) -> ", cycle.size(), things);
  return text + fmt::format("\"{}\"", name_of(cycle[0]));
}

}  // namespace emplace::internal

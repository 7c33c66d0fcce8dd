#include "profilers/cpu/kernels/loops.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace emplace::cpu {

std::int64_t Loops::num_elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

bool Loops::is_one_run() const {
  return num_dims() == 1 &&
         std::ranges::all_of(strides, [](const auto& of_view) { return of_view[0] == 1; });
}

Loops MergeLoops(std::span<const TensorView* const> views) {
  const TensorView& first = *views.front();
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(first.shape.size()); ++d)
    if (first.shape[d] != 1) dims.push_back(d);
  EMPLACE_CHECK(dims.size() <= Loops::kMaxDims);
  std::ranges::stable_sort(dims, [&](int a, int b) {
    for (const TensorView* view : views)
      if (view->strides[a] != view->strides[b]) return view->strides[a] > view->strides[b];
    return false;
  });

  Loops loops;
  loops.strides.resize(views.size());
  for (const int d : dims) {
    bool merges = !loops.shape.empty();
    for (std::size_t v = 0; v < views.size() && merges; ++v)
      merges = loops.strides[v].back() == views[v]->strides[d] * first.shape[d];
    if (merges)
      loops.shape.back() *= first.shape[d];
    else
      loops.shape.push_back(first.shape[d]);
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (merges)
        loops.strides[v].back() = views[v]->strides[d];
      else
        loops.strides[v].push_back(views[v]->strides[d]);
    }
  }
  if (loops.shape.empty()) {
    loops.shape = {1};
    for (auto& strides : loops.strides) strides = {1};
  }
  return loops;
}

TensorView BroadcastTo(const TensorView& view, const std::vector<std::int64_t>& shape) {
  EMPLACE_CHECK(view.shape.size() == shape.size());
  TensorView result = view;
  result.shape = shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (view.shape[d] == 1) result.strides[d] = 0;
  return result;
}

}  // namespace emplace::cpu

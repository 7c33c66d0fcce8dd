#include "profilers/kernels/shared_rules.h"

#include <algorithm>

namespace emplace::internal {

using std::int64_t;

Padding SamePadding(int64_t size, int64_t window, int64_t stride, int64_t dilation) {
  Require(stride > 0, "a stride that is not positive");
  const int64_t windows = (size + stride - 1) / stride;
  const int64_t reach = (window - 1) * dilation + 1;
  const int64_t total = std::max<int64_t>(0, (windows - 1) * stride + reach - size);
  return {.begin = total / 2, .end = total - total / 2};
}

void RequireSane(const Window& window) {
  constexpr int64_t kMost = int64_t{1} << 20;
  for (const auto* pair :
       {&window.size, &window.stride, &window.pad_begin, &window.pad_end, &window.dilation}) {
    Require(pair->size() == 2, "a window that is not over [h, w]");
    for (const int64_t value : *pair) {
      Require(value >= 0 && value <= kMost, "a window of negative or excessive size");
    }
  }
}

void FitPadding(Window& window,
                const TensorView& image,
                const TensorView& windows,
                bool is_average) {
  Require(image.shape.size() == 4 && windows.shape.size() == 4, "images that are not of rank 4");
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (window.size[i] - 1) * window.dilation[i] + 1;
    const int64_t needed = (windows.shape[2 + i] - 1) * window.stride[i] + reach -
                           image.shape[2 + i] - window.pad_begin[i];
    if (needed <= window.pad_end[i]) continue;
    Require(!is_average || !window.count_include_pad,
            "an average that counts elements beyond the padding");
    window.pad_end[i] = needed;
  }
}

Argument RowsAlong(const Argument& argument, int dim) {
  std::vector<int> order{dim};
  int64_t width = 1;
  for (int i = 0; i < Rank(argument); ++i) {
    if (i == dim) continue;
    order.push_back(i);
    width *= argument.view.shape[i];
  }
  return With(argument, Reshape(Permute(argument.view, order), {argument.view.shape[dim], width}));
}

Argument RowsFor(const Argument& values, const Argument& indices) {
  const int64_t n = indices.view.num_elements();
  Require(n > 0 && values.view.num_elements() % n == 0, "rows that do not fit their indices");
  return With(values, Reshape(values.view, {n, values.view.num_elements() / n}));
}

}  // namespace emplace::internal

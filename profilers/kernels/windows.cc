#include "profilers/kernels/windows.h"

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
      Require(value >= 0 && value <= kMost, "a window of negative or absurd size");
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
            "an average that counts what hangs over the padding");
    window.pad_end[i] = needed;
  }
}

}  // namespace emplace::internal

#include "profilers/executor/copy_layout.h"

#include <algorithm>
#include <functional>

namespace emplace {

CopyLayout LayoutOfCopy(const TensorView& view) {
  CopyLayout layout{.source = view, .received = ContiguousView(view.dtype, view.shape)};
  std::vector<size_t> wide;  // dimensions whose strides matter
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1) wide.push_back(i);
  }
  const auto stride = [&](size_t i) { return view.strides[i]; };
  if (std::ranges::any_of(wide, [&](size_t i) { return stride(i) == 0; })) return layout;

  std::vector<size_t> sorted = wide;
  std::ranges::stable_sort(sorted, std::greater{}, stride);
  for (size_t i = 0; i < wide.size(); ++i) {
    layout.source.shape[wide[i]] = view.shape[sorted[i]];
    layout.source.strides[wide[i]] = view.strides[sorted[i]];
  }
  const TensorView packed = ContiguousView(view.dtype, layout.source.shape);
  for (size_t i = 0; i < wide.size(); ++i) {
    layout.received.strides[sorted[i]] = packed.strides[wide[i]];
  }
  return layout;
}

}  // namespace emplace

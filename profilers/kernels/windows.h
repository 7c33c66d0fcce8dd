#pragma once

// Convolutions and poolings, alike in both frameworks once layout and padding are resolved. Private
// to profilers/kernels.

#include <string_view>
#include <vector>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

/// Padding of "SAME" for one axis: as little as gives ceil(size / stride) windows, the odd one at
/// the end.
struct Padding {
  std::int64_t begin = 0, end = 0;  ///< elements
};
Padding SamePadding(std::int64_t size,
                    std::int64_t window,
                    std::int64_t stride,
                    std::int64_t dilation);

/// @throws NoKernel for a size, stride, padding or dilation that no image has
void RequireSane(const Window& window);

/// With the padding at the end that `windows` need: PyTorch's ceil_mode lets the last window hang
/// over.
/// @param image, windows  [n, c, h, w]
/// @throws NoKernel if an average counts what hangs over
void FitPadding(Window& window,
                const TensorView& image,
                const TensorView& windows,
                bool is_average);

}  // namespace emplace::internal

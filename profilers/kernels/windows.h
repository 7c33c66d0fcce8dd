#pragma once

// Windows of convolutions and poolings. They are alike in both frameworks once layout and padding
// are resolved. Private to profilers/kernels.

#include <string_view>
#include <vector>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

/// Padding of one axis, in elements.
struct Padding {
  std::int64_t begin = 0, end = 0;
};
/// Computes TensorFlow's padding "SAME": the least that gives ceil(size / stride) windows, half of
/// it on either side, an odd element at the end.
/// @param size  of the image    @param window  elements that a window takes, `dilation` apart
/// @throws NoKernel for a stride that is not positive
Padding SamePadding(std::int64_t size,
                    std::int64_t window,
                    std::int64_t stride,
                    std::int64_t dilation);

/// @throws NoKernel for a window that is not over [h, w], or whose size, stride, padding or
/// dilation is negative or above 2^20
void RequireSane(const Window& window);

/// Increases window.pad_end to fit the number of windows: with PyTorch's ceil_mode the last window
/// may reach beyond the given padding.
/// @param image  [n, c, h, w]    @param windows  [n, c, p, q], one value per window
/// @throws NoKernel if the elements beyond would count in an average
void FitPadding(Window& window,
                const TensorView& image,
                const TensorView& windows,
                bool is_average);

}  // namespace emplace::internal

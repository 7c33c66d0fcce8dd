#pragma once

// Copies of strided tensors into packed ones, in pieces.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

class PackedCopy {
 public:
  explicit PackedCopy(const TensorView& view);

  /// What the packed tensor holds [B].
  std::int64_t bytes() const { return bytes_; }
  /// Copies from byte `begin` of the packed tensor on, some `limit` bytes of it: whole rows, or any
  /// bytes if the source is contiguous.
  /// @param storage  first byte of the view's storage @param packed  first byte of the destination
  /// @return where to go on: bytes() at the end
  std::int64_t Copy(const std::byte* storage,
                    std::byte* packed,
                    std::int64_t begin,
                    std::int64_t limit) const;

 private:
  void CopyRow(const std::byte* from, std::byte* to) const;

  std::int64_t element_bytes_ = 1, bytes_ = 0, offset_ = 0;
  // Innermost dimension (rows) and the others, outermost first, neighbours merged where possible.
  std::int64_t row_length_ = 1, row_stride_ = 1;           // elements
  std::vector<std::int64_t> outer_shape_, outer_strides_;  // strides in bytes
};

}  // namespace emplace

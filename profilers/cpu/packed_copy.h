#pragma once

// Copies a strided tensor into a packed one (row-major without holes), in pieces of limited size.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A prepared copy. Copy() copies one piece of it.
class PackedCopy {
 public:
  /// @param view  of the source, at most 16 dimensions that cannot be merged
  explicit PackedCopy(const TensorView& view);

  /// Returns the size of the packed tensor [B].
  std::int64_t bytes() const { return bytes_; }
  /// Copies the piece that starts at byte `begin` of the packed tensor: `limit` bytes if the source
  /// is contiguous, else whole rows of the innermost dimension, at least one.
  /// @param storage  first byte of the view's storage
  /// @param packed   first byte of the destination
  /// @return start of the next piece; bytes() after the last piece
  std::int64_t Copy(const std::byte* storage,
                    std::byte* packed,
                    std::int64_t begin,
                    std::int64_t limit) const;

 private:
  void CopyRow(const std::byte* from, std::byte* to) const;

  std::int64_t element_bytes_ = 1, bytes_ = 0, offset_ = 0;
  // The innermost dimension (rows) and the others, outermost first. Neighbouring dimensions are
  // merged where possible.
  std::int64_t row_length_ = 1, row_stride_ = 1;           // elements
  std::vector<std::int64_t> outer_shape_, outer_strides_;  // strides in bytes
};

}  // namespace emplace

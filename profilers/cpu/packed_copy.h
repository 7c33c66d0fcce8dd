#pragma once

// Copies a strided tensor into a packed one (row-major without holes).

#include <cstddef>
#include <cstdint>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A prepared copy.
class PackedCopy {
 public:
  /// @param view  of the source, at most cpu::Loops::kMaxDims dimensions of more than one element
  explicit PackedCopy(const TensorView& view);

  /// Returns the size of the packed tensor [B].
  std::int64_t bytes() const { return bytes_; }
  /// @param storage  first byte of the view's storage
  /// @param packed   first byte of the destination
  void Copy(const std::byte* storage, std::byte* packed) const;

 private:
  void CopyRow(const std::byte* from, std::byte* to) const;

  DType dtype_;
  std::int64_t element_bytes_ = 1, bytes_ = 0, offset_ = 0;
  cpu::Loops loops_;  // over the packed tensor and the view
};

}  // namespace emplace

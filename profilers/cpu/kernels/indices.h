#pragma once

// Reads indices and labels, i32 or i64, modulo a count, so that any bytes are valid indices.

#include <cstdint>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

/// Reads element i of a 1-D view of integers, modulo `count`. The result is in [0, count).
class IndexReader {
 public:
  IndexReader(const TensorView& view, std::int64_t count)
      : is_wide_(view.dtype == DType::kI64), count_(count), stride_(view.strides[0]) {}
  std::int64_t operator()(const void* data, std::int64_t i) const {
    const std::int64_t index = is_wide_ ? static_cast<const std::int64_t*>(data)[i * stride_]
                                        : static_cast<const std::int32_t*>(data)[i * stride_];
    if (index >= 0 && index < count_) return index;
    return (index % count_ + count_) % count_;
  }

 private:
  bool is_wide_;
  std::int64_t count_;
  std::int64_t stride_;
};

}  // namespace emplace::cpu

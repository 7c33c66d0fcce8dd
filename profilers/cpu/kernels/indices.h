#pragma once

// Reads indices and labels, i32 or i64, modulo a count, so that any bytes are valid indices.

#include <cstdint>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

/// Reads element i of a 1-D view of integers, modulo `count`: always in [0, count).
class IndexReader {
 public:
  /// @throws RunError unless `view` is [n] of i32 or i64
  IndexReader(const KernelCall& call, const TensorView& view, std::int64_t count)
      : is_wide_(view.dtype == DType::kI64), count_(count) {
    Require(call, view.shape.size() == 1, "expected indices [n]");
    Require(call, is_wide_ || view.dtype == DType::kI32, "expected i32 or i64 indices");
    Require(call, count > 0, "expected at least one row to pick from");
    stride_ = view.strides[0];
  }
  std::int64_t operator()(const void* data, std::int64_t i) const {
    const std::int64_t index = is_wide_ ? static_cast<const std::int64_t*>(data)[i * stride_]
                                        : static_cast<const std::int32_t*>(data)[i * stride_];
    if (index >= 0 && index < count_) return index;
    return (index % count_ + count_) % count_;
  }

 private:
  bool is_wide_;
  std::int64_t count_;
  std::int64_t stride_ = 1;
};

}  // namespace emplace::cpu

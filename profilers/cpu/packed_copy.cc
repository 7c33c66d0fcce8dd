#include "profilers/cpu/packed_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "framework/base/error.h"

namespace emplace {
namespace {

// Dimensions after merging. PyTorch supports up to 25, and graphs have up to 6.
constexpr size_t kMaxRank = 16;

}  // namespace

PackedCopy::PackedCopy(const TensorView& view)
    : element_bytes_(SizeOf(view.dtype)),
      bytes_(view.num_elements() * element_bytes_),
      offset_(view.offset * element_bytes_) {
  std::vector<std::int64_t> shape, strides;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    if (!shape.empty() && strides.back() == view.strides[i] * view.shape[i]) {
      shape.back() *= view.shape[i];
      strides.back() = view.strides[i];
    } else {
      shape.push_back(view.shape[i]);
      strides.push_back(view.strides[i]);
    }
  }
  if (shape.empty()) return;
  EMPLACE_CHECK(shape.size() <= kMaxRank);
  row_length_ = shape.back();
  row_stride_ = strides.back();
  outer_shape_.assign(shape.begin(), shape.end() - 1);
  for (size_t i = 0; i + 1 < strides.size(); ++i) {
    outer_strides_.push_back(strides[i] * element_bytes_);
  }
}

void PackedCopy::CopyRow(const std::byte* from, std::byte* to) const {
  const auto strided = [&]<class T>(T) {
    for (std::int64_t i = 0; i < row_length_; ++i) {
      std::memcpy(to + i * sizeof(T), from + i * row_stride_ * std::int64_t{sizeof(T)}, sizeof(T));
    }
  };
  if (row_stride_ == 1) {
    std::memcpy(to, from, static_cast<size_t>(row_length_ * element_bytes_));
  } else if (element_bytes_ == 1) {
    strided(std::uint8_t{});
  } else if (element_bytes_ == 4) {
    strided(std::uint32_t{});
  } else {
    strided(std::uint64_t{});
  }
}

std::int64_t PackedCopy::Copy(const std::byte* storage,
                              std::byte* packed,
                              std::int64_t begin,
                              std::int64_t limit) const {
  const std::byte* const from = storage + offset_;
  if (outer_shape_.empty() && row_stride_ == 1) {
    const std::int64_t count = std::min(limit, bytes_ - begin);
    std::memcpy(packed + begin, from + begin, static_cast<size_t>(count));
    return begin + count;
  }
  const std::int64_t row_bytes = row_length_ * element_bytes_;
  std::int64_t row = begin / row_bytes;
  const std::int64_t end = std::min(bytes_, begin + std::max(limit, row_bytes));
  std::array<std::int64_t, kMaxRank> index{};
  std::int64_t at = 0;
  for (size_t i = outer_shape_.size(); i-- > 0; row /= outer_shape_[i]) {
    index[i] = row % outer_shape_[i];
    at += index[i] * outer_strides_[i];
  }
  for (; begin < end; begin += row_bytes) {
    CopyRow(from + at, packed + begin);
    for (size_t i = outer_shape_.size(); i-- > 0;) {
      at += outer_strides_[i];
      if (++index[i] < outer_shape_[i]) break;
      at -= index[i] * outer_strides_[i];
      index[i] = 0;
    }
  }
  return begin;
}

}  // namespace emplace

#include "profilers/cpu/packed_copy.h"

#include <array>
#include <cstring>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace {
namespace {

cpu::Loops LoopsOf(const TensorView& view) {
  const TensorView packed = ContiguousView(view.dtype, view.shape);
  return cpu::MergeLoops(std::array{&packed, &view});
}

}  // namespace

PackedCopy::PackedCopy(const TensorView& view)
    : dtype_(view.dtype),
      element_bytes_(SizeOf(view.dtype)),
      bytes_(view.num_elements() * element_bytes_),
      offset_(view.offset * element_bytes_),
      loops_(LoopsOf(view)) {
}

void PackedCopy::CopyRow(const std::byte* from, std::byte* to) const {
  const std::int64_t length = loops_.row_length(), stride = loops_.row_stride(1);
  const auto strided = [&]<class T>(T) {
    for (std::int64_t i = 0; i < length; ++i) {
      std::memcpy(to + i * sizeof(T), from + i * stride * std::int64_t{sizeof(T)}, sizeof(T));
    }
  };
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(length * element_bytes_));
  } else {
    cpu::OfSize(dtype_, strided);
  }
}

void PackedCopy::Copy(const std::byte* storage, std::byte* packed) const {
  const std::int64_t row_bytes = loops_.row_length() * element_bytes_;
  cpu::Odometer<1> row(loops_.shape.data(), {loops_.strides[1].data()}, loops_.num_dims() - 1, 0);
  for (std::int64_t at = 0; at < bytes_; at += row_bytes, row.Step()) {
    CopyRow(storage + offset_ + row.offsets()[0] * element_bytes_, packed + at);
  }
}

}  // namespace emplace

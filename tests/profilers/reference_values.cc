// Elements of views, and the storage of an op.

#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "tests/profilers/reference_internal.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

using std::int64_t;

template <typename T>
double Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
void Store(double value, std::byte* to) {
  const T rounded = static_cast<T>(value);
  std::memcpy(to, &rounded, sizeof(T));
}

}  // namespace

namespace internal {

std::vector<int64_t> ElementOffsets(const TensorView& view) {
  EMPLACE_CHECK(view.shape.size() == view.strides.size());
  std::vector<int64_t> offsets{view.offset};
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * view.shape[axis]);
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < view.shape[axis]; ++i)
        next.push_back(offset + i * view.strides[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace internal

std::vector<void*> OpBuffers::inputs() {
  std::vector<void*> pointers;
  for (Buffer& buffer : input_storage) pointers.push_back(buffer.data());
  return pointers;
}

std::vector<void*> OpBuffers::outputs() {
  std::vector<void*> pointers;
  for (size_t i = 0; i < output_storage.size(); ++i) {
    pointers.push_back(output(static_cast<int>(i)).data());
  }
  return pointers;
}

Buffer& OpBuffers::output(int index) {
  return shared[index] >= 0 ? input_storage[shared[index]] : output_storage[index];
}

std::vector<double> ReadElements(const TensorView& view, const void* storage) {
  std::vector<double> values;
  const int64_t size = SizeOf(view.dtype);
  for (const int64_t offset : ElementOffsets(view)) {
    const std::byte* from = static_cast<const std::byte*>(storage) + offset * size;
    switch (view.dtype) {
      case DType::kF32:
        values.push_back(Load<float>(from));
        break;
      case DType::kI32:
        values.push_back(Load<std::int32_t>(from));
        break;
      case DType::kI64:
        values.push_back(Load<std::int64_t>(from));
        break;
      case DType::kBool:
        values.push_back(Load<std::uint8_t>(from));
        break;
    }
  }
  return values;
}

void WriteElements(const TensorView& view, const std::vector<double>& values, void* storage) {
  const std::vector<int64_t> offsets = ElementOffsets(view);
  EMPLACE_CHECK(offsets.size() == values.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::byte* to = static_cast<std::byte*>(storage) + offsets[i] * SizeOf(view.dtype);
    switch (view.dtype) {
      case DType::kF32:
        Store<float>(values[i], to);
        break;
      case DType::kI32:
        Store<std::int32_t>(values[i], to);
        break;
      case DType::kI64:
        Store<std::int64_t>(values[i], to);
        break;
      case DType::kBool:
        Store<std::uint8_t>(values[i] != 0 ? 1 : 0, to);
        break;
    }
  }
}

}  // namespace emplace::testing

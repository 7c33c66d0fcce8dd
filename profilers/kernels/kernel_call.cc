#include "profilers/kernels/kernel_call.h"

#include <array>
#include <cstdlib>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "profilers/kernels/call_fields.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace {
namespace {

constexpr std::array<std::string_view, 4> kDTypeNames{"f32", "i32", "i64", "bool"};

// Writes values one after another, each with a terminator, and lists and structs in brackets, so
// that texts are equal only for equal calls.
class KeyWriter {
 public:
  template <class T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      Write(static_cast<int>(value));
    } else {
      fmt::format_to(std::back_inserter(key_), "{},", value);
    }
  }
  template <class T>
  void Write(const std::vector<T>& values) {
    key_.push_back('[');
    for (const T& value : values) Write(value);
    key_.push_back(']');
  }
  void Write(const Window& window) { WriteAll(kWindowFields, window); }
  void Write(const KernelParams& params) { WriteAll(kParamFields, params); }
  void Write(const TensorView& view) { WriteAll(kViewFields, view); }
  void Write(const Argument& argument) { WriteAll(kArgumentFields, argument); }
  void Write(const KernelCall& call) { WriteAll(kCallFields, call); }

  std::string Text() const { return fmt::to_string(key_); }

 private:
  template <class Fields, class Owner>
  void WriteAll(const Fields& fields, const Owner& owner) {
    key_.push_back('{');
    ForEachField(fields, [&](const auto& field) { Write(owner.*field.member); });
    key_.push_back('}');
  }

  fmt::memory_buffer key_;
};

}  // namespace

std::string_view ToString(DType dtype) {
  return kDTypeNames[static_cast<size_t>(dtype)];
}

std::optional<DType> ParseDType(std::string_view text) {
  for (size_t i = 0; i < kDTypeNames.size(); ++i) {
    if (kDTypeNames[i] == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
    case DType::kBool:
      return 1;
  }
  std::abort();
}

std::int64_t TensorView::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t TensorView::span_bytes() const {
  if (num_elements() == 0) return 0;
  std::int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return (last + 1) * SizeOf(dtype);
}

std::int64_t TensorView::end_bytes() const {
  return num_elements() == 0 ? 0 : offset * SizeOf(dtype) + span_bytes();
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool HaveEqualSteps(const TensorView& a, const TensorView& b) {
  for (size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

TensorView ChannelsLastView(DType dtype, const std::vector<std::int64_t>& shape) {
  TensorView view = ContiguousView(dtype, {shape.at(0), shape.at(2), shape.at(3), shape.at(1)});
  view.strides = {view.strides[0], view.strides[3], view.strides[1], view.strides[2]};
  view.shape = shape;
  return view;
}

TensorView ContiguousView(DType dtype, std::vector<std::int64_t> shape) {
  TensorView view{.dtype = dtype, .shape = std::move(shape)};
  view.strides.resize(view.shape.size());
  std::int64_t stride = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}

std::string_view ToString(KernelKind kind) {
  return DescriptionOf(kind).name;
}

std::string_view ToString(Function function) {
  return DescriptionOf(function).name;
}

ConvolutionRoles RolesOf(const KernelCall& call) {
  switch (call.kind) {
    case KernelKind::kConvForward:
      return {call.inputs[0], call.inputs[1], call.outputs[0]};
    case KernelKind::kConvBackwardData:
      return {call.outputs[0], call.inputs[1], call.inputs[0]};
    default:
      return {call.inputs[0], call.outputs[0], call.inputs[1]};
  }
}

std::string CallKey(const KernelCall& call) {
  KeyWriter key;
  key.Write(call);
  return key.Text();
}

}  // namespace emplace

#pragma once

// The functions implemented by the files of this folder, one per family of kernels, and their
// shared functions: refusing a call, and packing arguments whose layout an implementation does not
// accept.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cpu {

/// A CpuKernel (cpu_kernel.h) with resolved arguments: in[i] points at the first element of the
/// view of call.inputs[i], out[i] of call.outputs[i].
class ViewKernel {
 public:
  virtual ~ViewKernel() = default;
  virtual std::int64_t scratch_bytes() const { return 0; }
  virtual void Run(void* const* in, void* const* out, void* scratch) = 0;
};

/// Makes a kernel from a function run(in, out, scratch).
template <typename Function>
std::unique_ptr<ViewKernel> MakeKernel(Function run, std::int64_t scratch_bytes = 0) {
  class FunctionKernel : public ViewKernel {
   public:
    FunctionKernel(Function run, std::int64_t scratch_bytes)
        : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}
    std::int64_t scratch_bytes() const override { return scratch_bytes_; }
    void Run(void* const* in, void* const* out, void* scratch) override { run_(in, out, scratch); }

   private:
    Function run_;
    std::int64_t scratch_bytes_;
  };
  return std::make_unique<FunctionKernel>(std::move(run), scratch_bytes);
}

/// Refuses a call that the kernel table allows and an implementation does not support.
/// @throws RunError "no CPU kernel for matmul f32 [2, 3] -> f32 [2, 2]: `why`"
[[noreturn]] void Refuse(const KernelCall& call, std::string_view why);

/// Prepares a call that is well formed (WhyMalformed()).
/// @param threads  that the kernel may use
/// @throws RunError if the implementation cannot do it
using Factory = std::unique_ptr<ViewKernel>(const KernelCall& call, int threads);

Factory MakeMatmul, MakeConvolution, MakePooling, MakeBatchNorm, MakeLayerNorm, MakeSoftmax,
    MakeSparseCrossEntropy, MakeNllLoss, MakeElementwise, MakeComparison, MakeFloatFunction,
    MakeMathematics, MakeSelect, MakeDropout, MakeRandomUniform, MakeFill, MakeReduce, MakeGather,
    MakeScatterAdd, MakeCopy, MakeRange, MakeCumulativeSum, MakeOptimizer, MakeProxy;

/// Returns a call for a kernel that is part of another kernel. Input i is input tensor i, and
/// output i is output tensor i.
KernelCall PartCall(KernelKind kind,
                    const std::vector<TensorView>& inputs,
                    const std::vector<TensorView>& outputs,
                    Function function = Function::kNone);

/// Returns nullptr if `suits(view)` is true for every argument. Otherwise returns a kernel that
/// copies the other arguments row-major into scratch, runs the kernel that `make` prepares for the
/// call with these copies, and copies the outputs among them back.
std::unique_ptr<ViewKernel> PackUnless(bool (*suits)(const TensorView&),
                                       Factory make,
                                       const KernelCall& call,
                                       int threads);

// Conditions for PackUnless().

/// Returns whether the elements along the last dimension are contiguous.
bool HasDenseRows(const TensorView& view);
/// Returns whether no dimension is broadcast (stride 0).
bool IsInjective(const TensorView& view);
bool IsContiguous(const TensorView& view);  ///< TensorView::is_contiguous()

/// Reads element i of a 1-D view of indices or labels, i32 or i64, modulo `count`, so that any
/// bytes are valid indices. The result is in [0, count).
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

/// Returns make(T()) for the C++ type T of `dtype`.
template <typename Make>
auto OfType(DType dtype, Make make) {
  switch (dtype) {
    case DType::kF32:
      return make(float());
    case DType::kI32:
      return make(std::int32_t());
    case DType::kI64:
      return make(std::int64_t());
    default:
      return make(std::uint8_t());
  }
}

/// Returns make(T()) for an unsigned type of the size of `dtype`, for code that only moves bytes.
template <typename Make>
auto OfSize(DType dtype, Make make) {
  switch (SizeOf(dtype)) {
    case 1:
      return make(std::uint8_t());
    case 4:
      return make(std::uint32_t());
    default:
      return make(std::uint64_t());
  }
}

/// Returns `bytes` rounded up to a multiple of 64, the alignment of areas in scratch [B].
inline std::int64_t Aligned(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}
inline void* At(void* base, std::int64_t bytes) {
  return static_cast<std::byte*>(base) + bytes;
}

template <typename T>
T* As(void* pointer) {
  return static_cast<T*>(pointer);
}

}  // namespace emplace::cpu

#pragma once

// From a kernel call to device pointers: where arguments and scratch are, and copies of arguments
// for kernels that take them only row-major.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_kernel.h"
#include "profilers/cuda/kernels/copy.h"
#include "profilers/kernels/check_call.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// Runs prepare() for a well-formed call and returns what it returns. @throws RunError for any
/// other call, and prepare()'s RunErrors, with the call named in front: "CUDA kernels cannot do
/// matmul
/// ...: why"
template <class Prepare>
auto NamingCall(const KernelCall& call, const Prepare& prepare) {
  try {
    const std::string error = WhyMalformed(call);
    if (!error.empty()) throw RunError(error);
    return prepare();
  } catch (const RunError& error) {
    throw RunError("CUDA kernels cannot do " + Describe(call) + ": " + error.what());
  }
}

/// The least power of two that a view's address is sure to be a multiple of, at most 256 [B].
std::int64_t AlignmentOf(const TensorView& view);

/// What CudaKernel::Launch() gets.
struct LaunchContext {
  void* const* inputs;
  void* const* outputs;
  void* scratch;
  cudaStream_t stream;

  /// The first element of the argument's view.
  void* Pointer(const Argument& argument) const;
  /// @param offset  that ScratchLayout::Take() gave [B]
  void* Scratch(std::int64_t offset) const { return static_cast<char*>(scratch) + offset; }
};

/// Divides a kernel's scratch into areas.
class ScratchLayout {
 public:
  /// A new area of `bytes`. @return its offset, a multiple of 256 [B]
  std::int64_t Take(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }  ///< of all areas

 private:
  std::int64_t bytes_ = 0;
};

/// An argument in the layout that a kernel takes: the argument itself if its view has that layout,
/// else a copy in scratch.
class LaidOutArgument {
 public:
  /// @param wanted  the layout: shape and dtype of the argument's view, offset 0
  /// @param scratch  the copy's area is taken from here
  /// @param alignment  of addresses that the kernel takes; views that start elsewhere are copied
  /// [B]
  LaidOutArgument(const Argument& argument,
                  const TensorView& wanted,
                  ScratchLayout& scratch,
                  std::int64_t alignment = 1);
  /// The same with a row-major layout.
  LaidOutArgument(const Argument& argument, ScratchLayout& scratch);

  bool is_copied() const { return scratch_offset_ >= 0; }
  void* Pointer(const LaunchContext& context) const;  ///< of the argument or its copy
  // The copy to scratch that an input needs before the kernel, and the copy from there that an
  // output needs after it; to be launched if is_copied().

  CopyJob CopyIn(const LaunchContext& context) const;
  CopyJob CopyOut(const LaunchContext& context) const;

 private:
  Argument argument_;
  std::int64_t scratch_offset_ = -1;
  CopyJob in_, out_;
};

/// All arguments of a call row-major, except for those that the kernel takes with any strides.
class DenseArguments {
 public:
  struct Options {
    std::vector<int> strided_inputs, strided_outputs;  ///< positions of those it takes as they are
    bool reads_outputs = false;  ///< the kernel reads what is in the outputs: copy them in, too
  };
  DenseArguments(const KernelCall& call, ScratchLayout& scratch)
      : DenseArguments(call, scratch, {}) {}
  DenseArguments(const KernelCall& call, ScratchLayout& scratch, const Options& options);

  /// Enqueues the copies of inputs to where in() points. To be called before the kernel.
  void CopyIn(const LaunchContext& context);
  /// Enqueues the copies of outputs from where out() points. To be called after the kernel.
  void CopyOut(const LaunchContext& context);

  template <class T>
  T* in(const LaunchContext& context, int i) const {
    return static_cast<T*>(inputs_[i].Pointer(context));
  }
  template <class T>
  T* out(const LaunchContext& context, int i) const {
    return static_cast<T*>(outputs_[i].Pointer(context));
  }

 private:
  bool reads_outputs_;
  std::vector<LaidOutArgument> inputs_, outputs_;
  std::vector<CopyJob> jobs_;  // kept to launch without allocating
};

}  // namespace emplace::cuda

#pragma once

// Maps a kernel call to device pointers: the addresses of arguments and scratch, and row-major
// copies of arguments for kernels that require them.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_kernel.h"
#include "profilers/cuda/kernels/copy.h"
#include "profilers/kernels/kernel_call.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace::cuda {

/// Runs prepare() for a well-formed call and returns its result.
/// @throws RunError for any other call. RunErrors of prepare() are thrown with the call in front:
///   "CUDA kernels cannot do matmul ...: why"
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

/// Returns the largest power of two, at most 256, that divides a view's address for certain [B].
std::int64_t AlignmentOf(const TensorView& view);

/// The arguments of CudaKernel::Launch().
struct LaunchContext {
  void* const* inputs;
  void* const* outputs;
  void* scratch;
  cudaStream_t stream;

  /// Returns the first element of the argument's view.
  void* Pointer(const Argument& argument) const;
  /// @param offset  result of ScratchLayout::Take() [B]
  void* Scratch(std::int64_t offset) const { return static_cast<char*>(scratch) + offset; }
};

/// Divides a kernel's scratch into areas.
class ScratchLayout {
 public:
  /// Takes a new area of `bytes`.
  /// @return its offset, a multiple of 256 [B]
  std::int64_t Take(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }  ///< of all areas

 private:
  std::int64_t bytes_ = 0;
};

/// An argument in the layout that a kernel requires: the argument itself if its view has that
/// layout, else a copy in scratch.
class LaidOutArgument {
 public:
  /// @param wanted     the layout: shape and dtype of the argument's view, offset 0
  /// @param scratch    the copy's area is taken from here
  /// @param alignment  of addresses that the kernel accepts; views with less alignment are copied
  ///   [B]
  LaidOutArgument(const Argument& argument,
                  const TensorView& wanted,
                  ScratchLayout& scratch,
                  std::int64_t alignment = 1);
  /// Likewise with a row-major layout.
  LaidOutArgument(const Argument& argument, ScratchLayout& scratch);

  bool is_copied() const { return scratch_offset_ >= 0; }
  void* Pointer(const LaunchContext& context) const;  ///< of the argument or its copy
  // The copy to scratch that an input needs before the kernel, and the copy from scratch that an
  // output needs after it. They must be launched if is_copied().

  CopyJob CopyIn(const LaunchContext& context) const;
  CopyJob CopyOut(const LaunchContext& context) const;

 private:
  Argument argument_;
  std::int64_t scratch_offset_ = -1;
  CopyJob in_, out_;
};

/// All arguments of a call in row-major layout, except for those that the kernel accepts with any
/// strides.
class DenseArguments {
 public:
  struct Options {
    std::vector<int> strided_inputs, strided_outputs;  ///< positions of arguments with any strides
    bool reads_outputs = false;  ///< the kernel reads the outputs, so they are copied in, too
  };
  DenseArguments(const KernelCall& call, ScratchLayout& scratch)
      : DenseArguments(call, scratch, {}) {}
  DenseArguments(const KernelCall& call, ScratchLayout& scratch, const Options& options);

  /// Enqueues the copies of inputs to the addresses of in(). Must be called before the kernel.
  void CopyIn(const LaunchContext& context);
  /// Enqueues the copies of outputs from the addresses of out(). Must be called after the kernel.
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
  std::vector<CopyJob> jobs_;  // members, so that launches do not allocate
};

}  // namespace emplace::cuda

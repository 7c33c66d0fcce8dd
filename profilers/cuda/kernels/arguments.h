#pragma once

// Between a kernel call and device pointers: where arguments are, scratch, and copies for kernels
// that want their arguments row-major.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_kernel.h"
#include "profilers/cuda/kernels/copy.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// "matmul f32 [1, 2, 3], f32 [1, 3, 4] -> f32 [1, 2, 4]".
std::string Describe(const KernelCall& call);

/// Runs prepare(), whose RunErrors say why a call cannot be done; names the call in them.
template <class Prepare>
auto NamingCall(const KernelCall& call, const Prepare& prepare) {
  try {
    return prepare();
  } catch (const RunError& error) {
    throw RunError("CUDA kernels cannot do " + Describe(call) + ": " + error.what());
  }
}

/// @throws RunError unless the call has that many arguments
void RequireCounts(const KernelCall& call,
                   std::size_t min_inputs,
                   std::size_t max_inputs,
                   std::size_t min_outputs,
                   std::size_t max_outputs);

/// The least power of two that a view's address is sure to be a multiple of, at most 256 [B].
std::int64_t AlignmentOf(const TensorView& view);

/// What CudaKernel::Launch gets.
struct LaunchContext {
  void* const* inputs;
  void* const* outputs;
  void* scratch;
  cudaStream_t stream;

  /// Where the argument's view begins.
  void* Pointer(const Argument& argument) const;
  void* Scratch(std::int64_t offset) const { return static_cast<char*>(scratch) + offset; }
};

/// Hands out parts of a kernel's scratch.
class ScratchLayout {
 public:
  /// @return offset of `bytes`, a multiple of 256 [B]
  std::int64_t Take(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

/// An argument in the layout that a kernel wants: in place where its view has that layout, else a
/// copy in scratch.
class LaidOutArgument {
 public:
  /// @param wanted  same shape and dtype as the argument's view, offset 0
  /// @param alignment  that the kernel asks of addresses; views that start elsewhere are copied [B]
  LaidOutArgument(const Argument& argument,
                  const TensorView& wanted,
                  ScratchLayout& scratch,
                  std::int64_t alignment = 1);
  /// Row-major.
  LaidOutArgument(const Argument& argument, ScratchLayout& scratch);

  bool is_copied() const { return scratch_offset_ >= 0; }
  void* Pointer(const LaunchContext& context) const;
  /// The copies that bring the argument into scratch, and a result from there; to be launched if
  /// is_copied().
  CopyJob CopyIn(const LaunchContext& context) const;
  CopyJob CopyOut(const LaunchContext& context) const;

 private:
  Argument argument_;
  std::int64_t scratch_offset_ = -1;
  CopyJob in_, out_;
};

/// All arguments of a call, row-major but for those that the kernel takes as they are.
class DenseArguments {
 public:
  struct Options {
    std::vector<int> strided_inputs, strided_outputs;  ///< taken as they are
    bool reads_outputs = false;                        ///< outputs' old contents count
  };
  DenseArguments(const KernelCall& call, ScratchLayout& scratch)
      : DenseArguments(call, scratch, {}) {}
  DenseArguments(const KernelCall& call, ScratchLayout& scratch, const Options& options);

  /// Brings the inputs where in() says.
  void CopyIn(const LaunchContext& context);
  /// Brings the results where they belong.
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

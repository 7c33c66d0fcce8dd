#include "profilers/cpu/cpu_kernel.h"

#include <limits>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

// Who implements a kind, and with how many arguments.
struct Implementation {
  cpu::Factory* make;
  std::size_t min_inputs, max_inputs, min_outputs, max_outputs;
};

Implementation ImplementationOf(KernelKind kind) {
  switch (kind) {
    case KernelKind::kMatmul:
      return {&cpu::MakeMatmul, 2, 3, 1, 1};
    case KernelKind::kConvForward:
      return {&cpu::MakeConvolution, 2, 3, 1, 1};
    case KernelKind::kConvBackwardData:
    case KernelKind::kConvBackwardFilter:
      return {&cpu::MakeConvolution, 2, 2, 1, 1};
    case KernelKind::kMaxPoolForward:
      return {&cpu::MakePooling, 1, 1, 1, 2};
    case KernelKind::kMaxPoolBackward:
      return {&cpu::MakePooling, 3, 3, 1, 1};
    case KernelKind::kMaxPoolBackwardIndices:
      return {&cpu::MakePooling, 2, 2, 1, 1};
    case KernelKind::kAvgPoolForward:
    case KernelKind::kAvgPoolBackward:
      return {&cpu::MakePooling, 1, 1, 1, 1};
    case KernelKind::kBatchNormForward:
      return {&cpu::MakeBatchNorm, 3, 5, 3, 5};
    case KernelKind::kBatchNormBackward:
      return {&cpu::MakeBatchNorm, 5, 5, 3, 3};
    case KernelKind::kLayerNormForward:
      return {&cpu::MakeLayerNorm, 3, 3, 3, 3};
    case KernelKind::kLayerNormBackward:
      return {&cpu::MakeLayerNorm, 5, 5, 3, 3};
    case KernelKind::kSoftmax:
    case KernelKind::kLogSoftmax:
      return {&cpu::MakeSoftmax, 1, 1, 1, 1};
    case KernelKind::kSoftmaxBackward:
    case KernelKind::kLogSoftmaxBackward:
      return {&cpu::MakeSoftmax, 2, 2, 1, 1};
    case KernelKind::kSparseCrossEntropy:
      return {&cpu::MakeSparseCrossEntropy, 2, 2, 2, 2};
    case KernelKind::kNllLossForward:
      return {&cpu::MakeNllLoss, 2, 2, 2, 2};
    case KernelKind::kNllLossBackward:
      return {&cpu::MakeNllLoss, 3, 3, 1, 1};
    case KernelKind::kElementwise:
      return {&cpu::MakeElementwise, 1, kAny, 1, 1};
    case KernelKind::kSelect:
      return {&cpu::MakeSelect, 2, 3, 1, 1};
    case KernelKind::kDropoutForward:
      return {&cpu::MakeDropout, 1, 1, 2, 2};
    case KernelKind::kDropoutBackward:
      return {&cpu::MakeDropout, 2, 2, 1, 1};
    case KernelKind::kRandomUniform:
      return {&cpu::MakeRandomUniform, 0, 0, 1, 1};
    case KernelKind::kFill:
      return {&cpu::MakeFill, 0, 0, 1, 1};
    case KernelKind::kReduce:
      return {&cpu::MakeReduce, 1, 1, 1, 1};
    case KernelKind::kGather:
      return {&cpu::MakeGather, 2, 2, 1, 1};
    case KernelKind::kScatterAdd:
      return {&cpu::MakeScatterAdd, 2, 2, 1, 1};
    case KernelKind::kCopy:
      return {&cpu::MakeCopy, 1, kAny, 1, kAny};
    case KernelKind::kMomentum:
      return {&cpu::MakeOptimizer, 3, 3, 2, 2};
    case KernelKind::kRmsProp:
    case KernelKind::kAdam:
      return {&cpu::MakeOptimizer, 4, 4, 3, 3};
    case KernelKind::kGradientDescent:
      return {&cpu::MakeOptimizer, 2, 2, 1, 1};
    case KernelKind::kProxy:
      return {&cpu::MakeProxy, 0, kAny, 0, kAny};
  }
  return {};
}

void RequireCount(const KernelCall& call,
                  std::string_view what,
                  std::size_t count,
                  std::size_t least,
                  std::size_t most) {
  if (count >= least && count <= most) return;
  const std::string expected = most == kAny    ? fmt::format("at least {}", least)
                               : least == most ? fmt::format("{}", least)
                                               : fmt::format("{} to {}", least, most);
  cpu::Refuse(call, fmt::format("{} {}, expected {}", count, what, expected));
}

// oneDNN splits work by the number of OpenMP threads it finds when a primitive is made.
class ThreadsGuard {
 public:
  explicit ThreadsGuard(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadsGuard() { omp_set_num_threads(before_); }
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  int before_;
};

// Finds the arguments' first elements among the op's tensors.
class ResolvingKernel : public CpuKernel {
 public:
  ResolvingKernel(const KernelCall& call, std::unique_ptr<cpu::ViewKernel> kernel)
      : kernel_(std::move(kernel)), in_(call.inputs.size()), out_(call.outputs.size()) {
    for (const Argument& argument : call.inputs) in_places_.push_back(PlaceOf(argument));
    for (const Argument& argument : call.outputs) out_places_.push_back(PlaceOf(argument));
  }

  std::int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

  void Run(void* const* inputs, void* const* outputs, void* scratch) override {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = Find(in_places_[i], inputs, outputs);
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = Find(out_places_[i], inputs, outputs);
    kernel_->Run(in_.data(), out_.data(), scratch);
  }

 private:
  struct Place {
    bool is_output;
    int index;
    std::int64_t offset;  // [B]
  };
  static Place PlaceOf(const Argument& argument) {
    return {argument.is_output, argument.index, argument.view.offset * SizeOf(argument.view.dtype)};
  }
  static void* Find(const Place& place, void* const* inputs, void* const* outputs) {
    return cpu::At((place.is_output ? outputs : inputs)[place.index], place.offset);
  }

  std::unique_ptr<cpu::ViewKernel> kernel_;
  std::vector<Place> in_places_, out_places_;
  std::vector<void*> in_, out_;
};

}  // namespace

std::unique_ptr<CpuKernel> PrepareCpuKernel(const KernelCall& call, int threads) {
  const Implementation implementation = ImplementationOf(call.kind);
  RequireCount(
      call, "inputs", call.inputs.size(), implementation.min_inputs, implementation.max_inputs);
  RequireCount(
      call, "outputs", call.outputs.size(), implementation.min_outputs, implementation.max_outputs);
  const ThreadsGuard guard(threads);
  try {
    return std::make_unique<ResolvingKernel>(call, implementation.make(call, threads));
  } catch (const dnnl::error& error) {
    cpu::Refuse(call, fmt::format("oneDNN: {}", error.what()));
  }
}

const char* CpuKernelLibraries() {
  static const std::string libraries = [] {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}, Eigen {}.{}.{}",
                       version->major,
                       version->minor,
                       version->patch,
                       EIGEN_WORLD_VERSION,
                       EIGEN_MAJOR_VERSION,
                       EIGEN_MINOR_VERSION);
  }();
  return libraries.c_str();
}

}  // namespace emplace

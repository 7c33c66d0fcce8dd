#include "profilers/cpu/cpu_kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "framework/base/error.h"
#include "profilers/cpu/kernels/view_kernel.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace {
namespace {

// The functions that make kernels of a kind.
constexpr std::pair<KernelKind, cpu::Factory*> kFactories[] = {
    {KernelKind::kMatmul, &cpu::MakeMatmul},
    {KernelKind::kConvForward, &cpu::MakeConvolution},
    {KernelKind::kConvBackwardData, &cpu::MakeConvolution},
    {KernelKind::kConvBackwardFilter, &cpu::MakeConvolution},
    {KernelKind::kMaxPoolForward, &cpu::MakePooling},
    {KernelKind::kMaxPoolBackward, &cpu::MakePooling},
    {KernelKind::kMaxPoolBackwardIndices, &cpu::MakePooling},
    {KernelKind::kAvgPoolForward, &cpu::MakePooling},
    {KernelKind::kAvgPoolBackward, &cpu::MakePooling},
    {KernelKind::kBatchNormForward, &cpu::MakeBatchNorm},
    {KernelKind::kBatchNormBackward, &cpu::MakeBatchNorm},
    {KernelKind::kLayerNormForward, &cpu::MakeLayerNorm},
    {KernelKind::kLayerNormBackward, &cpu::MakeLayerNorm},
    {KernelKind::kSoftmax, &cpu::MakeSoftmax},
    {KernelKind::kLogSoftmax, &cpu::MakeSoftmax},
    {KernelKind::kSoftmaxBackward, &cpu::MakeSoftmax},
    {KernelKind::kLogSoftmaxBackward, &cpu::MakeSoftmax},
    {KernelKind::kSparseCrossEntropy, &cpu::MakeSparseCrossEntropy},
    {KernelKind::kNllLossForward, &cpu::MakeNllLoss},
    {KernelKind::kNllLossBackward, &cpu::MakeNllLoss},
    {KernelKind::kElementwise, &cpu::MakeElementwise},
    {KernelKind::kSelect, &cpu::MakeSelect},
    {KernelKind::kDropoutForward, &cpu::MakeDropout},
    {KernelKind::kDropoutBackward, &cpu::MakeDropout},
    {KernelKind::kRandomUniform, &cpu::MakeRandomUniform},
    {KernelKind::kFill, &cpu::MakeFill},
    {KernelKind::kRange, &cpu::MakeRange},
    {KernelKind::kReduce, &cpu::MakeReduce},
    {KernelKind::kCumulativeSum, &cpu::MakeCumulativeSum},
    {KernelKind::kGather, &cpu::MakeGather},
    {KernelKind::kScatterAdd, &cpu::MakeScatterAdd},
    {KernelKind::kCopy, &cpu::MakeCopy},
    {KernelKind::kMomentum, &cpu::MakeOptimizer},
    {KernelKind::kRmsProp, &cpu::MakeOptimizer},
    {KernelKind::kAdam, &cpu::MakeOptimizer},
    {KernelKind::kGradientDescent, &cpu::MakeOptimizer},
    {KernelKind::kProxy, &cpu::MakeProxy},
};

// Returns the factory of a kind that is not composed of others.
cpu::Factory* FactoryOf(KernelKind kind) {
  const auto found =
      std::ranges::find(kFactories, kind, &std::pair<KernelKind, cpu::Factory*>::first);
  EMPLACE_CHECK(found != std::end(kFactories));
  return found->second;
}

// Sets the number of OpenMP threads. oneDNN divides work by the number of threads at the creation
// of a primitive.
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

// Finds the first elements of the arguments in the op's tensors.
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

// Runs the parts of a composed kernel in sequence. Scratch holds the temporaries, followed by the
// scratch of the parts.
class ComposedKernel : public CpuKernel {
 public:
  ComposedKernel(const Composition& composition, int threads)
      : num_outputs_(composition.first_temporary) {
    for (const std::int64_t bytes : composition.temporary_bytes) {
      temporaries_.push_back(temporary_bytes_);
      temporary_bytes_ += cpu::Aligned(bytes);
    }
    for (const KernelCall& part : composition.parts) {
      parts_.push_back(PrepareCpuKernel(part, threads));
      part_bytes_ = std::max(part_bytes_, parts_.back()->scratch_bytes());
    }
    outputs_.resize(num_outputs_ + temporaries_.size());
  }

  std::int64_t scratch_bytes() const override { return temporary_bytes_ + part_bytes_; }

  void Run(void* const* inputs, void* const* outputs, void* scratch) override {
    std::copy_n(outputs, num_outputs_, outputs_.begin());
    for (std::size_t i = 0; i < temporaries_.size(); ++i) {
      outputs_[num_outputs_ + i] = cpu::At(scratch, temporaries_[i]);
    }
    for (const auto& part : parts_) {
      part->Run(inputs, outputs_.data(), cpu::At(scratch, temporary_bytes_));
    }
  }

 private:
  std::size_t num_outputs_;
  std::vector<std::int64_t> temporaries_;  // offsets in scratch [B]
  std::int64_t temporary_bytes_ = 0, part_bytes_ = 0;
  std::vector<std::unique_ptr<CpuKernel>> parts_;
  std::vector<void*> outputs_;  // of the op, then temporaries
};

}  // namespace

std::unique_ptr<CpuKernel> PrepareCpuKernel(const KernelCall& call, int threads) {
  const std::string error = WhyMalformed(call);
  if (!error.empty()) cpu::Refuse(call, error);
  Composer* const compose = DescriptionOf(call.kind).compose;
  if (compose != nullptr) return std::make_unique<ComposedKernel>(compose(call), threads);
  const ThreadsGuard guard(threads);
  try {
    return std::make_unique<ResolvingKernel>(call, FactoryOf(call.kind)(call, threads));
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

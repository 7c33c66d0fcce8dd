#include "profilers/cuda/cuda_kernel.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "profilers/cuda/kernels/arguments.h"
#include "profilers/cuda/kernels/library_kernels.h"
#include "profilers/cuda/kernels/own_kernels.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace::cuda {

struct CudaKernelFactory::Impl {
  std::shared_ptr<LibraryHandles> handles;
};

CudaKernelFactory::CudaKernelFactory(int sm_count)
    : impl_(std::make_unique<Impl>(Impl{std::make_shared<LibraryHandles>(sm_count)})) {
}

CudaKernelFactory::~CudaKernelFactory() = default;

namespace {

// Runs the parts of a composed kernel in sequence. Scratch holds the temporaries, followed by the
// scratch of the parts.
class ComposedKernel : public CudaKernel {
 public:
  ComposedKernel(const Composition& composition, CudaKernelFactory& factory)
      : num_outputs_(composition.first_temporary) {
    for (const std::int64_t bytes : composition.temporary_bytes) {
      temporaries_.push_back(layout_.Take(bytes));
    }
    for (const KernelCall& part : composition.parts) {
      parts_.push_back(factory.Prepare(part));
      part_bytes_ = std::max(part_bytes_, parts_.back()->scratch_bytes());
    }
    outputs_.resize(num_outputs_ + temporaries_.size());
  }

  std::int64_t scratch_bytes() const override { return layout_.bytes() + part_bytes_; }

  void Launch(void* const* inputs,
              void* const* outputs,
              void* scratch,
              cudaStream_t stream) override {
    std::copy_n(outputs, num_outputs_, outputs_.begin());
    for (std::size_t i = 0; i < temporaries_.size(); ++i) {
      outputs_[num_outputs_ + i] = static_cast<char*>(scratch) + temporaries_[i];
    }
    for (const auto& part : parts_) {
      part->Launch(inputs, outputs_.data(), static_cast<char*>(scratch) + layout_.bytes(), stream);
    }
  }

 private:
  std::size_t num_outputs_;
  ScratchLayout layout_;
  std::vector<std::int64_t> temporaries_;  // offsets in scratch [B]
  std::int64_t part_bytes_ = 0;
  std::vector<std::unique_ptr<CudaKernel>> parts_;
  std::vector<void*> outputs_;  // of the op, then temporaries
};

}  // namespace

std::unique_ptr<CudaKernel> CudaKernelFactory::Prepare(const KernelCall& call) {
  Composer* const compose = DescriptionOf(call.kind).compose;
  if (compose != nullptr) {
    return NamingCall(call, [&]() -> std::unique_ptr<CudaKernel> {
      return std::make_unique<ComposedKernel>(compose(call), *this);
    });
  }
  switch (call.kind) {
    case KernelKind::kMatmul:
      return NamingCall(call, [&] { return PrepareMatmul(call, impl_->handles); });
    case KernelKind::kConvForward:
    case KernelKind::kConvBackwardData:
    case KernelKind::kConvBackwardFilter:
      return NamingCall(call, [&] { return PrepareConvolution(call, impl_->handles); });
    default:
      return PrepareOwnKernel(call);
  }
}

std::string CudaKernelFactory::Libraries() const {
  const std::size_t cublas = cublasLtGetVersion(), cudnn = cudnnGetVersion();
  return fmt::format("cuBLASLt {}.{}, cuDNN {}.{}",
                     cublas / 10000,
                     cublas % 10000 / 100,
                     cudnn / 10000,
                     cudnn % 10000 / 100);
}

}  // namespace emplace::cuda

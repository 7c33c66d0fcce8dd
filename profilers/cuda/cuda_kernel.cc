#include "profilers/cuda/cuda_kernel.h"

#include <utility>

#include <fmt/format.h>

#include "profilers/cuda/kernels/arguments.h"
#include "profilers/cuda/kernels/library_kernels.h"
#include "profilers/cuda/kernels/own_kernels.h"

namespace emplace::cuda {

struct CudaKernelFactory::Impl {
  std::shared_ptr<LibraryHandles> handles;
};

CudaKernelFactory::CudaKernelFactory(int sm_count)
    : impl_(std::make_unique<Impl>(Impl{std::make_shared<LibraryHandles>(sm_count)})) {
}

CudaKernelFactory::~CudaKernelFactory() = default;

std::unique_ptr<CudaKernel> CudaKernelFactory::Prepare(const KernelCall& call) {
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

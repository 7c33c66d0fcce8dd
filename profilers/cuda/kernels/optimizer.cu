#include <cmath>

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/optimizer.h"

namespace emplace::cuda {
namespace {

template <KernelKind kKind>
__global__ void OptimizerKernel(OptimizerJob job) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= job.count) return;
  const float w = job.in[0][i];
  if constexpr (kKind == KernelKind::kMomentum) {
    const float gradient = job.in[1][i] + job.weight_decay * w;
    const float velocity = job.momentum * job.in[2][i] + gradient;
    job.out[0][i] = w - job.learning_rate * velocity;
    job.out[1][i] = velocity;
  } else if constexpr (kKind == KernelKind::kRmsProp) {
    const float gradient = job.in[3][i];
    const float square = job.beta2 * job.in[1][i] + job.one_minus_beta2 * gradient * gradient;
    const float step = job.momentum * job.in[2][i] +
                       job.learning_rate * gradient / std::sqrt(square + job.epsilon);
    job.out[0][i] = w - step;
    job.out[1][i] = square;
    job.out[2][i] = step;
  } else if constexpr (kKind == KernelKind::kAdam) {
    const float gradient = job.in[1][i];
    const float m = job.beta1 * job.in[2][i] + job.one_minus_beta1 * gradient;
    const float v = job.beta2 * job.in[3][i] + job.one_minus_beta2 * gradient * gradient;
    job.out[0][i] = w * (1.0f - job.learning_rate * job.weight_decay) -
                    job.learning_rate * m / (std::sqrt(v) + job.epsilon);
    job.out[1][i] = m;
    job.out[2][i] = v;
  } else {
    job.out[0][i] = w - job.learning_rate * (job.in[1][i] + job.weight_decay * w);
  }
}

}  // namespace

OptimizerJob PlanOptimizer(const KernelCall& call) {
  const KernelParams& params = call.params;
  OptimizerJob job;
  job.kind = call.kind;
  job.learning_rate = static_cast<float>(params.learning_rate);
  job.momentum = static_cast<float>(params.momentum);
  job.beta1 = static_cast<float>(params.beta1);
  job.beta2 = static_cast<float>(params.beta2);
  job.one_minus_beta1 = static_cast<float>(1 - params.beta1);
  job.one_minus_beta2 = static_cast<float>(1 - params.beta2);
  job.epsilon = static_cast<float>(params.epsilon);
  job.weight_decay = static_cast<float>(params.weight_decay);
  job.count = call.inputs[0].view.num_elements();
  return job;
}

void LaunchOptimizer(const OptimizerJob& job, cudaStream_t stream) {
  if (job.count == 0) return;
  const auto launch = [&](const char* name, void (*kernel)(OptimizerJob)) {
    Launch(name, kernel, dim3(BlocksFor(job.count, kBlock)), dim3(kBlock), stream, job);
  };
  switch (job.kind) {
    case KernelKind::kMomentum:
      return launch("Momentum", OptimizerKernel<KernelKind::kMomentum>);
    case KernelKind::kRmsProp:
      return launch("RMSProp", OptimizerKernel<KernelKind::kRmsProp>);
    case KernelKind::kAdam:
      return launch("Adam", OptimizerKernel<KernelKind::kAdam>);
    case KernelKind::kGradientDescent:
      return launch("Gradient descent", OptimizerKernel<KernelKind::kGradientDescent>);
    default:
      EMPLACE_CHECK(false, "not an optimiser");
  }
}

}  // namespace emplace::cuda

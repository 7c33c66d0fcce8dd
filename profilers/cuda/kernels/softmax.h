#pragma once

// Softmax and the losses on top of it, row by row. All tensors row-major without holes.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// [rows, width]
struct RowsShape {
  std::int64_t rows = 0, width = 0;
};

/// y = softmax(x) or log softmax(x).
void LaunchSoftmax(const float* x,
                   float* y,
                   bool is_log,
                   const RowsShape& shape,
                   cudaStream_t stream);

/// Softmax: dx = y (dy - sum dy y); log softmax: dx = dy - exp(y) sum dy.
void LaunchSoftmaxBackward(const float* dy,
                           const float* y,
                           float* dx,
                           bool is_log,
                           const RowsShape& shape,
                           cudaStream_t stream);

/// loss [rows] = -log softmax(logits)[label], dlogits [rows, width] = softmax - one hot; each may
/// be null. Labels are taken modulo width.
void LaunchSparseCrossEntropy(const float* logits,
                              const void* labels,
                              DType label_dtype,
                              float* loss,
                              float* dlogits,
                              const RowsShape& shape,
                              cudaStream_t stream);

/// loss [] = -mean of x[label], total [] = rows; `total` may be null.
void LaunchNllLossForward(const float* x,
                          const void* labels,
                          DType label_dtype,
                          float* loss,
                          float* total,
                          const RowsShape& shape,
                          cudaStream_t stream);

/// dx [rows, width] = -dloss / total at the label, else 0.
void LaunchNllLossBackward(const float* dloss,
                           const void* labels,
                           DType label_dtype,
                           const float* total,
                           float* dx,
                           const RowsShape& shape,
                           cudaStream_t stream);

}  // namespace emplace::cuda

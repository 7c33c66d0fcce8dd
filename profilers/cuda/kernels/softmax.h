#pragma once

// Softmax and the losses based on it, row by row (KernelKind has the formulas). All tensors are
// row-major without holes.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

struct RowsShape {
  std::int64_t rows = 0, width = 0;
};

/// Computes y = softmax(x) or log softmax(x) of every row.
/// @param x, y  [rows, width]
void LaunchSoftmax(const float* x,
                   float* y,
                   bool is_log,
                   const RowsShape& shape,
                   cudaStream_t stream);

/// Computes for softmax dx = y (dy - sum dy y), for log softmax dx = dy - exp(y) sum dy. Sums are
/// over a row.
/// @param dy, y, dx  [rows, width]
void LaunchSoftmaxBackward(const float* dy,
                           const float* y,
                           float* dx,
                           bool is_log,
                           const RowsShape& shape,
                           cudaStream_t stream);

/// Computes loss [rows] = -log softmax(logits)[label] and dlogits [rows, width] = softmax - one
/// hot. Each of the two may be null. All labels in this file are taken modulo width.
/// @param logits  [rows, width]
/// @param labels  [rows], i32 or i64 by `label_dtype`
void LaunchSparseCrossEntropy(const float* logits,
                              const void* labels,
                              DType label_dtype,
                              float* loss,
                              float* dlogits,
                              const RowsShape& shape,
                              cudaStream_t stream);

/// Computes loss [] = -mean over the rows of x[label], total [] = rows.
/// @param x      [rows, width], log-probabilities
/// @param total  may be null
void LaunchNllLossForward(const float* x,
                          const void* labels,
                          DType label_dtype,
                          float* loss,
                          float* total,
                          const RowsShape& shape,
                          cudaStream_t stream);

/// Computes dx [rows, width] = -dloss / total at each row's label, else 0.
/// @param dloss, total  []
void LaunchNllLossBackward(const float* dloss,
                           const void* labels,
                           DType label_dtype,
                           const float* total,
                           float* dx,
                           const RowsShape& shape,
                           cudaStream_t stream);

}  // namespace emplace::cuda

#include "profilers/cuda/kernels/pool.h"

#include <algorithm>

#include "framework/base/error.h"
#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {
namespace {

void SetStrides(const TensorView& view, std::int64_t (&strides)[4]) {
  std::copy(view.strides.begin(), view.strides.end(), strides);
}

}  // namespace

PoolJob PlanPool(const KernelCall& call) {
  const Window& window = call.params.window;
  const bool is_forward =
      call.kind == KernelKind::kMaxPoolForward || call.kind == KernelKind::kAvgPoolForward;
  const TensorView& large = is_forward ? call.inputs[0].view : call.outputs[0].view;  // x, dx
  const TensorView& small = is_forward ? call.outputs[0].view : call.inputs[0].view;  // y, dy
  PoolJob job;
  job.n = static_cast<std::uint32_t>(large.shape[0]);
  job.c = static_cast<std::uint32_t>(large.shape[1]);
  job.h = static_cast<std::int32_t>(large.shape[2]);
  job.w = static_cast<std::int32_t>(large.shape[3]);
  job.count_include_pad = window.count_include_pad;
  for (int i = 0; i < 2; ++i) {
    job.size[i] = static_cast<std::int32_t>(window.size[i]);
    job.stride[i] = static_cast<std::int32_t>(window.stride[i]);
    job.pad[i] = static_cast<std::int32_t>(window.pad_begin[i]);
  }
  switch (call.kind) {
    case KernelKind::kMaxPoolForward:
    case KernelKind::kAvgPoolForward:
      SetStrides(large, job.x_strides);
      SetStrides(small, job.y_strides);
      if (call.outputs.size() > 1) {
        SetStrides(call.outputs[1].view, job.index_strides);
        job.index_dtype = call.outputs[1].view.dtype;
      }
      break;
    case KernelKind::kMaxPoolBackward:
      SetStrides(call.inputs[0].view, job.x_strides);
      SetStrides(call.inputs[1].view, job.y_strides);
      SetStrides(call.inputs[2].view, job.dy_strides);
      SetStrides(large, job.dx_strides);
      break;
    case KernelKind::kMaxPoolBackwardIndices:
      SetStrides(call.inputs[1].view, job.index_strides);
      job.index_dtype = call.inputs[1].view.dtype;
      [[fallthrough]];
    case KernelKind::kAvgPoolBackward:
      SetStrides(small, job.dy_strides);
      SetStrides(large, job.dx_strides);
      break;
    default:
      EMPLACE_CHECK(false, "not a pooling");
  }
  const TensorView& small_shape =
      call.kind == KernelKind::kMaxPoolBackward ? call.inputs[2].view : small;
  job.p = static_cast<std::int32_t>(small_shape.shape[2]);
  job.q = static_cast<std::int32_t>(small_shape.shape[3]);
  const TensorView& written = call.outputs[0].view;
  job.channels_last = written.shape[1] > 1 && written.strides[1] == 1;
  return job;
}

}  // namespace emplace::cuda

#include "profilers/cuda/kernels/copy.h"

namespace emplace::cuda {

CopyJob PlanCopy(const TensorView& destination, const TensorView& source) {
  const TensorView views[] = {destination, source};
  CopyJob job;
  job.element_bytes = static_cast<std::uint8_t>(SizeOf(source.dtype));
  job.dims = Collapse<2>(views, DimOrder::kMemory);
  const Strided<2>& dims = job.dims;
  const int last = dims.rank - 1;
  if (dims.rank == 0 || (dims.rank == 1 && dims.strides[0][0] == 1 && dims.strides[1][0] == 1)) {
    job.path = CopyPath::kFlat;
    return job;
  }
  // With less than a quarter of a tile, most threads would be idle.
  constexpr std::uint32_t kWorthwhile = kTile / 4;
  if (job.element_bytes == 4 && dims.strides[0][last] == 1 && dims.strides[1][last] != 1 &&
      dims.shape[last] >= kWorthwhile) {
    for (int d = 0; d < last; ++d) {
      if (dims.strides[1][d] == 1 && dims.shape[d] >= kWorthwhile) {
        job.path = CopyPath::kTiled;
        job.source_dim = static_cast<std::uint8_t>(d);
      }
    }
  }
  return job;
}

std::int64_t TilesOf(const CopyJob& job) {
  const Strided<2>& dims = job.dims;
  const std::int64_t across = (dims.shape[dims.rank - 1] + kTile - 1) / kTile;
  const std::int64_t down = (dims.shape[job.source_dim] + kTile - 1) / kTile;
  std::int64_t rest = 1;
  for (int d = 0; d < dims.rank - 1; ++d) {
    if (d != job.source_dim) rest *= dims.shape[d];
  }
  return across * down * rest;
}

}  // namespace emplace::cuda

// Gathers rows from a table, and adds rows to a table.

#include <algorithm>
#include <cstring>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

template <typename T>
std::unique_ptr<ViewKernel> MakeGatherOf(const KernelCall& call, int threads) {
  const TensorView &table = call.inputs[0].view, &y = call.outputs[0].view;
  const IndexReader index(call.inputs[1].view, table.shape[0]);
  const std::int64_t n = y.shape[0], width = y.shape[1];
  const std::int64_t table_stride = table.strides[0], y_stride = y.strides[0];
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    ParallelRanges(threads, n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(As<T>(out[0]) + i * y_stride,
                    As<T>(in[0]) + index(in[1], i) * table_stride,
                    width * sizeof(T));
    });
  });
}

// Each thread adds to its own columns, so additions are always in the order of the rows.
std::unique_ptr<ViewKernel> MakeDenseScatterAdd(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&HasDenseRows, &MakeDenseScatterAdd, call, threads)) return packed;
  const TensorView &rows = call.inputs[0].view, &table = call.outputs[0].view;
  const IndexReader index(call.inputs[1].view, table.shape[0]);
  const std::int64_t n = rows.shape[0], v = table.shape[0], width = table.shape[1];
  const std::int64_t row_stride = rows.strides[0], table_stride = table.strides[0];
  const float alpha = static_cast<float>(call.params.alpha);
  const bool zero = call.params.zero_output;
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const std::int64_t columns = threads <= 1 ? width : (width + threads - 1) / threads;
    ParallelPieces(threads, width, columns, [&](std::int64_t begin, std::int64_t end) {
      float* to = As<float>(out[0]);
      const float* from = As<float>(in[0]);
      if (zero)
        for (std::int64_t i = 0; i < v; ++i)
          std::fill(to + i * table_stride + begin, to + i * table_stride + end, 0.F);
      for (std::int64_t i = 0; i < n; ++i) {
        float* target = to + index(in[1], i) * table_stride;
        const float* row = from + i * row_stride;
#pragma omp simd
        for (std::int64_t j = begin; j < end; ++j) target[j] += alpha * row[j];
      }
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeGather(const KernelCall& call, int threads) {
  const TensorView &table = call.inputs[0].view, &y = call.outputs[0].view;
  if (!HasDenseRows(table) || !HasDenseRows(y))
    return PackUnless(&HasDenseRows, &MakeGather, call, threads);
  return OfSize(y.dtype, [&]<typename T>(T) { return MakeGatherOf<T>(call, threads); });
}

std::unique_ptr<ViewKernel> MakeScatterAdd(const KernelCall& call, int threads) {
  const TensorView& table = call.outputs[0].view;
  if (HasDenseRows(table) || call.params.zero_output) return MakeDenseScatterAdd(call, threads);

  // The columns of the table are not contiguous. Adds to a packed copy and writes that back.
  const TensorView packed = ContiguousView(DType::kF32, table.shape);
  KernelCall dense = call;
  dense.outputs[0].view = packed;
  KernelCall copy = PartCall(KernelKind::kCopy, {table}, {packed});
  std::shared_ptr<ViewKernel> load = MakeCopy(copy, threads);
  std::swap(copy.inputs[0].view, copy.outputs[0].view);
  std::shared_ptr<ViewKernel> store = MakeCopy(copy, threads);
  std::shared_ptr<ViewKernel> add = MakeDenseScatterAdd(dense, threads);
  const std::int64_t bytes = Aligned(packed.num_elements() * SizeOf(DType::kF32));
  return MakeKernel(
      [=](void* const* in, void* const* out, void* scratch) {
        void* rest = At(scratch, bytes);
        load->Run(out, &scratch, rest);
        add->Run(in, &scratch, rest);
        store->Run(&scratch, out, rest);
      },
      bytes + std::max({load->scratch_bytes(), add->scratch_bytes(), store->scratch_bytes()}));
}

}  // namespace emplace::cpu

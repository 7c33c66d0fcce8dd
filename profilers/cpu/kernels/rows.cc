#include "profilers/cpu/kernels/rows.h"

#include "profilers/cpu/kernels/loops.h"

namespace emplace::cpu {
namespace {

template <std::size_t kViews>
std::unique_ptr<ViewKernel> MakeRowsOf(const KernelCall& call, int threads, RowFunction function) {
  std::array<const TensorView*, kViews> views{&call.outputs[0].view};
  std::array<std::int64_t, kViews> bytes{SizeOf(call.outputs[0].view.dtype)};
  for (std::size_t v = 1; v < kViews; ++v) {
    views[v] = &call.inputs[v - 1].view;
    bytes[v] = SizeOf(views[v]->dtype);
  }
  const double alpha = call.params.alpha;
  return MakeKernel([loops = MergeLoops(views), bytes, alpha, threads, function](
                        void* const* in, void* const* out, void*) {
    ForEachRow<kViews>(loops, threads, [&](const auto& at, std::int64_t count) {
      Row row{At(out[0], at[0] * bytes[0]), loops.row_stride(0), {}, {}, count, alpha};
      for (std::size_t v = 1; v < kViews; ++v) {
        row.in[v - 1] = At(in[v - 1], at[v] * bytes[v]);
        row.stride[v - 1] = loops.row_stride(static_cast<int>(v));
      }
      function(row);
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeRows(const KernelCall& call, int threads, RowFunction function) {
  switch (call.inputs.size()) {
    case 1:
      return MakeRowsOf<2>(call, threads, function);
    case 2:
      return MakeRowsOf<3>(call, threads, function);
    default:
      return MakeRowsOf<4>(call, threads, function);
  }
}

}  // namespace emplace::cpu

// Copies between strided views, and fills. Copies between different innermost dimensions
// (transpositions) use oneDNN's blocked reorder. All others copy rows.

#include <cstring>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

template <typename T>
std::unique_ptr<ViewKernel> MakeRowCopy(Loops loops, int threads) {
  return MakeKernel([loops = std::move(loops), threads](void* const* in, void* const* out, void*) {
    const std::int64_t y_stride = loops.row_stride(0), x_stride = loops.row_stride(1);
    ForEachRow<2>(loops, threads, [&](const auto& at, std::int64_t count) {
      T* y = As<T>(out[0]) + at[0];
      const T* x = As<T>(in[0]) + at[1];
      if (y_stride == 1 && x_stride == 1) {
        std::memmove(y, x, count * sizeof(T));
      } else if (y_stride == 1 && x_stride == 0) {
        std::fill_n(y, count, *x);
      } else {
        for (std::int64_t i = 0; i < count; ++i) y[i * y_stride] = x[i * x_stride];
      }
    });
  });
}

bool HasUnitRow(const std::vector<std::int64_t>& strides) {
  return strides.back() == 1;
}

std::unique_ptr<ViewKernel> MakeOneCopy(const TensorView& x, const TensorView& y, int threads) {
  const TensorView* const views[] = {&y, &x};
  Loops loops = MergeLoops(views);
  const bool transposes = !HasUnitRow(loops.strides[0]) || !HasUnitRow(loops.strides[1]);
  if (transposes && SizeOf(x.dtype) == 4 && loops.num_elements() > 4096 && IsInjective(x)) {
    auto program = std::make_unique<OnednnProgram>();
    program->AppendReorder(OnednnDesc(loops.shape, loops.strides[1]),
                           {Place::kInput, 0},
                           OnednnDesc(loops.shape, loops.strides[0]),
                           {Place::kOutput, 0});
    return program;
  }
  return OfSize(x.dtype, [&]<typename T>(T) { return MakeRowCopy<T>(std::move(loops), threads); });
}

template <typename T>
std::unique_ptr<ViewKernel> MakeFillOf(const KernelCall& call, int threads) {
  const TensorView* const views[] = {&call.outputs[0].view};
  return MakeKernel([loops = MergeLoops(views), threads, value = static_cast<T>(call.params.alpha)](
                        void* const*, void* const* out, void*) {
    const std::int64_t stride = loops.row_stride(0);
    ForEachRow<1>(loops, threads, [&](const auto& at, std::int64_t count) {
      T* y = As<T>(out[0]) + at[0];
      if (stride == 1)
        std::fill_n(y, count, value);
      else
        for (std::int64_t i = 0; i < count; ++i) y[i * stride] = value;
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeCopy(const KernelCall& call, int threads) {
  std::vector<std::shared_ptr<ViewKernel>> copies;
  std::int64_t scratch_bytes = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    copies.push_back(MakeOneCopy(call.inputs[i].view, call.outputs[i].view, threads));
    scratch_bytes = std::max(scratch_bytes, copies.back()->scratch_bytes());
  }
  return MakeKernel(
      [copies = std::move(copies)](void* const* in, void* const* out, void* scratch) {
        for (std::size_t i = 0; i < copies.size(); ++i) copies[i]->Run(in + i, out + i, scratch);
      },
      scratch_bytes);
}

std::unique_ptr<ViewKernel> MakeFill(const KernelCall& call, int threads) {
  return OfType(call.outputs[0].view.dtype,
                [&]<typename T>(T) { return MakeFillOf<T>(call, threads); });
}

}  // namespace emplace::cpu

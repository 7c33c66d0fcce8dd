// C = A B + bias by oneDNN. Operands are read as they lie (transposed, batch broadcast) where one
// of the two inner dimensions is dense, else packed. A bias per column is fused; any other is added
// afterwards.

#include <algorithm>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

// [batch, rows, columns], one of the inner dimensions dense and the other without overlap.
bool IsMatrix(const TensorView& view) {
  if (view.shape.size() != 3) return true;  // refused later
  const auto rows = view.shape[1], columns = view.shape[2];
  const auto row_stride = view.strides[1], column_stride = view.strides[2];
  return ((columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns)) ||
         ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows));
}

// A batch of stride 0 is a batch of 1 to oneDNN, which broadcasts it.
dnnl::memory::desc MatrixDesc(const TensorView& view) {
  TensorView matrix = view;
  if (matrix.strides[0] == 0) matrix.shape[0] = 1;
  return OnednnDesc(matrix);
}

bool HasOwnBatch(const TensorView& view) {
  return view.shape[0] == 1 || view.strides[0] != 0;
}

bool IsPerColumn(const TensorView& bias) {
  return (bias.shape[0] == 1 || bias.strides[0] == 0) &&
         (bias.shape[1] == 1 || bias.strides[1] == 0) &&
         (bias.shape[2] == 1 || bias.strides[2] == 1);
}

std::unique_ptr<ViewKernel> MakeFusedMatmul(const KernelCall& call, int threads) {
  const TensorView &a = call.inputs[0].view, &b = call.inputs[1].view, &c = call.outputs[0].view;
  const bool has_bias = call.inputs.size() == 3;
  if (auto packed = PackUnless(&IsMatrix, &MakeFusedMatmul, call, threads)) return packed;
  if (c.shape[0] > 1 && !HasOwnBatch(a) && !HasOwnBatch(b))  // oneDNN broadcasts one of them only
    return PackUnless(&HasOwnBatch, &MakeFusedMatmul, call, threads);

  auto program = std::make_unique<OnednnProgram>();
  const auto a_desc = MatrixDesc(a), b_desc = MatrixDesc(b), c_desc = OnednnDesc(c);
  dnnl::memory::desc bias_desc;
  if (has_bias) bias_desc = OnednnDesc({1, 1, c.shape[2]}, {c.shape[2], c.shape[2], 1});
  const auto operation = has_bias ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                  : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  const dnnl::matmul::primitive_desc desc(operation, OnednnAttributes(), OnednnEngine());
  OnednnProgram::Bindings bindings{{DNNL_ARG_SRC, {a_desc, {Place::kInput, 0}}},
                                   {DNNL_ARG_WEIGHTS, {b_desc, {Place::kInput, 1}}},
                                   {DNNL_ARG_DST, {c_desc, {Place::kOutput, 0}}}};
  if (has_bias) bindings.push_back({DNNL_ARG_BIAS, {bias_desc, {Place::kInput, 2}}});
  program->Append(dnnl::matmul(desc), desc, bindings);
  return program;
}

}  // namespace

std::unique_ptr<ViewKernel> MakeMatmul(const KernelCall& call, int threads) {
  RequireF32(call);
  const TensorView &a = call.inputs[0].view, &b = call.inputs[1].view, &c = call.outputs[0].view;
  Require(call,
          a.shape.size() == 3 && b.shape.size() == 3 && c.shape.size() == 3 &&
              a.shape[0] == c.shape[0] && b.shape[0] == c.shape[0] && a.shape[1] == c.shape[1] &&
              a.shape[2] == b.shape[1] && b.shape[2] == c.shape[2],
          "expected [b, m, k] [b, k, n] -> [b, m, n]");
  if (c.num_elements() == 0) return MakeKernel([](auto, auto, auto) {});
  if (a.shape[2] == 0) Refuse(call, "k is 0");
  if (call.inputs.size() == 2) return MakeFusedMatmul(call, threads);
  RequireSameShape(call, call.inputs[2].view, c);
  if (IsPerColumn(call.inputs[2].view)) {
    // As [1, 1, n] in all but the shape: PackUnless must not expand it.
    KernelCall narrow = call;
    narrow.inputs[2].view = ContiguousView(DType::kF32, {1, 1, c.shape[2]});
    return MakeFusedMatmul(narrow, threads);
  }

  // The product into scratch, then the sum of both.
  KernelCall product = call;
  product.inputs.pop_back();
  const TensorView packed = ContiguousView(DType::kF32, c.shape);
  product.outputs[0].view = packed;
  const KernelCall sum =
      PartCall(KernelKind::kElementwise, {packed, call.inputs[2].view}, {c}, Function::kAdd);
  std::shared_ptr<ViewKernel> multiply = MakeFusedMatmul(product, threads);
  std::shared_ptr<ViewKernel> add = MakeElementwise(sum, threads);
  const std::int64_t bytes = Aligned(packed.num_elements() * SizeOf(DType::kF32));
  return MakeKernel(
      [=](void* const* in, void* const* out, void* scratch) {
        multiply->Run(in, &scratch, At(scratch, bytes));
        void* const summands[] = {scratch, in[2]};
        add->Run(summands, out, At(scratch, bytes));
      },
      bytes + std::max(multiply->scratch_bytes(), add->scratch_bytes()));
}

}  // namespace emplace::cpu

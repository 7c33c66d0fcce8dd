// C = A B + bias by oneDNN. Operands are read in place (transposed, batch broadcast) if one of the
// two inner dimensions is dense, else packed. The bias is fused.

#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

// [batch, rows, columns], one of the inner dimensions dense and the other without overlap.
bool IsMatrix(const TensorView& view) {
  const auto rows = view.shape[1], columns = view.shape[2];
  const auto row_stride = view.strides[1], column_stride = view.strides[2];
  return ((columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns)) ||
         ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows));
}

// oneDNN broadcasts a batch of 1, so a batch of stride 0 becomes a batch of 1.
dnnl::memory::desc MatrixDesc(const TensorView& view) {
  TensorView matrix = view;
  if (matrix.strides[0] == 0) matrix.shape[0] = 1;
  return OnednnDesc(matrix);
}

bool HasOwnBatch(const TensorView& view) {
  return view.shape[0] == 1 || view.strides[0] != 0;
}

std::unique_ptr<ViewKernel> MakeFusedMatmul(const KernelCall& call, int threads) {
  const TensorView &a = call.inputs[0].view, &b = call.inputs[1].view, &c = call.outputs[0].view;
  const bool has_bias = call.inputs.size() == 3;
  if (auto packed = PackUnless(&IsMatrix, &MakeFusedMatmul, call, threads)) return packed;
  if (c.shape[0] > 1 && !HasOwnBatch(a) && !HasOwnBatch(b))  // oneDNN broadcasts only one of them
    return PackUnless(&HasOwnBatch, &MakeFusedMatmul, call, threads);

  const auto a_desc = MatrixDesc(a), b_desc = MatrixDesc(b), c_desc = OnednnDesc(c);
  dnnl::memory::desc bias_desc;
  if (has_bias) bias_desc = OnednnDesc({1, 1, c.shape[2]}, {c.shape[2], c.shape[2], 1});
  const auto operation = has_bias ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                  : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  const dnnl::matmul::primitive_desc desc(operation, OnednnAttributes(), OnednnEngine());
  std::vector<Operand> inputs{{DNNL_ARG_SRC, a_desc, {Place::kInput, 0}},
                              {DNNL_ARG_WEIGHTS, b_desc, {Place::kInput, 1}}};
  if (has_bias) inputs.push_back({DNNL_ARG_BIAS, bias_desc, {Place::kInput, 2}});
  return MakeOnednn<dnnl::matmul>(desc, inputs, {{DNNL_ARG_DST, c_desc, {Place::kOutput, 0}}});
}

}  // namespace

std::unique_ptr<ViewKernel> MakeMatmul(const KernelCall& call, int threads) {
  if (call.inputs.size() == 2) return MakeFusedMatmul(call, threads);
  // The bias as [1, 1, n], because PackUnless must not expand it to the shape of C.
  KernelCall narrow = call;
  TensorView& bias = narrow.inputs[2].view;
  bias.shape[0] = bias.shape[1] = 1;
  if (bias.is_contiguous()) return MakeFusedMatmul(narrow, threads);
  return PackUnless(&IsContiguous, &MakeFusedMatmul, narrow, threads);
}

}  // namespace emplace::cpu

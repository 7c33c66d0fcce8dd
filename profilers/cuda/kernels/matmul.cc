#include <utility>
#include <vector>

#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/kernels/arguments.h"
#include "profilers/cuda/kernels/fill.h"
#include "profilers/cuda/kernels/gemm_layout.h"
#include "profilers/cuda/kernels/library_check.h"
#include "profilers/cuda/kernels/library_kernels.h"

namespace emplace::cuda {
namespace {

constexpr std::size_t kMaxMatmulWorkspace = std::size_t{32} << 20;

using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class T>
void Set(const Description& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  EMPLACE_CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value));
}

template <class T>
void Set(const Matrix& matrix, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  EMPLACE_CUBLAS_CHECK(
      cublasLtMatrixLayoutSetAttribute(matrix.get(), attribute, &value, sizeof value));
}

template <class T>
void Set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  EMPLACE_CUBLAS_CHECK(
      cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
}

Description MakeDescription(const GemmLayout& layout, int sm_count) {
  cublasLtMatmulDesc_t raw = nullptr;
  EMPLACE_CUBLAS_CHECK(cublasLtMatmulDescCreate(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Description description(raw);
  const auto operation = [](const GemmOperand& operand) -> std::int32_t {
    return operand.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  Set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(layout.left));
  Set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(layout.right));
  if (sm_count > 0) {
    Set(description, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(sm_count));
  }
  return description;
}

Matrix MakeMatrix(const GemmOperand& operand, std::int64_t batch) {
  cublasLtMatrixLayout_t raw = nullptr;
  EMPLACE_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&raw,
                                                  CUDA_R_32F,
                                                  static_cast<std::uint64_t>(operand.rows),
                                                  static_cast<std::uint64_t>(operand.columns),
                                                  operand.leading));
  Matrix matrix(raw);
  Set(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  Set(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.batch_stride);
  return matrix;
}

// A matmul of depth 0: C = bias or 0.
class EmptyMatmulKernel final : public CudaKernel {
 public:
  explicit EmptyMatmulKernel(const KernelCall& call) : call_(call) {
    const TensorView& result = call.outputs[0].view;
    zero_ = PlanFill(0, result);
    if (call.inputs.size() > 2) bias_ = PlanCopy(result, call.inputs[2].view);
  }
  void Launch(void* const* inputs,
              void* const* outputs,
              void* scratch,
              cudaStream_t stream) override {
    const LaunchContext context{inputs, outputs, scratch, stream};
    if (call_.inputs.size() > 2) {
      bias_.destination = context.Pointer(call_.outputs[0]);
      bias_.source = context.Pointer(call_.inputs[2]);
      LaunchCopies({&bias_, 1}, stream);
    } else {
      zero_.output = context.Pointer(call_.outputs[0]);
      LaunchFill(zero_, stream);
    }
  }

 private:
  KernelCall call_;
  FillJob zero_;
  CopyJob bias_;
};

class MatmulKernel final : public CudaKernel {
 public:
  MatmulKernel(const KernelCall& call, std::shared_ptr<LibraryHandles> handles)
      : call_(call),
        handles_(std::move(handles)),
        layout_(PlanGemm(call.inputs[0].view,
                         call.inputs[1].view,
                         call.outputs[0].view,
                         call.inputs.size() > 2 ? &call.inputs[2].view : nullptr)),
        a_(LayOut(call.inputs[0], layout_.copies_a)),
        b_(LayOut(call.inputs[1], layout_.copies_b)),
        c_(LayOut(call.outputs[0], layout_.copies_c)),
        description_(MakeDescription(layout_, handles_->sm_count())),
        left_(MakeMatrix(layout_.left, layout_.batch)),
        right_(MakeMatrix(layout_.right, layout_.batch)),
        result_(MakeMatrix(layout_.result, layout_.batch)) {
    if (layout_.bias == GemmBias::kRows) {
      Set(description_,
          CUBLASLT_MATMUL_DESC_EPILOGUE,
          static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS));
      // The heuristics read the alignment from the address.
      Set(description_,
          CUBLASLT_MATMUL_DESC_BIAS_POINTER,
          reinterpret_cast<const void*>(AlignmentOf(call.inputs[2].view)));
      if (!FindAlgorithm()) {
        layout_.bias = GemmBias::kFull;
        Set(description_,
            CUBLASLT_MATMUL_DESC_EPILOGUE,
            static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_DEFAULT));
        Set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(nullptr));
      }
    }
    if (layout_.bias != GemmBias::kRows && !FindAlgorithm()) {
      throw RunError("cuBLASLt knows no algorithm for it");
    }
    workspace_ = scratch_.Take(static_cast<std::int64_t>(workspace_bytes_));
    if (layout_.bias == GemmBias::kFull) {
      const TensorView result =
          layout_.copies_c ? ContiguousView(call.outputs[0].view.dtype, call.outputs[0].view.shape)
                           : call.outputs[0].view;
      bias_ = PlanCopy(result, call.inputs[2].view);
    }
  }

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void Launch(void* const* inputs,
              void* const* outputs,
              void* scratch,
              cudaStream_t stream) override {
    const LaunchContext context{inputs, outputs, scratch, stream};
    void* result = c_.Pointer(context);
    int num_copies = 0;
    CopyJob copies[3];
    if (a_.is_copied()) copies[num_copies++] = a_.CopyIn(context);
    if (b_.is_copied()) copies[num_copies++] = b_.CopyIn(context);
    if (layout_.bias == GemmBias::kFull) {
      CopyJob& bias = copies[num_copies++] = bias_;
      bias.destination = result;
      bias.source = context.Pointer(call_.inputs[2]);
    }
    LaunchCopies({copies, static_cast<std::size_t>(num_copies)}, stream);
    if (layout_.bias == GemmBias::kRows) {
      Set(description_,
          CUBLASLT_MATMUL_DESC_BIAS_POINTER,
          static_cast<const void*>(context.Pointer(call_.inputs[2])));
    }
    const void* left = (layout_.is_swapped ? b_ : a_).Pointer(context);
    const void* right = (layout_.is_swapped ? a_ : b_).Pointer(context);
    const float alpha = 1, beta = layout_.bias == GemmBias::kFull ? 1 : 0;
    EMPLACE_CUBLAS_CHECK(cublasLtMatmul(handles_->cublas(),
                                        description_.get(),
                                        &alpha,
                                        left,
                                        left_.get(),
                                        right,
                                        right_.get(),
                                        &beta,
                                        result,
                                        result_.get(),
                                        result,
                                        result_.get(),
                                        &algorithm_,
                                        context.Scratch(workspace_),
                                        workspace_bytes_,
                                        stream));
    if (c_.is_copied()) {
      const CopyJob out = c_.CopyOut(context);
      LaunchCopies({&out, 1}, stream);
    }
  }

 private:
  LaidOutArgument LayOut(const Argument& argument, bool copies) {
    if (copies) return LaidOutArgument(argument, scratch_);
    TensorView as_it_is = argument.view;
    as_it_is.offset = 0;
    return LaidOutArgument(argument, as_it_is, scratch_);
  }

  // Finds the best algorithm for the current description. Returns false if there is none.
  bool FindAlgorithm() {
    cublasLtMatmulPreference_t raw = nullptr;
    EMPLACE_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&raw));
    Preference preference(raw);
    const auto alignment = [](const LaidOutArgument& argument, const Argument& original) {
      return static_cast<std::uint32_t>(argument.is_copied() ? 256 : AlignmentOf(original.view));
    };
    const std::uint32_t a = alignment(a_, call_.inputs[0]), b = alignment(b_, call_.inputs[1]);
    const std::uint32_t c = alignment(c_, call_.outputs[0]);
    Set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kMaxMatmulWorkspace});
    Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, layout_.is_swapped ? b : a);
    Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, layout_.is_swapped ? a : b);
    Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
    Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
    cublasLtMatmulHeuristicResult_t results[8];
    int num_results = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handles_->cublas(),
                                                                 description_.get(),
                                                                 left_.get(),
                                                                 right_.get(),
                                                                 result_.get(),
                                                                 result_.get(),
                                                                 preference.get(),
                                                                 8,
                                                                 results,
                                                                 &num_results);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    EMPLACE_CUBLAS_CHECK(status);
    for (int i = 0; i < num_results; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS &&
          results[i].workspaceSize <= kMaxMatmulWorkspace) {
        algorithm_ = results[i].algo;
        workspace_bytes_ = results[i].workspaceSize;
        return true;
      }
    }
    return false;
  }

  KernelCall call_;
  std::shared_ptr<LibraryHandles> handles_;
  ScratchLayout scratch_;
  GemmLayout layout_;
  LaidOutArgument a_, b_, c_;
  Description description_;
  Matrix left_, right_, result_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
  std::int64_t workspace_ = 0;
  CopyJob bias_;
};

}  // namespace

std::unique_ptr<CudaKernel> PrepareMatmul(const KernelCall& call,
                                          std::shared_ptr<LibraryHandles> handles) {
  const TensorView* bias = call.inputs.size() > 2 ? &call.inputs[2].view : nullptr;
  const GemmLayout layout =
      PlanGemm(call.inputs[0].view, call.inputs[1].view, call.outputs[0].view, bias);
  if (layout.depth == 0 || call.outputs[0].view.num_elements() == 0) {
    return std::make_unique<EmptyMatmulKernel>(call);
  }
  return std::make_unique<MatmulKernel>(call, std::move(handles));
}

}  // namespace emplace::cuda

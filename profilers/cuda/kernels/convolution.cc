#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/kernels/arguments.h"
#include "profilers/cuda/kernels/conv_layout.h"
#include "profilers/cuda/kernels/elementwise.h"
#include "profilers/cuda/kernels/fill.h"
#include "profilers/cuda/kernels/library_check.h"
#include "profilers/cuda/kernels/library_kernels.h"
#include "profilers/cuda/kernels/trial.h"

namespace emplace::cuda {
namespace {

constexpr std::size_t kMaxConvWorkspace = std::size_t{256} << 20;
constexpr std::int64_t kAlignment = 16;  // required by cuDNN's vector loads [B]

using Tensor = Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using Convolution = Owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

cudnnTensorFormat_t FormatOf(const ConvLayout& layout) {
  return layout.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

Tensor MakeTensor(const ConvLayout& layout, const std::vector<std::int64_t>& shape) {
  cudnnTensorDescriptor_t raw = nullptr;
  EMPLACE_CUDNN_CHECK(cudnnCreateTensorDescriptor(&raw));
  Tensor tensor(raw);
  EMPLACE_CUDNN_CHECK(cudnnSetTensor4dDescriptor(raw,
                                                 FormatOf(layout),
                                                 CUDNN_DATA_FLOAT,
                                                 static_cast<int>(shape[0]),
                                                 static_cast<int>(shape[1]),
                                                 static_cast<int>(shape[2]),
                                                 static_cast<int>(shape[3])));
  return tensor;
}

Filter MakeFilter(const ConvLayout& layout) {
  cudnnFilterDescriptor_t raw = nullptr;
  EMPLACE_CUDNN_CHECK(cudnnCreateFilterDescriptor(&raw));
  Filter filter(raw);
  const std::vector<std::int64_t>& shape = layout.w.shape;
  EMPLACE_CUDNN_CHECK(cudnnSetFilter4dDescriptor(raw,
                                                 CUDNN_DATA_FLOAT,
                                                 FormatOf(layout),
                                                 static_cast<int>(shape[0]),
                                                 static_cast<int>(shape[1]),
                                                 static_cast<int>(shape[2]),
                                                 static_cast<int>(shape[3])));
  return filter;
}

Convolution MakeConvolution(const ConvLayout& layout) {
  cudnnConvolutionDescriptor_t raw = nullptr;
  EMPLACE_CUDNN_CHECK(cudnnCreateConvolutionDescriptor(&raw));
  Convolution convolution(raw);
  EMPLACE_CUDNN_CHECK(cudnnSetConvolution2dDescriptor(raw,
                                                      static_cast<int>(layout.pad[0]),
                                                      static_cast<int>(layout.pad[1]),
                                                      static_cast<int>(layout.stride[0]),
                                                      static_cast<int>(layout.stride[1]),
                                                      static_cast<int>(layout.dilation[0]),
                                                      static_cast<int>(layout.dilation[1]),
                                                      CUDNN_CROSS_CORRELATION,
                                                      CUDNN_DATA_FLOAT));
  EMPLACE_CUDNN_CHECK(cudnnSetConvolutionGroupCount(raw, static_cast<int>(layout.groups)));
  EMPLACE_CUDNN_CHECK(cudnnSetConvolutionMathType(raw, CUDNN_FMA_MATH));  // no TF32
  return convolution;
}

// A convolution in one layout, before an algorithm is chosen.
class ConvolutionKernel final : public CudaKernel {
 public:
  ConvolutionKernel(const KernelCall& call,
                    std::shared_ptr<LibraryHandles> handles,
                    bool channels_last)
      : call_(call),
        roles_(RolesOf(call_)),
        handles_(std::move(handles)),
        layout_(PlanConvolution(roles_.x.view,
                                roles_.w.view,
                                roles_.y.view,
                                call.params,
                                channels_last)),
        w_(roles_.w, layout_.w, scratch_, kAlignment),
        y_(roles_.y, layout_.y, scratch_, kAlignment),
        x_tensor_(MakeTensor(layout_, layout_.x.shape)),
        y_tensor_(MakeTensor(layout_, layout_.y.shape)),
        filter_(MakeFilter(layout_)),
        convolution_(MakeConvolution(layout_)) {
    if (layout_.pads_x) {
      padded_x_ = scratch_.Take(layout_.x.num_elements() * SizeOf(DType::kF32));
      into_padded_ = PlanCopy(layout_.x_common_inner, layout_.x_common_outer);
      out_of_padded_ = PlanCopy(layout_.x_common_outer, layout_.x_common_inner);
      zero_padded_ = PlanFill(0, layout_.x);
      zero_x_ = PlanFill(0, roles_.x.view);
    } else {
      x_.emplace(roles_.x, layout_.x, scratch_, kAlignment);
    }
    if (call_.kind == KernelKind::kConvForward && call_.inputs.size() > 2) {
      const TensorView& bias = call_.inputs[2].view;
      TensorView broadcast = roles_.y.view;
      broadcast.strides = {0, bias.strides[0], 0, 0};
      const TensorView inputs[] = {roles_.y.view, broadcast};
      bias_ = PlanElementwise(Function::kAdd, 0, roles_.y.view, inputs);
    }
    without_workspace_ = scratch_;
  }

  // Returns cuDNN's proposals, best first, with deterministic ones before the others. If it refuses
  // to propose any, adds its reason to `refusals`.
  std::vector<int> Algorithms(std::string& refusals) {
    switch (call_.kind) {
      case KernelKind::kConvForward:
        return Propose<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT>(
            refusals,
            cudnnGetConvolutionForwardAlgorithm_v7,
            x_tensor_.get(),
            filter_.get(),
            convolution_.get(),
            y_tensor_.get());
      case KernelKind::kConvBackwardData:
        return Propose<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT>(
            refusals,
            cudnnGetConvolutionBackwardDataAlgorithm_v7,
            filter_.get(),
            y_tensor_.get(),
            convolution_.get(),
            x_tensor_.get());
      default:
        return Propose<cudnnConvolutionBwdFilterAlgoPerf_t,
                       CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT>(
            refusals,
            cudnnGetConvolutionBackwardFilterAlgorithm_v7,
            x_tensor_.get(),
            y_tensor_.get(),
            convolution_.get(),
            filter_.get());
    }
  }

  // Returns false if cuDNN refuses the algorithm or it needs too much workspace.
  bool Choose(int algorithm) {
    algorithm_ = algorithm;
    workspace_bytes_ = 0;
    if (WorkspaceSize(&workspace_bytes_) != CUDNN_STATUS_SUCCESS) return false;
    if (workspace_bytes_ > kMaxConvWorkspace) return false;
    scratch_ = without_workspace_;
    workspace_ = scratch_.Take(static_cast<std::int64_t>(workspace_bytes_));
    return true;
  }

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void Launch(void* const* inputs,
              void* const* outputs,
              void* scratch,
              cudaStream_t stream) override {
    const LaunchContext context{inputs, outputs, scratch, stream};
    const bool writes_x = call_.kind == KernelKind::kConvBackwardData;
    const bool writes_w = call_.kind == KernelKind::kConvBackwardFilter;
    const bool writes_y = call_.kind == KernelKind::kConvForward;
    void* x = x_ ? x_->Pointer(context) : context.Scratch(padded_x_);
    void* w = w_.Pointer(context);
    void* y = y_.Pointer(context);

    int num_copies = 0;
    CopyJob copies[3];
    if (!writes_w && w_.is_copied()) copies[num_copies++] = w_.CopyIn(context);
    if (!writes_y && y_.is_copied()) copies[num_copies++] = y_.CopyIn(context);
    if (!writes_x) {
      if (!x_) {
        FillJob zero = zero_padded_;
        zero.output = x;
        LaunchFill(zero, stream);
        copies[num_copies++] = Common(into_padded_, context, /*into_padded=*/true);
      } else if (x_->is_copied()) {
        copies[num_copies++] = x_->CopyIn(context);
      }
    }
    LaunchCopies({copies, static_cast<std::size_t>(num_copies)}, stream);

    Convolve(handles_->cudnn(stream), x, w, y, context.Scratch(workspace_));

    num_copies = 0;
    if (writes_w && w_.is_copied()) copies[num_copies++] = w_.CopyOut(context);
    if (writes_y && y_.is_copied()) copies[num_copies++] = y_.CopyOut(context);
    if (writes_x) {
      if (!x_) {
        if (layout_.x_common_outer.shape != roles_.x.view.shape) {
          FillJob zero = zero_x_;
          zero.output = context.Pointer(roles_.x);
          LaunchFill(zero, stream);
        }
        copies[num_copies++] = Common(out_of_padded_, context, /*into_padded=*/false);
      } else if (x_->is_copied()) {
        copies[num_copies++] = x_->CopyOut(context);
      }
    }
    LaunchCopies({copies, static_cast<std::size_t>(num_copies)}, stream);
    if (bias_) {
      ElementwiseJob bias = *bias_;
      bias.output = context.Pointer(roles_.y);
      bias.inputs[0] = bias.output;
      bias.inputs[1] = context.Pointer(call_.inputs[2]);
      LaunchElementwise(bias, stream);
    }
  }

 private:
  // Returns the copy of the common part between x and its padded copy, in either direction.
  CopyJob Common(CopyJob job, const LaunchContext& context, bool into_padded) const {
    char* padded = static_cast<char*>(context.Scratch(padded_x_)) +
                   layout_.x_common_inner.offset * SizeOf(DType::kF32);
    void* x = context.Pointer(roles_.x);
    job.destination = into_padded ? padded : x;
    job.source = into_padded ? x : padded;
    return job;
  }

  template <class Perf, int kCount, class Get, class A, class B, class C, class D>
  std::vector<int> Propose(std::string& refusals, Get get, A a, B b, C c, D d) {
    Perf proposals[kCount];
    int found = 0;
    const cudnnStatus_t status =
        get(handles_->cudnn(nullptr), a, b, c, d, kCount, &found, proposals);
    if (status != CUDNN_STATUS_SUCCESS) {
      refusals += std::string("; ") + cudnnGetErrorString(status) + " " + internal::CudnnText();
      return {};
    }
    std::stable_sort(proposals, proposals + found, [](const Perf& left, const Perf& right) {
      return left.determinism == CUDNN_DETERMINISTIC && right.determinism != CUDNN_DETERMINISTIC;
    });
    std::vector<int> algorithms;
    for (int i = 0; i < found; ++i) {
      const int algorithm = static_cast<int>(proposals[i].algo);
      // cuDNN lists an algorithm once per math type. The math type is fixed here, so one entry is
      // enough.
      if (proposals[i].status == CUDNN_STATUS_SUCCESS &&
          std::ranges::count(algorithms, algorithm) == 0) {
        algorithms.push_back(algorithm);
      }
    }
    return algorithms;
  }

  cudnnStatus_t WorkspaceSize(std::size_t* bytes) {
    cudnnHandle_t cudnn = handles_->cudnn(nullptr);
    switch (call_.kind) {
      case KernelKind::kConvForward:
        return cudnnGetConvolutionForwardWorkspaceSize(
            cudnn,
            x_tensor_.get(),
            filter_.get(),
            convolution_.get(),
            y_tensor_.get(),
            static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_),
            bytes);
      case KernelKind::kConvBackwardData:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            cudnn,
            filter_.get(),
            y_tensor_.get(),
            convolution_.get(),
            x_tensor_.get(),
            static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
            bytes);
      default:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            cudnn,
            x_tensor_.get(),
            y_tensor_.get(),
            convolution_.get(),
            filter_.get(),
            static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
            bytes);
    }
  }

  void Convolve(cudnnHandle_t cudnn, void* x, void* w, void* y, void* workspace) {
    const float one = 1, zero = 0;
    switch (call_.kind) {
      case KernelKind::kConvForward:
        EMPLACE_CUDNN_CHECK(
            cudnnConvolutionForward(cudnn,
                                    &one,
                                    x_tensor_.get(),
                                    x,
                                    filter_.get(),
                                    w,
                                    convolution_.get(),
                                    static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_),
                                    workspace,
                                    workspace_bytes_,
                                    &zero,
                                    y_tensor_.get(),
                                    y));
        break;
      case KernelKind::kConvBackwardData:
        EMPLACE_CUDNN_CHECK(
            cudnnConvolutionBackwardData(cudnn,
                                         &one,
                                         filter_.get(),
                                         w,
                                         y_tensor_.get(),
                                         y,
                                         convolution_.get(),
                                         static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                                         workspace,
                                         workspace_bytes_,
                                         &zero,
                                         x_tensor_.get(),
                                         x));
        break;
      default:
        EMPLACE_CUDNN_CHECK(
            cudnnConvolutionBackwardFilter(cudnn,
                                           &one,
                                           x_tensor_.get(),
                                           x,
                                           y_tensor_.get(),
                                           y,
                                           convolution_.get(),
                                           static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                                           workspace,
                                           workspace_bytes_,
                                           &zero,
                                           filter_.get(),
                                           w));
    }
  }

  KernelCall call_;
  ConvolutionRoles roles_;  // into call_
  std::shared_ptr<LibraryHandles> handles_;
  ScratchLayout scratch_, without_workspace_;
  ConvLayout layout_;
  LaidOutArgument w_, y_;
  std::optional<LaidOutArgument> x_;  // unless padded
  std::int64_t padded_x_ = 0;
  CopyJob into_padded_, out_of_padded_;
  FillJob zero_padded_, zero_x_;
  std::optional<ElementwiseJob> bias_;
  Tensor x_tensor_, y_tensor_;
  Filter filter_;
  Convolution convolution_;
  int algorithm_ = 0;
  std::size_t workspace_bytes_ = 0;
  std::int64_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<CudaKernel> PrepareConvolution(const KernelCall& call,
                                               std::shared_ptr<LibraryHandles> handles) {
  const ConvolutionRoles roles = RolesOf(call);
  const bool preferred = PrefersChannelsLast(roles.x.view, roles.y.view);
  std::string refusals;
  for (const bool channels_last : {preferred, !preferred}) {
    auto kernel = std::make_unique<ConvolutionKernel>(call, handles, channels_last);
    for (const int algorithm : kernel->Algorithms(refusals)) {
      if (!kernel->Choose(algorithm)) continue;
      const std::string refusal = TryLaunch(call, *kernel);
      if (refusal.empty()) return kernel;
      refusals += "; " + refusal;
    }
  }
  throw RunError("cuDNN has no algorithm for it" + refusals);
}

}  // namespace emplace::cuda

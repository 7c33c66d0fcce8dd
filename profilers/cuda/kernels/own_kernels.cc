#include "profilers/cuda/kernels/own_kernels.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "framework/base/error.h"
#include "profilers/cuda/kernels/arguments.h"
#include "profilers/cuda/kernels/batch_norm.h"
#include "profilers/cuda/kernels/elementwise.h"
#include "profilers/cuda/kernels/fill.h"
#include "profilers/cuda/kernels/indexing.h"
#include "profilers/cuda/kernels/layer_norm.h"
#include "profilers/cuda/kernels/optimizer.h"
#include "profilers/cuda/kernels/pool.h"
#include "profilers/cuda/kernels/proxy.h"
#include "profilers/cuda/kernels/reduce.h"
#include "profilers/cuda/kernels/sequences.h"
#include "profilers/cuda/kernels/softmax.h"

namespace emplace::cuda {
namespace {

// A kernel that is one function, which owns all its data.
class FunctionKernel final : public CudaKernel {
 public:
  using Function = std::function<void(const LaunchContext&)>;
  FunctionKernel(const ScratchLayout& scratch, Function launch)
      : scratch_bytes_(scratch.bytes()), launch_(std::move(launch)) {}

  std::int64_t scratch_bytes() const override { return scratch_bytes_; }
  void Launch(void* const* inputs,
              void* const* outputs,
              void* scratch,
              cudaStream_t stream) override {
    launch_({inputs, outputs, scratch, stream});
  }

 private:
  std::int64_t scratch_bytes_;
  Function launch_;
};

using Kernel = std::unique_ptr<CudaKernel>;

Kernel Make(const ScratchLayout& scratch, FunctionKernel::Function launch) {
  return std::make_unique<FunctionKernel>(scratch, std::move(launch));
}

// One launch of a kernel whose arguments are row-major (DenseArguments).
struct DenseLaunch {
  const DenseArguments& arguments;
  const LaunchContext& context;
  void* scratch;
  cudaStream_t stream;

  template <class T = float>
  T* in(int i) const {
    return arguments.in<T>(context, i);
  }
  template <class T = float>
  T* out(int i) const {
    return arguments.out<T>(context, i);
  }
};

// Makes a kernel that calls launch(DenseLaunch) between the copies of its arguments.
// @param scratch_bytes  for `launch` itself [B]
template <class Launch>
Kernel MakeDense(const KernelCall& call,
                 Launch launch,
                 std::int64_t scratch_bytes = 0,
                 const DenseArguments::Options& options = {}) {
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch, options);
  const std::int64_t own = scratch.Take(scratch_bytes);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    launch(DenseLaunch{arguments, context, context.Scratch(own), context.stream});
    arguments.CopyOut(context);
  });
}

std::vector<TensorView> ViewsOf(const std::vector<Argument>& arguments) {
  std::vector<TensorView> views;
  for (const Argument& argument : arguments) views.push_back(argument.view);
  return views;
}

Kernel PrepareElementwise(const KernelCall& call) {
  const Function function = call.params.function;
  // A sum may have more inputs than one launch accepts. Each further launch adds some to the
  // output.
  struct Part {
    ElementwiseJob job;
    std::vector<Argument> inputs;
  };
  std::vector<Part> parts;
  for (std::size_t next = 0; next < call.inputs.size();) {
    Part part;
    if (next > 0) part.inputs.push_back(call.outputs[0]);
    while (next < call.inputs.size() && part.inputs.size() < kMaxElementwiseInputs) {
      part.inputs.push_back(call.inputs[next++]);
    }
    part.job =
        PlanElementwise(function, call.params.alpha, call.outputs[0].view, ViewsOf(part.inputs));
    parts.push_back(std::move(part));
  }
  return Make({}, [parts, output = call.outputs[0]](const LaunchContext& context) {
    for (const Part& part : parts) {
      ElementwiseJob job = part.job;
      job.output = context.Pointer(output);
      for (std::size_t i = 0; i < part.inputs.size(); ++i) {
        job.inputs[i] = context.Pointer(part.inputs[i]);
      }
      LaunchElementwise(job, context.stream);
    }
  });
}

Kernel PrepareSelect(const KernelCall& call) {
  return Make(
      {},
      [call, job = PlanSelect(call.params.alpha, call.outputs[0].view, ViewsOf(call.inputs))](
          const LaunchContext& context) mutable {
        job.output = context.Pointer(call.outputs[0]);
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
          job.inputs[i] = context.Pointer(call.inputs[i]);
        }
        LaunchElementwise(job, context.stream);
      });
}

Kernel PrepareDropout(const KernelCall& call) {
  const bool is_forward = call.kind == KernelKind::kDropoutForward;
  const std::int64_t count = call.outputs[0].view.num_elements();
  const double alpha = call.params.alpha;
  return MakeDense(call, [=](const DenseLaunch& l) {
    if (is_forward) {
      LaunchDropoutForward(l.in(0), l.out(0), l.out<std::uint8_t>(1), alpha, count, l.stream);
    } else {
      LaunchDropoutBackward(l.in(0), l.in<std::uint8_t>(1), l.out(0), alpha, count, l.stream);
    }
  });
}

Kernel PrepareRandomUniform(const KernelCall& call) {
  const std::int64_t count = call.outputs[0].view.num_elements();
  return MakeDense(call,
                   [=](const DenseLaunch& l) { LaunchRandomUniform(l.out(0), count, l.stream); });
}

Kernel PrepareFill(const KernelCall& call) {
  FillJob job = PlanFill(call.params.alpha, call.outputs[0].view);
  return Make({}, [job, output = call.outputs[0]](const LaunchContext& context) mutable {
    job.output = context.Pointer(output);
    LaunchFill(job, context.stream);
  });
}

Kernel PrepareRange(const KernelCall& call) {
  const TensorView& y = call.outputs[0].view;
  RangeJob job{.dtype = y.dtype,
               .start = call.params.alpha,
               .step = call.params.step,
               .count = y.shape[0],
               .stride = y.strides[0]};
  return Make({}, [job, output = call.outputs[0]](const LaunchContext& context) mutable {
    job.out = context.Pointer(output);
    LaunchRange(job, context.stream);
  });
}

Kernel PrepareCumulativeSum(const KernelCall& call) {
  const TensorView& x = call.inputs[0].view;
  CumulativeSumJob job{.x_dtype = x.dtype,
                       .y_dtype = call.outputs[0].view.dtype,
                       .rows = x.shape[0],
                       .width = x.shape[1]};
  return MakeDense(call, [job](const DenseLaunch& l) mutable {
    job.x = l.in<void>(0);
    job.y = l.out<void>(0);
    LaunchCumulativeSum(job, l.stream);
  });
}

Kernel PrepareReduce(const KernelCall& call) {
  ReduceJob job = PlanReduce(call.params.function, call.outputs[0].view, call.inputs[0].view);
  ScratchLayout scratch;
  const std::int64_t partial = scratch.Take(job.scratch_bytes());
  return Make(scratch, [job, partial, call](const LaunchContext& context) mutable {
    job.output = context.Pointer(call.outputs[0]);
    job.input = context.Pointer(call.inputs[0]);
    job.partial = context.Scratch(partial);
    LaunchReduce(job, context.stream);
  });
}

Kernel PrepareCopy(const KernelCall& call) {
  std::vector<CopyJob> jobs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    jobs.push_back(PlanCopy(call.outputs[i].view, call.inputs[i].view));
  }
  return Make({}, [jobs, call](const LaunchContext& context) mutable {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].destination = context.Pointer(call.outputs[i]);
      jobs[i].source = context.Pointer(call.inputs[i]);
    }
    LaunchCopies(jobs, context.stream);
  });
}

// Returns the shape of [rows, width] or [batch, rows, width].
RowsShape RowsOf(const Argument& argument) {
  const std::int64_t width = argument.view.shape.back();
  return {argument.view.num_elements() / width, width};
}

Kernel PrepareSoftmax(const KernelCall& call) {
  const bool is_backward =
      call.kind == KernelKind::kSoftmaxBackward || call.kind == KernelKind::kLogSoftmaxBackward;
  const bool is_log =
      call.kind == KernelKind::kLogSoftmax || call.kind == KernelKind::kLogSoftmaxBackward;
  const RowsShape shape = RowsOf(call.outputs[0]);
  return MakeDense(call, [=](const DenseLaunch& l) {
    if (is_backward) {
      LaunchSoftmaxBackward(l.in(0), l.in(1), l.out(0), is_log, shape, l.stream);
    } else {
      LaunchSoftmax(l.in(0), l.out(0), is_log, shape, l.stream);
    }
  });
}

Kernel PrepareLoss(const KernelCall& call) {
  const KernelKind kind = call.kind;
  const bool is_backward = kind == KernelKind::kNllLossBackward;
  const RowsShape shape = RowsOf(is_backward ? call.outputs[0] : call.inputs[0]);
  const DType labels = call.inputs[1].view.dtype;
  return MakeDense(call, [=](const DenseLaunch& l) {
    const float* first = l.in(0);
    const void* label = l.in<void>(1);
    float* out = l.out(0);
    if (is_backward) {
      LaunchNllLossBackward(first, label, labels, l.in(2), out, shape, l.stream);
    } else if (kind == KernelKind::kSparseCrossEntropy) {
      LaunchSparseCrossEntropy(first, label, labels, out, l.out(1), shape, l.stream);
    } else {
      LaunchNllLossForward(first, label, labels, out, l.out(1), shape, l.stream);
    }
  });
}

Kernel PrepareLayerNormForward(const KernelCall& call) {
  const RowsShape shape = RowsOf(call.inputs[0]);
  LayerNormForward job{
      .rows = shape.rows, .width = shape.width, .epsilon = static_cast<float>(call.params.epsilon)};
  return MakeDense(call, [job](const DenseLaunch& l) mutable {
    job.x = l.in(0);
    job.scale = l.in(1);
    job.offset = l.in(2);
    job.y = l.out(0);
    job.mean = l.out(1);
    job.inverse_std = l.out(2);
    LaunchLayerNormForward(job, l.stream);
  });
}

Kernel PrepareLayerNormBackward(const KernelCall& call) {
  const RowsShape shape = RowsOf(call.inputs[0]);
  const auto launch = [job = LayerNormBackward{.rows = shape.rows, .width = shape.width}](
                          const DenseLaunch& l) mutable {
    job.dy = l.in(0);
    job.x = l.in(1);
    job.mean = l.in(2);
    job.inverse_std = l.in(3);
    job.scale = l.in(4);
    job.dx = l.out(0);
    job.dscale = l.out(1);
    job.doffset = l.out(2);
    job.scratch = l.scratch;
    LaunchLayerNormBackward(job, l.stream);
  };
  return MakeDense(call, launch, LayerNormScratchBytes(shape.rows, shape.width));
}

Kernel PrepareBatchNormForward(const KernelCall& call) {
  const bool has_running = call.inputs.size() == 5, updates_running = call.outputs.size() == 5;
  const TensorView inputs[] = {call.inputs[0].view};
  const BatchNormPlan plan = PlanBatchNorm(call.outputs[0].view, inputs);
  BatchNormForward job{.epsilon = static_cast<float>(call.params.epsilon),
                       .momentum = static_cast<float>(call.params.momentum),
                       .saves_inverse_std = call.params.saves_inverse_std};
  const auto launch = [=](const DenseLaunch& l) mutable {
    job.x = l.in(0);
    job.scale = l.in(1);
    job.offset = l.in(2);
    if (has_running) {
      job.running_mean_in = l.in(3);
      job.running_variance_in = l.in(4);
    }
    job.y = l.out(0);
    job.mean = l.out(1);
    job.second = l.out(2);
    if (updates_running) {
      job.running_mean = l.out(3);
      job.running_variance = l.out(4);
    }
    job.scratch = l.scratch;
    LaunchBatchNormForward(plan, job, l.stream);
  };
  return MakeDense(
      call, launch, plan.scratch_bytes(), {.strided_inputs = {0}, .strided_outputs = {0}});
}

Kernel PrepareBatchNormBackward(const KernelCall& call) {
  const TensorView inputs[] = {call.inputs[0].view, call.inputs[1].view};
  const BatchNormPlan plan = PlanBatchNorm(call.outputs[0].view, inputs);
  BatchNormBackward job{.epsilon = static_cast<float>(call.params.epsilon),
                        .saves_inverse_std = call.params.saves_inverse_std};
  const auto launch = [=](const DenseLaunch& l) mutable {
    job.dy = l.in(0);
    job.x = l.in(1);
    job.scale = l.in(2);
    job.mean = l.in(3);
    job.second = l.in(4);
    job.dx = l.out(0);
    job.dscale = l.out(1);
    job.doffset = l.out(2);
    job.scratch = l.scratch;
    LaunchBatchNormBackward(plan, job, l.stream);
  };
  return MakeDense(
      call, launch, plan.scratch_bytes(), {.strided_inputs = {0, 1}, .strided_outputs = {0}});
}

Kernel PreparePool(const KernelCall& call) {
  const KernelKind kind = call.kind;
  const PoolJob plan = PlanPool(call);
  return Make({}, [=](const LaunchContext& context) {
    const auto in = [&](int i) { return context.Pointer(call.inputs[i]); };
    const auto out = [&](int i) { return context.Pointer(call.outputs[i]); };
    PoolJob job = plan;
    switch (kind) {
      case KernelKind::kMaxPoolForward:
        if (call.outputs.size() > 1) job.indices = out(1);
        [[fallthrough]];
      case KernelKind::kAvgPoolForward:
        job.x = static_cast<const float*>(in(0));
        job.y = static_cast<float*>(out(0));
        break;
      case KernelKind::kMaxPoolBackward:
        job.x = static_cast<const float*>(in(0));
        job.y_in = static_cast<const float*>(in(1));
        job.dy = static_cast<const float*>(in(2));
        job.dx = static_cast<float*>(out(0));
        break;
      default:
        if (kind == KernelKind::kMaxPoolBackwardIndices) job.indices = in(1);
        job.dy = static_cast<const float*>(in(0));
        job.dx = static_cast<float*>(out(0));
    }
    LaunchPool(kind, job, context.stream);
  });
}

Kernel PrepareGather(const KernelCall& call) {
  const TensorView &table = call.inputs[0].view, &out = call.outputs[0].view;
  GatherJob job{.table_rows = table.shape[0],
                .n = out.shape[0],
                .row_bytes = out.shape[1] * SizeOf(out.dtype),
                .index_dtype = call.inputs[1].view.dtype};
  return MakeDense(call, [job](const DenseLaunch& l) mutable {
    job.table = l.in<void>(0);
    job.indices = l.in<void>(1);
    job.out = l.out<void>(0);
    LaunchGather(job, l.stream);
  });
}

Kernel PrepareScatterAdd(const KernelCall& call) {
  const TensorView& table = call.outputs[0].view;
  const bool zeroes = call.params.zero_output;
  ScatterAddJob job{.table_rows = table.shape[0],
                    .n = call.inputs[0].view.shape[0],
                    .width = table.shape[1],
                    .index_dtype = call.inputs[1].view.dtype,
                    .alpha = static_cast<float>(call.params.alpha)};
  FillJob zero = PlanFill(0, ContiguousView(table.dtype, table.shape));
  const auto launch = [=](const DenseLaunch& l) mutable {
    job.rows = l.in(0);
    job.indices = l.in<void>(1);
    job.table = l.out(0);
    if (zeroes) {
      zero.output = job.table;
      LaunchFill(zero, l.stream);
    }
    LaunchScatterAdd(job, l.stream);
  };
  return MakeDense(call, launch, 0, {.reads_outputs = !zeroes});
}

Kernel PrepareOptimizer(const KernelCall& call) {
  const int num_inputs = static_cast<int>(call.inputs.size());
  const int num_outputs = static_cast<int>(call.outputs.size());
  return MakeDense(call, [=, job = PlanOptimizer(call)](const DenseLaunch& l) mutable {
    for (int i = 0; i < num_inputs; ++i) job.in[i] = l.in(i);
    for (int i = 0; i < num_outputs; ++i) job.out[i] = l.out(i);
    LaunchOptimizer(job, l.stream);
  });
}

Kernel PrepareProxy(const KernelCall& call) {
  // A launch accepts up to kMaxProxyArguments inputs and as many outputs; one is almost always
  // enough.
  struct Part {
    ProxyJob job;
    std::vector<Argument> inputs, outputs;
  };
  std::vector<Part> parts(1);
  struct StridedOutput {
    FillJob job;
    Argument output;
  };
  std::vector<StridedOutput> strided_outputs;
  for (const Argument& input : call.inputs) {
    if (parts.back().inputs.size() == kMaxProxyArguments) parts.emplace_back();
    Part& part = parts.back();
    part.job.input_bytes[part.job.num_inputs++] = input.view.span_bytes();
    part.inputs.push_back(input);
  }
  for (const Argument& output : call.outputs) {
    const TensorView& view = output.view;
    if (view.span_bytes() != view.num_elements() * SizeOf(view.dtype)) {
      strided_outputs.push_back({PlanFill(0, view), output});  // the content of its holes is kept
      continue;
    }
    if (parts.back().outputs.size() == kMaxProxyArguments) parts.emplace_back();
    Part& part = parts.back();
    part.job.output_bytes[part.job.num_outputs++] = view.span_bytes();
    part.outputs.push_back(output);
  }
  ScratchLayout scratch;
  const std::int64_t sink = scratch.Take(sizeof(std::uint32_t));
  parts.front().job.flops = call.params.alpha;
  return Make(scratch, [=](const LaunchContext& context) {
    for (const Part& part : parts) {
      ProxyJob job = part.job;
      for (int i = 0; i < job.num_inputs; ++i) job.inputs[i] = context.Pointer(part.inputs[i]);
      for (int i = 0; i < job.num_outputs; ++i) job.outputs[i] = context.Pointer(part.outputs[i]);
      job.sink = context.Scratch(sink);
      LaunchProxy(job, context.stream);
    }
    for (const StridedOutput& strided : strided_outputs) {
      FillJob job = strided.job;
      job.output = context.Pointer(strided.output);
      LaunchFill(job, context.stream);
    }
  });
}

constexpr std::pair<KernelKind, Kernel (*)(const KernelCall& call)> kOwnKernels[] = {
    {KernelKind::kMaxPoolForward, &PreparePool},
    {KernelKind::kMaxPoolBackward, &PreparePool},
    {KernelKind::kMaxPoolBackwardIndices, &PreparePool},
    {KernelKind::kAvgPoolForward, &PreparePool},
    {KernelKind::kAvgPoolBackward, &PreparePool},
    {KernelKind::kBatchNormForward, &PrepareBatchNormForward},
    {KernelKind::kBatchNormBackward, &PrepareBatchNormBackward},
    {KernelKind::kLayerNormForward, &PrepareLayerNormForward},
    {KernelKind::kLayerNormBackward, &PrepareLayerNormBackward},
    {KernelKind::kSoftmax, &PrepareSoftmax},
    {KernelKind::kLogSoftmax, &PrepareSoftmax},
    {KernelKind::kSoftmaxBackward, &PrepareSoftmax},
    {KernelKind::kLogSoftmaxBackward, &PrepareSoftmax},
    {KernelKind::kSparseCrossEntropy, &PrepareLoss},
    {KernelKind::kNllLossForward, &PrepareLoss},
    {KernelKind::kNllLossBackward, &PrepareLoss},
    {KernelKind::kElementwise, &PrepareElementwise},
    {KernelKind::kSelect, &PrepareSelect},
    {KernelKind::kDropoutForward, &PrepareDropout},
    {KernelKind::kDropoutBackward, &PrepareDropout},
    {KernelKind::kRandomUniform, &PrepareRandomUniform},
    {KernelKind::kFill, &PrepareFill},
    {KernelKind::kRange, &PrepareRange},
    {KernelKind::kCumulativeSum, &PrepareCumulativeSum},
    {KernelKind::kReduce, &PrepareReduce},
    {KernelKind::kGather, &PrepareGather},
    {KernelKind::kScatterAdd, &PrepareScatterAdd},
    {KernelKind::kCopy, &PrepareCopy},
    {KernelKind::kMomentum, &PrepareOptimizer},
    {KernelKind::kRmsProp, &PrepareOptimizer},
    {KernelKind::kAdam, &PrepareOptimizer},
    {KernelKind::kGradientDescent, &PrepareOptimizer},
    {KernelKind::kProxy, &PrepareProxy},
};

Kernel Prepare(const KernelCall& call) {
  for (const auto& [kind, prepare] : kOwnKernels) {
    if (kind == call.kind) return prepare(call);
  }
  EMPLACE_CHECK(false, "no own kernel for " + Describe(call));
}

// All kinds but matmul, the three convolutions and the composed kernels.
static_assert(std::size(kOwnKernels) + 4 ==
              std::ranges::count(kKernelTable, nullptr, &KernelDescription::compose));

}  // namespace

std::unique_ptr<CudaKernel> PrepareOwnKernel(const KernelCall& call) {
  return NamingCall(call, [&] { return Prepare(call); });
}

}  // namespace emplace::cuda

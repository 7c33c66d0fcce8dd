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
  const ElementwiseJob plan =
      PlanSelect(call.params.alpha, call.outputs[0].view, ViewsOf(call.inputs));
  return Make({}, [plan, call](const LaunchContext& context) {
    ElementwiseJob job = plan;
    job.output = context.Pointer(call.outputs[0]);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      job.inputs[i] = context.Pointer(call.inputs[i]);
    }
    LaunchElementwise(job, context.stream);
  });
}

Kernel PrepareDropout(const KernelCall& call) {
  const bool is_forward = call.kind == KernelKind::kDropoutForward;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  const std::int64_t count = call.outputs[0].view.num_elements();
  const double alpha = call.params.alpha;
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    const float* x = arguments.in<float>(context, 0);
    float* y = arguments.out<float>(context, 0);
    if (is_forward) {
      LaunchDropoutForward(
          x, y, arguments.out<std::uint8_t>(context, 1), alpha, count, context.stream);
    } else {
      LaunchDropoutBackward(
          x, arguments.in<std::uint8_t>(context, 1), y, alpha, count, context.stream);
    }
    arguments.CopyOut(context);
  });
}

Kernel PrepareRandomUniform(const KernelCall& call) {
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  const std::int64_t count = call.outputs[0].view.num_elements();
  return Make(scratch, [=](const LaunchContext& context) mutable {
    LaunchRandomUniform(arguments.out<float>(context, 0), count, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareFill(const KernelCall& call) {
  const FillJob plan = PlanFill(call.params.alpha, call.outputs[0].view);
  return Make({}, [plan, output = call.outputs[0]](const LaunchContext& context) {
    FillJob job = plan;
    job.output = context.Pointer(output);
    LaunchFill(job, context.stream);
  });
}

Kernel PrepareRange(const KernelCall& call) {
  const TensorView& y = call.outputs[0].view;
  const RangeJob plan{.dtype = y.dtype,
                      .start = call.params.alpha,
                      .step = call.params.step,
                      .count = y.shape[0],
                      .stride = y.strides[0]};
  return Make({}, [plan, output = call.outputs[0]](const LaunchContext& context) {
    RangeJob job = plan;
    job.out = context.Pointer(output);
    LaunchRange(job, context.stream);
  });
}

Kernel PrepareCumulativeSum(const KernelCall& call) {
  const TensorView& x = call.inputs[0].view;
  const CumulativeSumJob plan{.x_dtype = x.dtype,
                              .y_dtype = call.outputs[0].view.dtype,
                              .rows = x.shape[0],
                              .width = x.shape[1]};
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    CumulativeSumJob job = plan;
    job.x = arguments.in<void>(context, 0);
    job.y = arguments.out<void>(context, 0);
    LaunchCumulativeSum(job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareReduce(const KernelCall& call) {
  const ReduceJob plan =
      PlanReduce(call.params.function, call.outputs[0].view, call.inputs[0].view);
  ScratchLayout scratch;
  const std::int64_t partial = scratch.Take(plan.scratch_bytes());
  return Make(scratch, [plan, partial, call](const LaunchContext& context) {
    ReduceJob job = plan;
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
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    const float* first = arguments.in<float>(context, 0);
    float* out = arguments.out<float>(context, 0);
    if (is_backward) {
      LaunchSoftmaxBackward(
          first, arguments.in<float>(context, 1), out, is_log, shape, context.stream);
    } else {
      LaunchSoftmax(first, out, is_log, shape, context.stream);
    }
    arguments.CopyOut(context);
  });
}

Kernel PrepareLoss(const KernelCall& call) {
  const KernelKind kind = call.kind;
  const bool is_backward = kind == KernelKind::kNllLossBackward;
  const RowsShape shape = RowsOf(is_backward ? call.outputs[0] : call.inputs[0]);
  const DType labels = call.inputs[1].view.dtype;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    const float* first = arguments.in<float>(context, 0);
    const void* label = arguments.in<void>(context, 1);
    float* out = arguments.out<float>(context, 0);
    if (is_backward) {
      LaunchNllLossBackward(
          first, label, labels, arguments.in<float>(context, 2), out, shape, context.stream);
    } else {
      float* second = arguments.out<float>(context, 1);
      if (kind == KernelKind::kSparseCrossEntropy) {
        LaunchSparseCrossEntropy(first, label, labels, out, second, shape, context.stream);
      } else {
        LaunchNllLossForward(first, label, labels, out, second, shape, context.stream);
      }
    }
    arguments.CopyOut(context);
  });
}

Kernel PrepareLayerNormForward(const KernelCall& call) {
  const RowsShape shape = RowsOf(call.inputs[0]);
  LayerNormForward plan;
  plan.rows = shape.rows;
  plan.width = shape.width;
  plan.epsilon = static_cast<float>(call.params.epsilon);
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    LayerNormForward job = plan;
    job.x = arguments.in<float>(context, 0);
    job.scale = arguments.in<float>(context, 1);
    job.offset = arguments.in<float>(context, 2);
    job.y = arguments.out<float>(context, 0);
    job.mean = arguments.out<float>(context, 1);
    job.inverse_std = arguments.out<float>(context, 2);
    LaunchLayerNormForward(job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareLayerNormBackward(const KernelCall& call) {
  const RowsShape shape = RowsOf(call.inputs[0]);
  LayerNormBackward plan;
  plan.rows = shape.rows;
  plan.width = shape.width;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  const std::int64_t sums = scratch.Take(LayerNormScratchBytes(shape.rows, shape.width));
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    LayerNormBackward job = plan;
    job.dy = arguments.in<float>(context, 0);
    job.x = arguments.in<float>(context, 1);
    job.mean = arguments.in<float>(context, 2);
    job.inverse_std = arguments.in<float>(context, 3);
    job.scale = arguments.in<float>(context, 4);
    job.dx = arguments.out<float>(context, 0);
    job.dscale = arguments.out<float>(context, 1);
    job.doffset = arguments.out<float>(context, 2);
    job.scratch = context.Scratch(sums);
    LaunchLayerNormBackward(job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareBatchNormForward(const KernelCall& call) {
  const bool has_running = call.inputs.size() == 5, updates_running = call.outputs.size() == 5;
  const TensorView inputs[] = {call.inputs[0].view};
  const BatchNormPlan plan = PlanBatchNorm(call.outputs[0].view, inputs);
  BatchNormForward parameters;
  parameters.epsilon = static_cast<float>(call.params.epsilon);
  parameters.momentum = static_cast<float>(call.params.momentum);
  parameters.saves_inverse_std = call.params.saves_inverse_std;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch, {.strided_inputs = {0}, .strided_outputs = {0}});
  const std::int64_t sums = scratch.Take(plan.scratch_bytes());
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    BatchNormForward job = parameters;
    job.x = arguments.in<float>(context, 0);
    job.scale = arguments.in<float>(context, 1);
    job.offset = arguments.in<float>(context, 2);
    if (has_running) {
      job.running_mean_in = arguments.in<float>(context, 3);
      job.running_variance_in = arguments.in<float>(context, 4);
    }
    job.y = arguments.out<float>(context, 0);
    job.mean = arguments.out<float>(context, 1);
    job.second = arguments.out<float>(context, 2);
    if (updates_running) {
      job.running_mean = arguments.out<float>(context, 3);
      job.running_variance = arguments.out<float>(context, 4);
    }
    job.scratch = context.Scratch(sums);
    LaunchBatchNormForward(plan, job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareBatchNormBackward(const KernelCall& call) {
  const TensorView inputs[] = {call.inputs[0].view, call.inputs[1].view};
  const BatchNormPlan plan = PlanBatchNorm(call.outputs[0].view, inputs);
  BatchNormBackward parameters;
  parameters.epsilon = static_cast<float>(call.params.epsilon);
  parameters.saves_inverse_std = call.params.saves_inverse_std;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch, {.strided_inputs = {0, 1}, .strided_outputs = {0}});
  const std::int64_t sums = scratch.Take(plan.scratch_bytes());
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    BatchNormBackward job = parameters;
    job.dy = arguments.in<float>(context, 0);
    job.x = arguments.in<float>(context, 1);
    job.scale = arguments.in<float>(context, 2);
    job.mean = arguments.in<float>(context, 3);
    job.second = arguments.in<float>(context, 4);
    job.dx = arguments.out<float>(context, 0);
    job.dscale = arguments.out<float>(context, 1);
    job.doffset = arguments.out<float>(context, 2);
    job.scratch = context.Scratch(sums);
    LaunchBatchNormBackward(plan, job, context.stream);
    arguments.CopyOut(context);
  });
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
  GatherJob plan;
  plan.table_rows = table.shape[0];
  plan.n = out.shape[0];
  plan.row_bytes = out.shape[1] * SizeOf(out.dtype);
  plan.index_dtype = call.inputs[1].view.dtype;
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    GatherJob job = plan;
    job.table = arguments.in<void>(context, 0);
    job.indices = arguments.in<void>(context, 1);
    job.out = arguments.out<void>(context, 0);
    LaunchGather(job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareScatterAdd(const KernelCall& call) {
  const TensorView& table = call.outputs[0].view;
  const bool zeroes = call.params.zero_output;
  ScatterAddJob plan;
  plan.table_rows = table.shape[0];
  plan.n = call.inputs[0].view.shape[0];
  plan.width = table.shape[1];
  plan.index_dtype = call.inputs[1].view.dtype;
  plan.alpha = static_cast<float>(call.params.alpha);
  const FillJob zero = PlanFill(0, ContiguousView(table.dtype, table.shape));
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch, {.reads_outputs = !zeroes});
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    ScatterAddJob job = plan;
    job.rows = arguments.in<float>(context, 0);
    job.indices = arguments.in<void>(context, 1);
    job.table = arguments.out<float>(context, 0);
    if (zeroes) {
      FillJob fill = zero;
      fill.output = job.table;
      LaunchFill(fill, context.stream);
    }
    LaunchScatterAdd(job, context.stream);
    arguments.CopyOut(context);
  });
}

Kernel PrepareOptimizer(const KernelCall& call) {
  const OptimizerJob plan = PlanOptimizer(call);
  const int num_inputs = static_cast<int>(call.inputs.size());
  const int num_outputs = static_cast<int>(call.outputs.size());
  ScratchLayout scratch;
  DenseArguments arguments(call, scratch);
  return Make(scratch, [=](const LaunchContext& context) mutable {
    arguments.CopyIn(context);
    OptimizerJob job = plan;
    for (int i = 0; i < num_inputs; ++i) job.in[i] = arguments.in<float>(context, i);
    for (int i = 0; i < num_outputs; ++i) job.out[i] = arguments.out<float>(context, i);
    LaunchOptimizer(job, context.stream);
    arguments.CopyOut(context);
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

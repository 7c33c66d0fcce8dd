#include "profilers/cuda/cuda_streams.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/stream_counters.h"
#include "profilers/cuda/trace_overhead.h"

namespace emplace::cuda {

CudaStreams::CudaStreams(std::shared_ptr<Devices> devices,
                         std::shared_ptr<const ExecutionPlan> plan,
                         const QueuePlan& queues,
                         ProgramMemory memory)
    : devices_(std::move(devices)), plan_(std::move(plan)), memory_(std::move(memory)) {
  AssignStreams(queues);
  commands_.resize(plan_->commands.size());
  inputs_.resize(plan_->ops.size());
  outputs_.resize(plan_->ops.size());
  // Reserves the final size, because pointers into it are kept.
  pack_arguments_.reserve(4 * plan_->commands.size());
  for (int i = 0; i < std::ssize(plan_->commands); ++i) {
    const int queue = queues.queue_of_command[i];
    if (queues.kinds[queue] != QueueKind::kStream) continue;
    commands_[i].stream = queue;
    const bool is_op = plan_->commands[i].type == PlanCommand::Type::kOp;
    Named(i, [&] { is_op ? PrepareOp(i) : PrepareCopy(i); });
  }
  RunKernelsOnce();
  SetInitialValues();
}

int CudaStreams::GpuOf(int device) const {
  return device == kStaging ? -1 : (*devices_)[device].gpu.value_or(-1);
}

/// Runs `function` and adds the command's name to its errors.
template <typename Function>
void CudaStreams::Named(int command, const Function& function) {
  const auto name = [&] {
    std::vector<std::string> names;
    for (int d = 0; d < devices_->size(); ++d) names.push_back((*devices_)[d].name);
    return NameOf(*plan_, command, names);
  };
  try {
    function();
  } catch (const CudaError& error) {
    throw RunError(name() + ": " + error.what());
  } catch (const RunError& error) {
    throw RunError(name() + ": " + error.what());
  }
}

void CudaStreams::AssignStreams(const QueuePlan& queues) {
  lanes_.resize(queues.num_queues());
  for (int q = 0; q < queues.num_queues(); ++q) {
    if (queues.kinds[q] != QueueKind::kStream || queues.lists[q].empty()) continue;
    Lane& lane = lanes_[q];
    const int channel = q - plan_->num_devices;
    if (channel < 0) {
      lane.name = (*devices_)[q].name;
      lane.gpu = GpuOf(q);
      lane.stream = (*devices_)[q].stream.get();
    } else {
      // The first GPU among source and destinations of its copies.
      const PlanCommand& first = plan_->commands[queues.lists[q].front()];
      lane.gpu = GpuOf(first.source.device);
      for (const Address& to : first.destinations) {
        if (lane.gpu < 0) lane.gpu = GpuOf(to.device);
      }
      lane.name = fmt::format("channel {}", channel);
      lane.stream = devices_->copy_stream(channel, lane.gpu).stream.get();
    }
    SelectGpu(lane.gpu);
    lane.join = MakeEvent(false);
    used_.push_back(q);
  }
  SelectGpu(first_lane().gpu);
  start_ = MakeEvent(true);
  end_ = MakeEvent(true);
}

void CudaStreams::PrepareOp(int index) {
  const PlanCommand& command = plan_->commands[index];
  const CompiledOp& op = plan_->ops[command.op];
  for (const Address& address : op.inputs) inputs_[command.op].push_back(memory_.At(address));
  for (const Address& address : op.outputs) outputs_[command.op].push_back(memory_.At(address));
  Device& device = (*devices_)[command.stream];
  std::vector<Launch>& launches = commands_[index].launches;
  std::int64_t scratch = 0;
  for (const KernelCall& call : op.work.calls) {
    Launch launch;
    launch.kernel = devices_->gpu_kernel(command.stream, call).kernel.get();
    launch.inputs = &inputs_[command.op];
    launch.outputs = &outputs_[command.op];
    scratch = std::max(scratch, launch.kernel->scratch_bytes());
    launches.push_back(launch);
  }
  Devices::Grow(device.scratch, scratch, device.gpu, device.name);
  scratches_.push_back(device.scratch.memory);
  for (Launch& launch : launches) launch.scratch = device.scratch.memory.get();
}

void CudaStreams::PrepareCopy(int index) {
  const PlanCommand& command = plan_->commands[index];
  if (command.bytes == 0) return;  // a control edge has no data
  Command& prepared = commands_[index];
  const Lane& lane = lanes_[prepared.stream];
  const std::byte* source = memory_.At(command.source);
  const auto add_transfer = [&](const std::byte* from, int from_gpu, const Address& to) {
    prepared.transfers.push_back({memory_.At(to), from, command.bytes, GpuOf(to.device), from_gpu});
  };
  if (command.layout.is_contiguous()) {
    // A view may begin after the first byte of its storage.
    const std::byte* from = source + command.layout.offset * SizeOf(command.layout.dtype);
    for (const Address& to : command.destinations) {
      add_transfer(from, GpuOf(command.source.device), to);
    }
    return;
  }

  // A kernel packs a strided source. It writes to the destination if that is fast (the same GPU) or
  // if the source is on the host. Otherwise it writes to scratch, which is then copied as one
  // piece.
  KernelCall pack;
  pack.kind = KernelKind::kCopy;
  pack.inputs.push_back({false, 0, command.layout});
  pack.outputs.push_back({true, 0, ContiguousView(command.layout.dtype, command.layout.shape)});
  CudaKernel* const packer = devices_->packer(lane.gpu, pack).kernel.get();
  CopyStream& copies = devices_->copy_stream(command.stream - plan_->num_devices, lane.gpu);
  const auto pack_to = [&](std::byte* to) {
    const std::vector<void*>& from_pointers =
        pack_arguments_.emplace_back(std::vector<void*>{const_cast<std::byte*>(source)});
    const std::vector<void*>& to_pointers = pack_arguments_.emplace_back(std::vector<void*>{to});
    Launch launch;
    launch.kernel = packer;
    launch.inputs = &from_pointers;
    launch.outputs = &to_pointers;
    prepared.launches.push_back(launch);
  };
  const Address& only = command.destinations.front();
  const std::int64_t packer_scratch =
      (packer->scratch_bytes() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  Devices::Grow(copies.scratch, packer_scratch + command.bytes, lane.gpu, lane.name);
  scratches_.push_back(copies.scratch.memory);
  if (command.destinations.size() == 1 && GpuOf(only.device) == lane.gpu) {
    pack_to(memory_.At(only));
  } else {
    std::byte* const packed = copies.scratch.memory.get() + packer_scratch;
    pack_to(packed);
    for (const Address& to : command.destinations) add_transfer(packed, lane.gpu, to);
  }
  prepared.launches.back().scratch = copies.scratch.memory.get();
}

/// Runs every kernel once, alone, so that CUDA loads its code and errors can be attributed to it.
void CudaStreams::RunKernelsOnce() {
  for (int i = 0; i < std::ssize(commands_); ++i) {
    const Command& command = commands_[i];
    const PlanCommand& planned = plan_->commands[i];
    if (command.stream < 0) continue;
    const Lane& lane = lanes_[command.stream];
    bool is_new = false;
    if (planned.type == PlanCommand::Type::kOp) {
      for (const KernelCall& call : plan_->ops[planned.op].work.calls) {
        GpuKernel& kernel = devices_->gpu_kernel(planned.stream, call);
        is_new = is_new || !kernel.has_run;
        kernel.has_run = true;
      }
    } else {
      is_new = !command.launches.empty();
    }
    if (!is_new) continue;
    Named(i, [&] {
      SelectGpu(lane.gpu);
      for (const Launch& launch : command.launches) {
        launch.kernel->Launch(
            launch.inputs->data(), launch.outputs->data(), launch.scratch, lane.stream);
      }
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(lane.stream));
    });
  }
}

void CudaStreams::SetInitialValues() {
  for (const InitialValue& value : plan_->initial_values) {
    const Device& device = (*devices_)[value.address.device];
    if (value.bytes == 0 || !device.gpu) continue;
    const std::vector<std::byte>& bytes = devices_->initial_bytes(value);
    try {
      SelectGpu(*device.gpu);
      EMPLACE_CUDA_CHECK(cudaMemcpy(
          memory_.At(value.address), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    } catch (const CudaError& error) {
      throw RunError(fmt::format(
          "{}: initial value of tensor {}: {}", device.name, value.tensor, error.what()));
    }
  }
  // A copy from pageable memory may still be running, and no stream of a step waits for it.
  for (int gpu : devices_->used_gpus()) {
    SelectGpu(gpu);
    EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());
  }
}

void CudaStreams::PrepareEvent(int stream, int command) {
  SelectGpu(lanes_[stream].gpu);
  commands_[command].done = MakeEvent(false);
}

void CudaStreams::PrepareTrace() {
  for (Command& command : commands_) {
    if (!command.has_work()) continue;
    SelectGpu(lanes_[command.stream].gpu);
    command.trace_start = MakeEvent(true);
    command.trace_end = MakeEvent(true);
  }
  for (int q : used_) {
    SelectGpu(lanes_[q].gpu);
    lanes_[q].start = MakeEvent(true);
  }
}

void CudaStreams::RecordTrace(const Event& event, const Lane& lane) {
  // In a graph these events are separate nodes. By default they would only order commands.
  const unsigned flags = is_capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault;
  EMPLACE_CUDA_CHECK(cudaEventRecordWithFlags(event.get(), lane.stream, flags));
}

void CudaStreams::Run(int stream, int index, bool traced) {
  const Lane& lane = lanes_[stream];
  Command& command = commands_[index];
  SelectGpu(lane.gpu);
  traced = traced && command.has_work();
  if (traced) RecordTrace(command.trace_start, lane);
  for (const Launch& launch : command.launches) {
    launch.kernel->Launch(
        launch.inputs->data(), launch.outputs->data(), launch.scratch, lane.stream);
  }
  for (const Transfer& t : command.transfers) {
    const auto bytes = static_cast<size_t>(t.bytes);
    if (t.from_gpu >= 0 && t.to_gpu >= 0 && t.from_gpu != t.to_gpu) {
      EMPLACE_CUDA_CHECK(
          cudaMemcpyPeerAsync(t.to, t.to_gpu, t.from, t.from_gpu, bytes, lane.stream));
    } else {
      EMPLACE_CUDA_CHECK(cudaMemcpyAsync(t.to, t.from, bytes, cudaMemcpyDefault, lane.stream));
    }
  }
  if (traced) RecordTrace(command.trace_end, lane);
}

void CudaStreams::RecordEvent(int stream, int command) {
  SelectGpu(lanes_[stream].gpu);
  EMPLACE_CUDA_CHECK(cudaEventRecord(commands_[command].done.get(), lanes_[stream].stream));
}

void CudaStreams::AwaitEvent(int stream, int command) {
  SelectGpu(lanes_[stream].gpu);
  EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(lanes_[stream].stream, commands_[command].done.get(), 0));
}

void CudaStreams::AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) {
  SelectGpu(lanes_[stream].gpu);
  EnqueueAwait(lanes_[stream].stream, counter, count);
}

void CudaStreams::RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) {
  SelectGpu(lanes_[stream].gpu);
  EnqueueRaise(lanes_[stream].stream, counter, count);
}

void CudaStreams::MarkStart(int stream) {
  const Lane& lane = lanes_[stream];
  SelectGpu(lane.gpu);
  EMPLACE_CUDA_CHECK(cudaEventRecord(lane.start.get(), lane.stream));
}

void CudaStreams::Capture(bool traced, const std::function<void()>& enqueue) {
  is_capturing_ = true;
  try {
    graphs_[traced] = CaptureGraph(enqueue);
  } catch (const std::runtime_error& error) {
    is_capturing_ = false;
    throw RunError(
        std::string(
            "the step cannot be captured as a CUDA graph (eager dispatch does not need one): ") +
        error.what());
  }
  is_capturing_ = false;
}

// The other streams fork from the first stream, and join it at the end.
GraphExec CudaStreams::CaptureGraph(const std::function<void()>& enqueue) {
  const Lane& first = first_lane();
  SelectGpu(first.gpu);
  const Event fork = MakeEvent(false);
  cudaGraph_t captured = nullptr;
  EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(first.stream, cudaStreamCaptureModeRelaxed));
  try {
    EMPLACE_CUDA_CHECK(cudaEventRecord(fork.get(), first.stream));
    for (int q : used_) {
      if (q == used_.front()) continue;
      EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(lanes_[q].stream, fork.get(), 0));
    }
    enqueue();
    for (int q : used_) {
      if (q == used_.front()) continue;
      SelectGpu(lanes_[q].gpu);
      EMPLACE_CUDA_CHECK(cudaEventRecord(lanes_[q].join.get(), lanes_[q].stream));
      EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(first.stream, lanes_[q].join.get(), 0));
    }
  } catch (...) {
    cudaStreamEndCapture(first.stream, &captured);  // leaves the stream usable
    const Graph discarded(captured);
    cudaGetLastError();
    throw;
  }
  SelectGpu(first.gpu);
  EMPLACE_CUDA_CHECK(cudaStreamEndCapture(first.stream, &captured));
  const Graph graph(captured);
  cudaGraphExec_t executable = nullptr;
  EMPLACE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph.get(), 0));
  GraphExec result(executable);
  EMPLACE_CUDA_CHECK(cudaGraphUpload(executable, devices_->origin(first.gpu)));
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(devices_->origin(first.gpu)));
  return result;
}

void CudaStreams::LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) {
  SelectGpu(first_lane().gpu);
  const cudaStream_t origin = devices_->origin(first_lane().gpu);
  EnqueueAwait(origin, latch, kFinished);
  EMPLACE_CUDA_CHECK(cudaEventRecord(start_.get(), origin));
  EMPLACE_CUDA_CHECK(cudaGraphLaunch(graphs_[traced].get(), origin));
  EMPLACE_CUDA_CHECK(cudaEventRecord(end_.get(), origin));
  EnqueueRaise(origin, end, kFinished);
}

Nanos CudaStreams::GraphTime() {
  EMPLACE_CUDA_CHECK(cudaEventSynchronize(end_.get()));
  return std::llround(NanosBetween(start_.get(), end_.get()));
}

std::pair<Nanos, Nanos> CudaStreams::Times(int index) {
  const Command& command = commands_[index];
  const cudaEvent_t start = lanes_[command.stream].start.get();
  return {std::llround(NanosBetween(start, command.trace_start.get())),
          std::llround(NanosBetween(start, command.trace_end.get()))};
}

TraceOverhead CudaStreams::OverheadOf(int stream, bool as_graph) {
  return devices_->trace_overhead(lanes_[stream].gpu, as_graph);
}

void CudaStreams::RequireAlive() {
  for (int q : used_) {
    const cudaError_t error = cudaStreamQuery(lanes_[q].stream);
    cudaGetLastError();  // "not ready" counts as an error, which a later check would report
    if (error == cudaSuccess || error == cudaErrorNotReady) continue;
    throw RunError(fmt::format("{} failed in a step: {} ({})",
                               lanes_[q].name,
                               cudaGetErrorName(error),
                               cudaGetErrorString(error)));
  }
}

void CudaStreams::Drain() noexcept {
  for (int q : used_) {
    cudaStreamSynchronize(lanes_[q].stream);
    cudaStreamSynchronize(devices_->origin(lanes_[q].gpu));
  }
}

bool CudaStreams::Read(const Address& address, std::span<std::byte> bytes) {
  const int gpu = GpuOf(address.device);
  if (gpu < 0) return false;
  try {
    SelectGpu(gpu);
    EMPLACE_CUDA_CHECK(
        cudaMemcpy(bytes.data(), memory_.At(address), bytes.size(), cudaMemcpyDefault));
  } catch (const CudaError& error) {
    throw RunError(error.what());
  }
  return true;
}

}  // namespace emplace::cuda

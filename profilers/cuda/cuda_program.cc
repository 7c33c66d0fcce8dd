#include "profilers/cuda/cuda_program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cuda/connections.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/driver_api.h"

namespace emplace::cuda {

namespace {

using SteadyClock = std::chrono::steady_clock;

CUdeviceptr DevicePointer(const Counter* counter) {
  // With unified addressing, page-locked memory has the same address on both sides.
  return reinterpret_cast<CUdeviceptr>(counter);
}

void EnqueueWait(cudaStream_t stream, const Counter* counter) {
  EMPLACE_DRIVER_CHECK(Driver().StreamWaitValue64(
      stream, DevicePointer(counter), kFinished, CU_STREAM_WAIT_VALUE_GEQ));
}

void EnqueueSet(cudaStream_t stream, Counter* counter) {
  EMPLACE_DRIVER_CHECK(Driver().StreamWriteValue64(
      stream, DevicePointer(counter), kFinished, CU_STREAM_WRITE_VALUE_DEFAULT));
}

}  // namespace

CudaProgram::CudaProgram(std::shared_ptr<Devices> devices,
                         std::shared_ptr<const ExecutionPlan> plan,
                         DispatchMode mode)
    : devices_(std::move(devices)), plan_(std::move(plan)), mode_(mode) {
  EMPLACE_CHECK(plan_->num_devices == devices_->size());
  TakeMemory();
  AssignStreams();
  inputs_.resize(plan_->ops.size());
  outputs_.resize(plan_->ops.size());
  // Pointers into these are kept, so they may not move.
  pack_arguments_.reserve(4 * plan_->commands.size());
  gpu_commands_.reserve(plan_->commands.size());
  for (int i = 0; i < static_cast<int>(plan_->commands.size()); ++i) {
    const PlanCommand& command = plan_->commands[i];
    Named(command, [&] {
      if (lane_of_stream_[command.stream] >= 0) {
        PrepareGpuCommand(i);
      } else {
        PrepareHostCommand(i);
      }
    });
  }
  Connect();
  RunKernelsOnce();
  SetInitialValues();
  if (mode_ == DispatchMode::kGraph && !lanes_.empty()) {
    start_ = MakeEvent(true);
    end_ = MakeEvent(true);
    graph_ = Capture(false);
  }
}

CudaProgram::~CudaProgram() {
  for (const HostLane& lane : host_lanes_) lane.worker->Join();
}

std::byte* CudaProgram::At(Address address) const {
  return (address.device == kStaging ? staging_ : arenas_[address.device]).get() + address.offset;
}

bool CudaProgram::IsHost(int device) const {
  return device == kStaging || !(*devices_)[device].gpu;
}

std::string CudaProgram::NameOf(const PlanCommand& command) const {
  if (command.type == PlanCommand::Type::kOp) {
    const OpWork& work = plan_->ops[command.op].work;
    std::string kernels;
    for (const KernelCall& call : work.calls) {
      kernels += (kernels.empty() ? " (" : ", ") + std::string(ToString(call.kind));
    }
    return fmt::format("op {}{} on {}",
                       command.op,
                       kernels.empty() ? "" : kernels + ")",
                       (*devices_)[command.stream].name);
  }
  return fmt::format("copy of tensor {} of op {}, hop {}, on channel {}",
                     command.tensor,
                     command.op,
                     command.hop,
                     command.stream - plan_->num_devices);
}

/// Runs `function`; its errors get the command's name.
template <typename Function>
void CudaProgram::Named(const PlanCommand& command, const Function& function) {
  try {
    function();
  } catch (const CudaError& error) {
    throw RunError(NameOf(command) + ": " + error.what());
  } catch (const RunError& error) {
    throw RunError(NameOf(command) + ": " + error.what());
  }
}

void CudaProgram::TakeMemory() {
  for (int d = 0; d < devices_->size(); ++d) {
    Device& device = (*devices_)[d];
    Devices::Grow(device.arena, plan_->arena_bytes[d], device.gpu, device.name);
    arenas_.push_back(device.arena.memory);
  }
  Devices::Grow(devices_->staging(), plan_->staging_bytes, std::nullopt, "staging");
  staging_ = devices_->staging().memory;
}

void CudaProgram::AssignStreams() {
  const int num_streams = plan_->num_streams();
  lane_of_stream_.assign(num_streams, -1);
  host_lane_of_stream_.assign(num_streams, -1);
  std::vector<std::optional<int>> gpu_of_channel(plan_->num_channels);
  std::vector<bool> is_used(num_streams, false), copies_on_host(plan_->num_channels, false);
  for (const PlanCommand& command : plan_->commands) {
    is_used[command.stream] = true;
    if (command.type == PlanCommand::Type::kOp) continue;
    const int k = command.stream - plan_->num_devices;
    const auto see = [&](int device) {
      if (!IsHost(device) && !gpu_of_channel[k]) gpu_of_channel[k] = (*devices_)[device].gpu;
    };
    see(command.source.device);
    for (const Address& to : command.destinations) {
      see(to.device);
      if (command.bytes > 0 && IsHost(command.source.device) && IsHost(to.device)) {
        copies_on_host[k] = true;
      }
    }
  }
  for (int s = 0; s < num_streams; ++s) {
    if (!is_used[s]) continue;
    const int k = s - plan_->num_devices;
    const bool is_device = k < 0;
    if (is_device ? !IsHost(s) : gpu_of_channel[k].has_value()) {
      if (!is_device && copies_on_host[k]) {
        throw RunError(fmt::format(
            "channel {} carries copies within the host and copies of a GPU; give each a channel "
            "of its own",
            k));
      }
      Lane lane;
      lane.gpu = is_device ? *(*devices_)[s].gpu : *gpu_of_channel[k];
      lane.stream =
          is_device ? (*devices_)[s].stream.get() : devices_->copy_stream(k, lane.gpu).stream.get();
      lane.name = is_device ? (*devices_)[s].name : fmt::format("channel {}", k);
      SelectGpu(lane.gpu);
      lane.join = MakeEvent(false);
      lane_of_stream_[s] = static_cast<int>(lanes_.size());
      lanes_.push_back(std::move(lane));
    } else {
      HostLane lane;
      lane.worker = is_device ? (*devices_)[s].worker.get() : &devices_->channel_worker(k);
      host_lane_of_stream_[s] = static_cast<int>(host_lanes_.size());
      host_lanes_.push_back(std::move(lane));
    }
  }
}

void CudaProgram::PrepareGpuCommand(int index) {
  const PlanCommand& command = plan_->commands[index];
  GpuCommand& prepared = gpu_commands_.emplace_back();
  prepared.command = index;
  prepared.lane = lane_of_stream_[command.stream];
  const Lane& lane = lanes_[prepared.lane];
  if (command.type == PlanCommand::Type::kOp) {
    const PlannedOp& op = plan_->ops[command.op];
    for (const Address& address : op.inputs) inputs_[command.op].push_back(At(address));
    for (const Address& address : op.outputs) outputs_[command.op].push_back(At(address));
    Device& device = (*devices_)[command.stream];
    std::int64_t scratch = 0;
    for (const KernelCall& call : op.work.calls) {
      Launch launch;
      launch.kernel = devices_->gpu_kernel(command.stream, call).kernel.get();
      launch.inputs = &inputs_[command.op];
      launch.outputs = &outputs_[command.op];
      scratch = std::max(scratch, launch.kernel->scratch_bytes());
      prepared.launches.push_back(launch);
    }
    Devices::Grow(device.scratch, scratch, device.gpu, device.name);
    scratches_.push_back(device.scratch.memory);
    for (Launch& launch : prepared.launches) launch.scratch = device.scratch.memory.get();
    return;
  }

  if (command.bytes == 0) return;  // a control edge: order only
  const auto gpu_of = [&](int device) { return IsHost(device) ? -1 : *(*devices_)[device].gpu; };
  const std::byte* source = At(command.source);
  const int from_gpu = gpu_of(command.source.device);
  const auto add_transfer = [&](const std::byte* from, Address to) {
    Transfer transfer;
    transfer.from = from;
    transfer.to = At(to);
    transfer.bytes = command.bytes;
    transfer.from_gpu = from_gpu;
    transfer.to_gpu = gpu_of(to.device);
    prepared.transfers.push_back(transfer);
  };
  if (command.layout.is_contiguous()) {
    // A view may begin behind its storage's first byte.
    const std::byte* from = source + command.layout.offset * SizeOf(command.layout.dtype);
    for (const Address& to : command.destinations) add_transfer(from, to);
    return;
  }

  // Strided: a kernel packs it, into the destination where it reaches that fast (the same GPU) or
  // where the source is on the host; else into scratch, which then travels as one piece.
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
  if (command.destinations.size() == 1 && gpu_of(only.device) == lane.gpu) {
    pack_to(At(only));
  } else {
    std::byte* const packed = copies.scratch.memory.get() + packer_scratch;
    pack_to(packed);
    for (const Address& to : command.destinations) add_transfer(packed, to);
    for (Transfer& transfer : prepared.transfers) transfer.from_gpu = lane.gpu;
  }
  prepared.launches.back().scratch = copies.scratch.memory.get();
}

void CudaProgram::PrepareHostCommand(int index) {
  const PlanCommand& command = plan_->commands[index];
  HostCommand prepared;
  prepared.command = index;
  if (command.type == PlanCommand::Type::kOp) {
    const PlannedOp& op = plan_->ops[command.op];
    for (const Address& address : op.inputs) inputs_[command.op].push_back(At(address));
    for (const Address& address : op.outputs) outputs_[command.op].push_back(At(address));
    Device& device = (*devices_)[command.stream];
    std::vector<CpuKernel*> kernels;
    std::int64_t scratch = 0;
    for (const KernelCall& call : op.work.calls) {
      kernels.push_back(&devices_->cpu_kernel(command.stream, call));
      scratch = std::max(scratch, kernels.back()->scratch_bytes());
    }
    Devices::Grow(device.scratch, scratch, std::nullopt, device.name);
    scratches_.push_back(device.scratch.memory);
    if (!kernels.empty()) {
      prepared.run = [kernels,
                      inputs = inputs_[command.op].data(),
                      outputs = outputs_[command.op].data(),
                      area = device.scratch.memory.get()] {
        for (CpuKernel* kernel : kernels) kernel->Run(inputs, outputs, area);
      };
    }
  } else if (command.bytes > 0) {
    std::vector<std::byte*> destinations;
    for (const Address& to : command.destinations) destinations.push_back(At(to));
    std::byte* const source = At(command.source);
    if (command.layout.is_contiguous()) {
      const std::byte* from = source + command.layout.offset * SizeOf(command.layout.dtype);
      prepared.run = [from, destinations, bytes = static_cast<size_t>(command.bytes)] {
        for (std::byte* to : destinations) std::memcpy(to, from, bytes);
      };
    } else {
      KernelCall pack;
      pack.kind = KernelKind::kCopy;
      pack.inputs.push_back({false, 0, command.layout});
      pack.outputs.push_back({true, 0, ContiguousView(command.layout.dtype, command.layout.shape)});
      const std::shared_ptr<CpuKernel> packer = PrepareCpuKernel(pack, /*threads=*/1);
      const std::shared_ptr<std::byte> area =
          AllocatePinned(packer->scratch_bytes(), NameOf(command));
      prepared.run = [packer, area, source, destinations] {
        void* inputs[] = {source};
        for (std::byte* to : destinations) {
          void* outputs[] = {to};
          packer->Run(inputs, outputs, area.get());
        }
      };
    }
  }
  host_lanes_[host_lane_of_stream_[command.stream]].job.commands.push_back(std::move(prepared));
}

void CudaProgram::Connect() {
  const std::vector<Connection> connections = ConnectCommands(plan_->commands, lane_of_stream_);
  const auto num_signals =
      std::ranges::count_if(connections, [](const Connection& c) { return c.has_counter; });
  num_counters_ = 2 + lanes_.size() + static_cast<size_t>(num_signals);
  counter_memory_ =
      AllocatePinned(static_cast<std::int64_t>(num_counters_ * sizeof(Counter)), "step counters");
  counters_ = reinterpret_cast<Counter*>(counter_memory_.get());
  std::fill_n(counters_, num_counters_, Counter{});
  Counter* next = counters_;
  latch_ = next++;
  gate_ = next++;
  for (Lane& lane : lanes_) lane.end = next++;
  std::vector<Counter*> counters(connections.size(), nullptr);
  for (size_t i = 0; i < connections.size(); ++i) {
    if (connections[i].has_counter) counters[i] = next++;
  }

  std::vector<cudaEvent_t> events(connections.size(), nullptr);
  for (GpuCommand& command : gpu_commands_) {  // in issue order: events exist before their waits
    const Connection& connection = connections[command.command];
    command.finished = counters[command.command];
    for (int wait : connection.events) command.wait_events.push_back(events[wait]);
    for (int wait : connection.counters) command.wait_counters.push_back(counters[wait]);
    if (!connection.has_event) continue;
    SelectGpu(lanes_[command.lane].gpu);
    command.done = MakeEvent(false);
    events[command.command] = command.done.get();
  }
  for (HostLane& lane : host_lanes_) {
    for (HostCommand& command : lane.job.commands) {
      command.finished = counters[command.command];
      for (int wait : connections[command.command].counters) {
        command.waits.push_back(counters[wait]);
      }
    }
  }
}

/// Runs every kernel once, alone: CUDA loads its code now, and an error is of this kernel.
void CudaProgram::RunKernelsOnce() {
  for (GpuCommand& command : gpu_commands_) {
    const PlanCommand& planned = plan_->commands[command.command];
    const Lane& lane = lanes_[command.lane];
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
    Named(planned, [&] {
      SelectGpu(lane.gpu);
      for (const Launch& launch : command.launches) {
        launch.kernel->Launch(
            launch.inputs->data(), launch.outputs->data(), launch.scratch, lane.stream);
      }
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(lane.stream));
    });
  }
}

void CudaProgram::SetInitialValues() {
  for (const InitialValue& value : plan_->initial_values) {
    if (value.bytes == 0) continue;
    std::byte* const to = At(value.address);
    const std::vector<std::byte>& bytes = devices_->initial_bytes(value);
    const Device& device = (*devices_)[value.address.device];
    if (!device.gpu) {
      std::memcpy(to, bytes.data(), bytes.size());
      continue;
    }
    try {
      SelectGpu(*device.gpu);
      EMPLACE_CUDA_CHECK(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    } catch (const CudaError& error) {
      throw RunError(fmt::format(
          "{}: initial value of tensor {}: {}", device.name, value.tensor, error.what()));
    }
  }
  // A copy from pageable memory may still be under way, and no stream of a step waits for it.
  for (int gpu : devices_->used_gpus()) {
    SelectGpu(gpu);
    EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());
  }
}

void CudaProgram::Enqueue(GpuCommand& command, bool traced, bool captured) {
  const Lane& lane = lanes_[command.lane];
  SelectGpu(lane.gpu);
  for (cudaEvent_t event : command.wait_events) {
    EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(lane.stream, event, 0));
  }
  for (const Counter* counter : command.wait_counters) EnqueueWait(lane.stream, counter);
  // In a graph these are nodes of their own rather than a matter of order.
  const unsigned trace_flags = captured ? cudaEventRecordExternal : cudaEventRecordDefault;
  traced = traced && command.has_work();
  if (traced) {
    EMPLACE_CUDA_CHECK(
        cudaEventRecordWithFlags(command.trace_start.get(), lane.stream, trace_flags));
  }
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
  if (traced) {
    EMPLACE_CUDA_CHECK(cudaEventRecordWithFlags(command.trace_end.get(), lane.stream, trace_flags));
  }
  if (command.done) EMPLACE_CUDA_CHECK(cudaEventRecord(command.done.get(), lane.stream));
  if (command.finished != nullptr) EnqueueSet(lane.stream, command.finished);
}

void CudaProgram::EnqueueAll(bool traced, bool captured) {
  for (GpuCommand& command : gpu_commands_) {
    Named(plan_->commands[command.command], [&] { Enqueue(command, traced, captured); });
  }
}

/// All commands as one graph: from the first lane's stream the others fork, and join it at the end.
GraphExec CudaProgram::Capture(bool traced) {
  const Lane& first = lanes_.front();
  SelectGpu(first.gpu);
  const Event fork = MakeEvent(false);
  cudaGraph_t captured = nullptr;
  try {
    EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(first.stream, cudaStreamCaptureModeRelaxed));
    try {
      EMPLACE_CUDA_CHECK(cudaEventRecord(fork.get(), first.stream));
      for (size_t l = 1; l < lanes_.size(); ++l) {
        EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(lanes_[l].stream, fork.get(), 0));
      }
      EnqueueAll(traced, /*captured=*/true);
      for (size_t l = 1; l < lanes_.size(); ++l) {
        SelectGpu(lanes_[l].gpu);
        EMPLACE_CUDA_CHECK(cudaEventRecord(lanes_[l].join.get(), lanes_[l].stream));
        EMPLACE_CUDA_CHECK(cudaStreamWaitEvent(first.stream, lanes_[l].join.get(), 0));
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
  } catch (const std::runtime_error& error) {
    throw RunError(std::string("the step cannot be captured as a CUDA graph (eager dispatch does "
                               "without): ") +
                   error.what());
  }
}

void CudaProgram::PrepareTrace(bool as_graph) {
  if (!overheads_.empty()) return;
  for (GpuCommand& command : gpu_commands_) {
    if (!command.has_work()) continue;
    SelectGpu(lanes_[command.lane].gpu);
    command.trace_start = MakeEvent(true);
    command.trace_end = MakeEvent(true);
  }
  for (Lane& lane : lanes_) {
    SelectGpu(lane.gpu);
    lane.base = MakeEvent(true);
  }
  if (as_graph) traced_graph_ = Capture(true);
  overheads_.resize(plan_->num_streams());
  for (int s = 0; s < plan_->num_streams(); ++s) {
    if (lane_of_stream_[s] < 0) continue;
    overheads_[s] = devices_->trace_overhead(lanes_[lane_of_stream_[s]].gpu, as_graph);
  }
}

StepRecord CudaProgram::Step(bool traced) {
  if (is_broken_) throw RunError("this program's devices have failed before");
  StepRecord record;
  const bool as_graph = graph_ != nullptr;
  std::fill_n(counters_, num_counters_, Counter{});
  abort_ = false;
  try {
    if (traced) PrepareTrace(as_graph);
    for (HostLane& lane : host_lanes_) {
      lane.job.traced = traced;
      lane.worker->Arm(lane.job, *gate_, abort_);
    }

    if (traced) {
      for (Lane& lane : lanes_) {
        SelectGpu(lane.gpu);
        EnqueueWait(lane.stream, latch_);
        EMPLACE_CUDA_CHECK(cudaEventRecord(lane.base.get(), lane.stream));
      }
    }
    const cudaStream_t origin = lanes_.empty() ? nullptr : devices_->origin(lanes_.front().gpu);
    if (as_graph) {
      // Held back until everything is handed over, so that the launch takes no part in the time.
      SelectGpu(lanes_.front().gpu);
      EnqueueWait(origin, latch_);
      EMPLACE_CUDA_CHECK(cudaEventRecord(start_.get(), origin));
      EMPLACE_CUDA_CHECK(cudaGraphLaunch((traced ? traced_graph_ : graph_).get(), origin));
      EMPLACE_CUDA_CHECK(cudaEventRecord(end_.get(), origin));
      for (Lane& lane : lanes_) EnqueueSet(origin, lane.end);
    }
    const auto start = SteadyClock::now();
    for (HostLane& lane : host_lanes_) lane.job.origin = start;
    SetFinished(*gate_);
    SetFinished(*latch_);
    if (!as_graph) {
      EnqueueAll(traced, /*captured=*/false);
      for (Lane& lane : lanes_) {
        SelectGpu(lane.gpu);
        EnqueueSet(lane.stream, lane.end);
      }
    }
    AwaitEnd();
    record.step_time =
        std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - start).count();
    if (as_graph && host_lanes_.empty()) {
      EMPLACE_CUDA_CHECK(cudaEventSynchronize(end_.get()));
      record.step_time = std::llround(NanosBetween(start_.get(), end_.get()));
    }
  } catch (const std::runtime_error& error) {
    is_broken_ = true;
    abort_ = true;
    // Workers may still stand at the gate and the GPU at the latch.
    SetFinished(*gate_);
    SetFinished(*latch_);
    for (HostLane& lane : host_lanes_) lane.worker->Join();
    for (HostLane& lane : host_lanes_) {
      for (const HostCommand& command : lane.job.commands) {
        if (command.finished != nullptr) SetFinished(*command.finished);
      }
    }
    for (Lane& lane : lanes_) {
      cudaStreamSynchronize(lane.stream);
      cudaStreamSynchronize(devices_->origin(lane.gpu));
    }
    throw RunError(error.what());
  }
  for (const HostLane& lane : host_lanes_) {
    if (!lane.job.error) continue;
    Named(plan_->commands[lane.job.commands[lane.job.failed].command],
          [&] { std::rethrow_exception(lane.job.error); });
  }
  if (traced) CollectTrace(record);
  return record;
}

void CudaProgram::AwaitEnd() {
  const auto is_done = [&] {
    for (const Lane& lane : lanes_) {
      if (!IsFinished(*lane.end)) return false;
    }
    for (const HostLane& lane : host_lanes_) {
      if (!lane.worker->IsDone()) return false;
    }
    return true;
  };
  // Asking CUDA costs time, so only once in a while: a GPU that has failed sets no counter.
  auto next_query = SteadyClock::now() + std::chrono::milliseconds(50);
  while (!is_done()) {
    if (SteadyClock::now() < next_query) continue;
    for (const Lane& lane : lanes_) {
      const cudaError_t error = cudaStreamQuery(lane.stream);
      cudaGetLastError();  // "not ready" counts as an error and would show up in a later check
      if (error == cudaSuccess || error == cudaErrorNotReady) continue;
      throw RunError(fmt::format("{} failed in a step: {} ({})",
                                 lane.name,
                                 cudaGetErrorName(error),
                                 cudaGetErrorString(error)));
    }
    next_query = SteadyClock::now() + std::chrono::milliseconds(50);
  }
}

void CudaProgram::CollectTrace(StepRecord& record) {
  record.start.assign(plan_->commands.size(), 0);
  record.finish.assign(plan_->commands.size(), 0);
  std::vector<bool> is_timed(plan_->commands.size(), true);
  try {
    for (const Lane& lane : lanes_) EMPLACE_CUDA_CHECK(cudaStreamSynchronize(lane.stream));
    for (const GpuCommand& command : gpu_commands_) {
      is_timed[command.command] = command.has_work();
      if (!command.has_work()) continue;
      const cudaEvent_t base = lanes_[command.lane].base.get();
      record.start[command.command] = std::llround(NanosBetween(base, command.trace_start.get()));
      record.finish[command.command] = std::llround(NanosBetween(base, command.trace_end.get()));
    }
  } catch (const CudaError& error) {
    is_broken_ = true;
    throw RunError(error.what());
  }
  for (const HostLane& lane : host_lanes_) {
    for (size_t i = 0; i < lane.job.commands.size(); ++i) {
      record.start[lane.job.commands[i].command] = lane.job.start[i];
      record.finish[lane.job.commands[i].command] = lane.job.finish[i];
    }
  }
  Retime(*plan_, is_timed, overheads_, record);
}

std::vector<std::byte> CudaProgram::ReadTensor(Address address, std::int64_t bytes) {
  if (address.device < 0 || address.device >= plan_->num_devices || address.offset < 0 ||
      bytes < 0 || address.offset + bytes > plan_->arena_bytes[address.device]) {
    throw InputError(fmt::format(
        "no tensor of {} bytes at offset {} of device {}", bytes, address.offset, address.device));
  }
  std::vector<std::byte> result(static_cast<size_t>(bytes));
  try {
    const Device& device = (*devices_)[address.device];
    if (device.gpu) SelectGpu(*device.gpu);
    EMPLACE_CUDA_CHECK(cudaMemcpy(result.data(), At(address), result.size(), cudaMemcpyDefault));
  } catch (const CudaError& error) {
    throw RunError(error.what());
  }
  return result;
}

}  // namespace emplace::cuda

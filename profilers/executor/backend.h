#pragma once

// The interface to real devices: all that the profiler and the executor need of a machine, without
// CUDA or threads in it. Implementations: cpu/cpu_backend.h (groups of cores) and
// cuda/cuda_backend.h (GPUs and partitions of them, beside CPU devices if wanted); machine.h opens
// either by device names. Tests have a third one with invented times.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "profilers/executor/plan.h"

namespace emplace {

/// A device that placements can use.
struct BackendDevice {
  std::string name;  ///< "cpu:0", "gpu:0", "gpu:0.2" (a partition); what cluster files call it
  DeviceKind kind;   ///< name and class only; its figures come from calibration
  std::int64_t memory = kUnlimitedMemory;  ///< that arenas may take [B]
  std::string description;                 ///< "core 0 of AMD EPYC", "32 of 132 SMs of NVIDIA H200"
};

/// A direct way between two devices, in one direction. Two devices may have several.
struct BackendLink {
  int from = 0, to = 0;  ///< devices
  /// What it copies between: "host" (two CPU devices), "pinned" (page-locked host memory and a
  /// GPU), "device" (two partitions of a GPU), "peer" (two GPUs).
  std::string memory;
  /// Are its copies made by the source's own worker, which does nothing else meanwhile?
  bool by_source = false;
};

/// Takes `count` timings and appends them [ns].
using Sampler = std::function<void(int count, std::vector<double>& timings)>;

/// Whether an op's data may be in the caches when it is timed.
enum class CacheState : std::uint8_t { kWarm, kCold };

/// An op on a device, with memory of its own.
struct LoneOp {
  int device = 0;
  OpWork work;
  std::vector<std::int64_t> input_bytes, output_bytes;  ///< as OpSampler() takes them [B]
};

/// An op that can run at once (Backend::Prepare()).
class PreparedOp {
 public:
  virtual ~PreparedOp() = default;
};

/// What dispatching a command costs apart from its work, each a time per command.
enum class DispatchQuantity : std::uint8_t {
  kNullKernel,   ///< an empty kernel, back to back with others
  kLaunch,       ///< from the host's issue of a command to its start
  kIssue,        ///< what the host needs to issue a command
  kGraphLaunch,  ///< a command of a captured graph
  kWait,         ///< how much later a command starts that waits for one of another stream
};

/// Who hands the commands of a step to the devices.
enum class DispatchMode : std::uint8_t {
  kEager,  ///< the host issues every command in every step
  kGraph,  ///< the program is handed over once: a captured CUDA graph, a CPU worker's own list
};

/// A device's clock at one moment.
struct ClockReading {
  std::string device;
  double mhz = 0;                     ///< compute clock; 0: not readable
  std::optional<double> temperature;  ///< [degrees C]
};

/// What one step took.
struct StepRecord {
  Nanos step_time = 0;               ///< from the start to the last command's end [ns]
  std::vector<Nanos> start, finish;  ///< [num_commands] since the step's start, if traced [ns]
};

/// A plan on its devices, with its memory taken and its kernels prepared: ready to run steps.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs one step and waits for its end.
  /// @param traced  record when every command started and finished
  /// @throws RunError naming op and device (a kernel that fails, a device that disappears)
  virtual StepRecord Step(bool traced) = 0;
  /// The bytes at `address` after a step. Only tests need it: it is how they see that a step has
  /// computed the right numbers.
  /// @param bytes  to read [B] @throws InputError if the plan holds no tensor of that size there
  virtual std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) = 0;
};

/// A machine's devices. Used from one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  /// In the order in which they were asked for; a device's number is its index here.
  virtual std::span<const BackendDevice> devices() const = 0;
  virtual std::span<const BackendLink> links() const = 0;
  /// What times depend on besides the devices, for the cost file: versions and models by name
  /// ("cpu", "gpu", "driver", "onednn", "cuda_libraries", ...).
  virtual std::map<std::string, std::string> Properties() const = 0;
  /// One reading per CPU device and per GPU.
  virtual std::vector<ClockReading> ReadClocks() = 0;

  /// Takes memory and prepares kernels for a plan. The programs of a backend share its memory: only
  /// one may run a step at a time, and a step starts from what the step before has left there. Load
  /// sets the plan's initial values.
  /// @param plan  device d of the plan is devices()[d]; kept alive by the program
  /// @throws InputError for a dispatch mode that the devices do not know (CPU devices: eager)
  /// @throws RunError naming device and bytes if memory runs out, op and device if a kernel cannot
  /// be prepared
  virtual std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                        DispatchMode mode) = 0;

  /// Times an op alone on its device, on memory of its own (op_memory.h). The sampler is valid
  /// until the next call of this function.
  /// @param input_bytes, output_bytes  of the storage that each argument's views start at [B]
  virtual Sampler OpSampler(int device,
                            const OpWork& work,
                            std::span<const std::int64_t> input_bytes,
                            std::span<const std::int64_t> output_bytes,
                            CacheState cache) = 0;
  /// Makes an op ready to run alone. It holds its memory as long as it lives.
  virtual std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) = 0;
  /// Times an op, warm, while another device runs another op again and again.
  /// @param timed, beside  of Prepare(), on two devices
  /// @return nullopt where ops of the two devices share neither caches nor memory (a CPU device and
  /// a GPU; two GPUs)
  virtual std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                               std::shared_ptr<PreparedOp> beside) = 0;
  /// Times an op, warm, with nothing beside it.
  virtual Sampler AloneSampler(std::shared_ptr<PreparedOp> op) = 0;
  /// Times copies over a link.
  /// @param link  index into links()    @param beside  likewise; a link that copies without pause
  /// meanwhile. Empty: the link has the machine to itself
  virtual Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside = {}) = 0;
  /// Times what dispatch costs; nullopt where the quantity means nothing (a CPU device has no
  /// captured graph).
  virtual std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) = 0;
};

}  // namespace emplace

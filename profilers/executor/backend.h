#pragma once

// The interface between real devices and the profiler and executor, without CUDA or threads in it.
// Implementations: cpu/cpu_backend.h (groups of cores) and cuda/cuda_backend.h (GPUs and partitions
// of GPUs, with CPU devices on request). machine.h opens either by device names. Tests have a third
// implementation with invented times.

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
  std::string name;  ///< "cpu:0", "gpu:0", "gpu:0.2" (a partition); also the name in cluster files
  DeviceKind kind;   ///< name and class only; calibration adds the measured parameters
  std::int64_t memory = kUnlimitedMemory;  ///< available to arenas [B]
  std::string description;                 ///< "core 0 of AMD EPYC", "32 of 132 SMs of NVIDIA H200"
};

/// A direct link between two devices, in one direction. Two devices may have several links.
struct BackendLink {
  int from = 0, to = 0;  ///< devices
  /// The memory that the link copies between: "host" (two CPU devices), "pinned" (page-locked host
  /// memory and a GPU), "device" (two partitions of a GPU), "peer" (two GPUs).
  std::string memory;
  /// Whether the source's own worker makes the copies and does nothing else meanwhile.
  bool by_source = false;
};

/// Takes `count` timings and appends them [ns].
using Sampler = std::function<void(int count, std::vector<double>& timings)>;

/// Whether an op's data may be in the caches when it is timed.
enum class CacheState : std::uint8_t { kWarm, kCold };

/// An op that is timed alone on its device, with its own memory (MemoryOf() in initial_values.h).
struct LoneOp {
  int device = 0;
  OpWork work;
  /// Of the storage at which the views of each argument start [B]
  std::vector<std::int64_t> input_bytes, output_bytes;
  CacheState cache = CacheState::kWarm;
};

/// An op that is ready to run (Backend::Prepare()).
class PreparedOp {
 public:
  virtual ~PreparedOp() = default;
};

/// Parts of the cost of dispatching a command, each a time per command without the work.
enum class DispatchQuantity : std::uint8_t {
  kNullKernel,   ///< an empty kernel in a series of empty kernels
  kLaunch,       ///< from the issue of a command by the host to its start
  kIssue,        ///< time for which the host is busy issuing a command
  kGraphLaunch,  ///< a command of a captured graph
  kWait,         ///< delay of the start of a command that waits for a command of another stream
};

/// How the commands of a step reach the devices.
enum class DispatchMode : std::uint8_t {
  kEager,  ///< the host issues every command in every step
  kGraph,  ///< the program is submitted once: a captured CUDA graph, a CPU worker's own list
};

struct ClockReading {
  std::string device;
  double mhz = 0;                     ///< compute clock; 0: not readable
  std::optional<double> temperature;  ///< [degrees C]
};

struct StepRecord {
  Nanos step_time = 0;               ///< from the start to the last command's end [ns]
  std::vector<Nanos> start, finish;  ///< [num_commands] since the step's start, if traced [ns]
};

/// A plan whose memory is allocated and whose kernels are prepared, ready to run steps.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs one step and waits for its end.
  /// @param traced  record the start and finish of every command
  /// @throws RunError naming op and device (a kernel that fails, a device that disappears)
  virtual StepRecord Step(bool traced) = 0;
  /// Returns the bytes at `address` after a step. Only tests use it, to check computed numbers.
  /// @param bytes  number of bytes to read [B]
  /// @throws InputError if the plan has no tensor of that size there
  virtual std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) = 0;
};

/// The devices of a machine. Used from one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Returns the devices in the order of the request. A device's number is its index here.
  virtual std::span<const BackendDevice> devices() const = 0;
  virtual std::span<const BackendLink> links() const = 0;
  /// Returns the properties of the machine that times depend on besides the devices, for the cost
  /// file: versions and models by name ("cpu", "gpu", "driver", "onednn", "cuda_libraries", ...).
  virtual std::map<std::string, std::string> Properties() const = 0;
  /// Returns one reading per CPU device and per GPU.
  virtual std::vector<ClockReading> ReadClocks() = 0;

  /// Allocates the memory of a plan, sets its initial values, and prepares its kernels. The
  /// programs of a backend share its memory. Only one may run a step at a time, and a step starts
  /// with the memory contents that the previous step left.
  /// @param plan  device d of the plan is devices()[d]; kept alive by the program
  /// @throws InputError for a dispatch mode that the devices do not support (CPU devices: eager)
  /// @throws RunError naming device and bytes if memory runs out, op and device if a kernel cannot
  ///   be prepared
  virtual std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                        DispatchMode mode) = 0;

  /// Prepares an op to run alone. The op holds its memory until it is destroyed.
  /// @throws RunError naming a call without a kernel
  virtual std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) = 0;
  /// Returns a sampler that times an op with warm caches while another device repeats another op.
  /// @param timed, beside  of Prepare(), on two devices
  /// @return nullopt if ops of the two devices share neither caches nor memory (a CPU device and a
  ///   GPU; two GPUs)
  virtual std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                               std::shared_ptr<PreparedOp> beside) = 0;
  /// Returns a sampler that times an op while the other devices are idle.
  virtual Sampler AloneSampler(std::shared_ptr<PreparedOp> op) = 0;
  /// Returns a sampler that times copies over a link.
  /// @param link    index into links()
  /// @param beside  index of a link that copies without pause meanwhile; empty: no other link
  ///   copies
  virtual Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside = {}) = 0;
  /// Returns a sampler that times a part of the dispatch cost, or nullopt if the quantity does not
  /// apply (a CPU device has no captured graph).
  virtual std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) = 0;
};

}  // namespace emplace

#pragma once

// The door to real devices: what profiler and executor need of a machine, and nothing of CUDA or
// threads. Implementations: cpu/cpu_backend.h (groups of cores), cuda/ (GPUs and partitions of
// them, with a CPU beside them if wanted).

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

struct BackendDevice {
  std::string name;  ///< "cpu:0", "gpu:0", "gpu:0.2" (a partition); what cluster files call it
  DeviceKind kind;   ///< name and class; figures come from calibration
  std::int64_t memory = kUnlimitedMemory;  ///< that arenas may take [B]
  std::string description;                 ///< "core 0 of AMD EPYC", "32 of 132 SMs of NVIDIA H200"
};

/// A direct way between two devices.
struct BackendLink {
  int from = 0, to = 0;  ///< devices
  std::string memory;    ///< "host", "pinned", "pageable", "device", "peer": kinds of memory timed
};

/// Appends `count` timings [ns].
using Sampler = std::function<void(int count, std::vector<double>& timings)>;

enum class CacheState : std::uint8_t { kWarm, kCold };

enum class DispatchQuantity : std::uint8_t {
  kNullKernel,   ///< an empty kernel on the device
  kLaunch,       ///< from the host's issue to the start
  kIssue,        ///< host time per command
  kGraphLaunch,  ///< per command of a captured graph
  kWait,         ///< extra start delay after an event of another stream
};

enum class DispatchMode : std::uint8_t {
  kEager,  ///< the host issues every command in every step
  kGraph,  ///< the program is handed over once: a captured CUDA graph, a CPU worker's own list
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

/// A plan on its devices: memory taken, kernels prepared.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs one step and waits for its end. @param traced  with the times of all commands
  /// @throws RunError naming op and device (a kernel that fails, a device that disappears)
  virtual StepRecord Step(bool traced) = 0;
  /// The bytes of a tensor as `device` holds them after a step; for tests.
  /// @throws InputError if the plan holds no such tensor there at the end of the step
  virtual std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::span<const BackendDevice> devices() const = 0;
  virtual std::span<const BackendLink> links() const = 0;
  /// Name -> value for the cost file: "cpu", "gpu", "driver", "onednn", "cudnn", ...
  virtual std::map<std::string, std::string> Properties() const = 0;
  virtual std::vector<ClockReading> ReadClocks() = 0;

  /// The programs of a backend share its arenas, so that only one of them may be stepped at a time,
  /// and each step starts from whatever the one before left in memory; initial values are set at
  /// every Load.
  /// @param plan  device d of the plan is devices()[d]; kept alive by the program
  /// @throws InputError for a dispatch mode that the devices do not know (CPU devices: eager)
  /// @throws RunError naming device and bytes if memory runs out, op and device if a kernel cannot
  /// be prepared
  virtual std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                        DispatchMode mode) = 0;

  /// Times an op alone on its device: real buffers of the given sizes, random data. Valid until the
  /// next call of this function.
  /// @param input_bytes, output_bytes  of the storage that each argument's views start at [B]
  virtual Sampler OpSampler(int device,
                            const OpWork& work,
                            std::span<const std::int64_t> input_bytes,
                            std::span<const std::int64_t> output_bytes,
                            CacheState cache) = 0;
  /// Times copies over a link, alone, or while `beside` (index into links()) copies without pause.
  virtual Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside = {}) = 0;
  /// nullopt where the quantity means nothing (a CPU has no captured graph).
  virtual std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) = 0;
};

}  // namespace emplace

#pragma once

// A plan as lists of commands for pinned workers, one for each device.
//
// A worker runs, in the order of the plan, the ops of its device and the copies that leave it: as
// the simulator has it where a channel occupies its source (CalibratedCluster() says so of these).
// Further hops of a copy are made by the worker of its first.
//
// A command waits until the streams it depends on have come far enough. For that each stream has a
// counter on a cache line of its own, which is raised after every command that another worker waits
// for. Counters are never set back: each step counts from 2^32 more than the one before, so nothing
// is reset between steps. All waits are for commands that stand before in the plan, so that no two
// workers wait for one another.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/cpu/packed_copy.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// A plan loaded by the CPU backend.
class CpuProgram : public Program {
 public:
  /// Prepares kernels, touches memory so that no page is missing later, and writes initial values.
  /// @throws RunError naming device and bytes if the plan does not fit, op and device if a kernel
  /// cannot be prepared
  CpuProgram(std::shared_ptr<CpuMachine> machine, std::shared_ptr<const ExecutionPlan> plan);

  StepRecord Step(bool traced) override;
  std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) override;

 private:
  struct Wait {
    int stream = 0;
    std::uint64_t count = 0;  // commands of the stream that must have finished
  };
  struct Command {
    int index = 0;  // in the plan
    int stream = 0;
    std::uint64_t announced = 0;  // the stream's counter after it; 0: nobody waits for it
    std::vector<Wait> waits;
  };
  struct OpCommand : Command {
    std::vector<CpuKernel*> kernels;
    std::vector<void*> inputs, outputs;
  };
  struct CopyCommand : Command {
    PackedCopy copy{{}};
    bool moves = false;  // false: a control edge
    const std::byte* source = nullptr;
    std::vector<std::byte*> destinations;
  };
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
  };

  void CheckMemory() const;
  void Link();
  void PrepareDevice(int device);
  std::byte* PointerTo(const Address& address) const;

  void RunDevice(int device);
  void Run(int device, OpCommand& command);
  void Run(int device, CopyCommand& command);
  /// False if another worker has failed.
  bool WaitFor(const Command& command);
  void MeetAtStart();
  bool Passed(const Wait& wait) const;
  Nanos Now() const;  // since the step's start [ns]

  std::shared_ptr<CpuMachine> machine_;
  std::shared_ptr<const ExecutionPlan> plan_;
  std::vector<std::vector<std::variant<OpCommand, CopyCommand>>> lists_;  // [num_devices]

  std::uint64_t base_ = 0;         // 2^32 * number of the step
  std::vector<Counter> progress_;  // [num_streams]
  bool traced_ = false;
  StepRecord record_;
  std::vector<Nanos> device_end_;                   // [num_devices]
  alignas(64) std::atomic<int> missing_{0};         // devices not yet at the start
  alignas(64) std::atomic<std::int64_t> start_{0};  // steady_clock at the start, 0: not yet [ns]
  alignas(64) std::atomic<bool> failed_{false};
};

}  // namespace emplace

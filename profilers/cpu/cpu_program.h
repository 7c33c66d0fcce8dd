#pragma once

// A plan as lists of commands for pinned workers.
//
// Every worker runs the list of its device. A command waits until the streams it depends on have
// come far enough. For that each stream has a counter on a cache line of its own, which is raised
// after every command that another stream waits for. Counters are never set back: each step counts
// from 2^32 more than the one before, so nothing is reset between steps.
//
// A worker that waits, or has finished its list, helps with copies. A channel is a list of copies
// behind a lock that is only tried, never waited for. Its copies are done in order and in chunks,
// so that a helper soon sees that its own work is ready.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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
    int index = 0;                // in the plan
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
  // A channel's list and how far it has come in this step. What is not atomic belongs to whoever
  // holds `busy`.
  struct alignas(64) Channel {
    std::atomic<bool> busy{false};
    std::atomic<int> next{0};
    std::int64_t copied = 0;  // bytes of command `next`
    Nanos end = 0;
    int stream = 0;
    std::vector<CopyCommand> commands;
  };

  void CheckMemory() const;
  void Link();
  void PrepareDevice(int device);
  std::byte* PointerTo(const Address& address) const;

  void RunWorker(int worker);
  void RunDevice(int device);
  void RunOp(int device, const OpCommand& command);
  /// False if another worker has failed.
  bool WaitFor(const Command& command);
  void MeetAtStart();
  bool IsReady(const Command& command) const;
  bool Passed(const Wait& wait) const;
  void Announce(int stream, const Command& command);
  /// Does copies of the channel that are ready, until none is or `own` is. @param own  may be
  /// nullptr
  /// @return whether it did any
  bool Help(Channel& channel, const Command* own);
  bool HelpAny(const Command* own);
  Nanos Now() const;  // since the step's start [ns]

  std::shared_ptr<CpuMachine> machine_;
  std::shared_ptr<const ExecutionPlan> plan_;
  std::vector<std::vector<OpCommand>> lists_;  // [num_devices]
  std::vector<Channel> channels_;              // those with commands
  std::vector<Channel*> channel_of_stream_;    // [num_streams] nullptr: a device, or no commands

  std::uint64_t base_ = 0;         // 2^32 * number of the step
  std::vector<Counter> progress_;  // [num_streams]
  bool traced_ = false;
  StepRecord record_;
  std::vector<Nanos> device_end_;                   // [num_devices]
  alignas(64) std::atomic<int> missing_{0};         // devices not yet at the start
  alignas(64) std::atomic<std::int64_t> start_{0};  // steady_clock at the start, 0: not yet [ns]
  alignas(64) std::atomic<int> open_channels_{0};
  alignas(64) std::atomic<bool> failed_{false};
};

}  // namespace emplace

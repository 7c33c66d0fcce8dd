#pragma once

// Parts of the plain implementation: one function or class per rule of README.md, for the sources
// reference*.cc and for the table of semantics.

#include <span>
#include <vector>

#include "framework/schedule/transfer_plan.h"
#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace::reference {

/// The servers that every semantics has, slots of devices and channels, and when each is free
/// again. Which op or transfer is served next is the semantics' affair. Times in [ns].
struct Servers {
  /// Everything free at 0.
  Servers(const Cluster& cluster, bool channel_contention);

  /// Slot of a device that is free first, least index on ties.
  int PickSlot(int device) const;
  /// Runs an op of cost `cost` on `slot` of `device` from `start` on. The slot is free again after
  /// the gap of the device, which an op of cost 0 does not have. @return finish
  Nanos Run(int device, int slot, Nanos start, Nanos cost);
  /// When a transfer that is ready at `ready` starts on `channel`: when the channel is free, or at
  /// once without contention.
  Nanos ChannelStart(int channel, Nanos ready) const;
  /// Puts `bytes` on `channel` at `start`. Latency does not occupy the channel. @return arrival
  Nanos Send(int channel, Nanos start, std::int64_t bytes);
  /// When the last server is free again, gaps included: what `count_gaps` asks for.
  Nanos LatestFree() const;

  const Cluster& cluster;
  bool channel_contention;
  std::vector<std::vector<Nanos>> slot_free;  ///< [num_devices][slots]
  std::vector<Nanos> channel_free;            ///< [num_channels]
};

/// Step time, busy times, channels and op times from a timeline's events. Memory is left to the
/// functions below. @param count_gaps  the step lasts until the last server is free
Outcome Summarize(const Problem& problem,
                  const Timeline& timeline,
                  const Servers& servers,
                  bool count_gaps);

/// The events of one step in the order of service, and their summary. In queue semantics the ready
/// times of that order never decrease; in stream semantics it is the issue order.
/// @param device_of_op  [num_ops], all allowed
/// @throws InputError naming op, tensor and both devices if a needed route is missing
Timeline SimulateQueue(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       const SimulatorOptions& options);
Timeline SimulateStream(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        const SimulatorOptions& options);

/// Fill in timeline.memory and the peaks of its outcome; deficits are left to SimulateReference().
/// Queue semantics counts by time, stream semantics by issue order.
/// @param timeline  of the same problem and placement, from the function of the semantics above
void AddQueueMemory(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    Timeline& timeline);
void AddStreamMemory(const Problem& problem,
                     std::span<const DeviceIndex> device_of_op,
                     Timeline& timeline);

}  // namespace emplace::reference

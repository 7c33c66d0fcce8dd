#pragma once

// Parts of the reference implementation: one function per rule of the contract. Internal to
// reference*.cc.

#include <span>
#include <vector>

#include "framework/schedule/transfer_plan.h"
#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace::reference {

/// What both semantics share: what serves, and when it is free again.
struct Servers {
  Servers(const Cluster& cluster, bool channel_contention);

  /// Slot that is free first, least index on ties.
  int PickSlot(int device) const;
  /// Starts an op of cost `cost` on `slot` of `device` at `start`. @return finish [ns]
  Nanos Run(int device, int slot, Nanos start, Nanos cost);
  /// When a transfer that is ready at `ready` starts on `channel`: at once without contention. [ns]
  Nanos ChannelStart(int channel, Nanos ready) const;
  /// Puts `bytes` on `channel` at `start`. @return arrival [ns]
  Nanos Send(int channel, Nanos start, std::int64_t bytes);
  /// Latest time at which any server that worked is free again, gaps included.
  Nanos LatestFree() const;

  const Cluster& cluster;
  bool channel_contention;
  std::vector<std::vector<Nanos>> slot_free;  ///< [num_devices][slots]
  std::vector<Nanos> channel_free;            ///< [num_channels]
};

/// Step time and what the servers did, from a timeline's events. Memory is left to the functions
/// below.
Outcome Summarize(const Problem& problem,
                  const Timeline& timeline,
                  const Servers& servers,
                  bool count_gaps);

Timeline SimulateQueue(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       const SimulatorOptions& options);
Timeline SimulateStream(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        const SimulatorOptions& options);

/// Fill timeline.memory and the peaks of its outcome: by time (Q), by issue order (S).
void AddQueueMemory(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    Timeline& timeline);
void AddStreamMemory(const Problem& problem,
                     std::span<const DeviceIndex> device_of_op,
                     Timeline& timeline);

}  // namespace emplace::reference

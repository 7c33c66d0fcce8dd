#pragma once

// Parts of the plain implementation, one function or class per rule of README.md. Used by the
// sources reference*.cc and by the table of semantics.

#include <span>
#include <vector>

#include "framework/schedule/transfer_plan.h"
#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace::reference {

/// The servers that every semantics has (slots of devices, channels and the host), and the times at
/// which each is free again. The order of service belongs to the semantics. Times in [ns].
struct Servers {
  /// Sets all servers free at 0.
  Servers(const Cluster& cluster, bool channel_contention);

  /// Returns the slot of a device that is free first, the least index on ties.
  int PickSlot(int device) const;
  /// Runs an op of cost `cost` on `slot` of `device` from `start` on. The slot is free again after
  /// the gap of the device, which an op of cost 0 does not have. @return finish
  Nanos Run(int device, int slot, Nanos start, Nanos cost);
  /// Issues a command of the host for `device`, not before `ready`. @return its earliest start
  Nanos Issue(int device, Nanos ready);
  /// Makes one hop over `channel`, of a copy from `source` to `destination` (any that it serves).
  /// It starts at `earliest`, or when the channel and the slots that it occupies are free; without
  /// contention it does not wait for the channel. Latency occupies no server.
  struct Hop {
    int source_slot = -1, destination_slot = -1;  ///< -1: none occupied
    Nanos start = 0, wire = 0, arrival = 0;
  };
  Hop Send(int channel, int source, int destination, Nanos earliest, std::int64_t bytes);
  /// Returns the time at which the last server is free again, gaps included, for `count_gaps`.
  Nanos LatestFree() const;

  const Cluster& cluster;
  bool channel_contention;
  std::vector<std::vector<Nanos>> slot_free;  ///< [num_devices][slots]
  std::vector<Nanos> channel_free;            ///< [num_channels]
  Nanos host = 0;                             ///< the host's clock
};

/// Returns the time of an op on its device: its cost and its cold reads (ColdReads()). [ns]
Nanos CostWithColdReads(const Problem& problem, std::span<const DeviceIndex> device_of_op, int op);

/// Returns step time, busy times, channels and op times from a timeline's events; memory is left to
/// the functions below. @param count_gaps  the step lasts until the last server is free
Outcome Summarize(const Problem& problem,
                  const Timeline& timeline,
                  const Servers& servers,
                  bool count_gaps);

/// Return the events of one step in the order of service, and their summary. In queue semantics the
/// ready times of that order never decrease; in the others it is the issue order.
/// @param device_of_op  [num_ops], all allowed
/// @throws InputError naming op, tensor and both devices if a route is missing
Timeline SimulateQueue(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       const SimulatorOptions& options);
Timeline SimulateStream(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        const SimulatorOptions& options);
Timeline SimulateInterference(const Problem& problem,
                              std::span<const DeviceIndex> device_of_op,
                              const SimulatorOptions& options);

/// Fill in timeline.memory and the peaks of its outcome; SimulateReference() adds the deficits.
/// Queue semantics counts by time, the others by issue order.
/// @param timeline  of the same problem and placement, from the function of the semantics above
void AddQueueMemory(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    Timeline& timeline);
void AddStreamMemory(const Problem& problem,
                     std::span<const DeviceIndex> device_of_op,
                     Timeline& timeline);

}  // namespace emplace::reference

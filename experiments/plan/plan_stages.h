#pragma once

// The contiguous stages of a replica: layers 0, 1, ... are cut into stages, each on a device of its
// own, or into virtual stages (Schedule::kInterleaved), to which the devices come in turn.

#include <functional>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// The stages of a replica, in the order of the layers.
struct Stages {
  std::vector<int> end;     ///< [stages] first layer after the stage
  std::vector<int> device;  ///< [stages]; virtual stages: its devices again and again

  /// Returns the number of different devices.
  int num_devices() const;
  auto operator<=>(const Stages&) const = default;
};

/// A stage of the layers [begin, end) on a device, with the stage that follows it.
struct StageChoice {
  int begin, end, device;
  int next;       ///< device of the stage that follows; -1: none
  int following;  ///< number of the stages that follow
};

/// Returns the time of a stage [ns]; kMaxNanos if it and all that begin earlier are impossible.
using StageTime = std::function<Nanos(const StageChoice&)>;

struct BalancedStages {
  Stages stages;              ///< none if no stages are possible
  Nanos slowest = kMaxNanos;  ///< time of the slowest stage [ns]
};

/// Returns the stages whose slowest one takes the least time, for 1, 2, ... stages. A dynamic
/// program over the layers and the number of used devices of each class, from the last stage to the
/// first. It uses the devices of a class from the last to the first; the result has the first ones
/// instead, in their order. [least number of devices and layers]
/// @param classes  devices of equal times, ascending
std::vector<BalancedStages> BalanceStages(int num_layers,
                                          const std::vector<std::vector<int>>& classes,
                                          const StageTime& time);

/// Returns whether the dynamic program would have more than 4,096 numbers of used devices.
bool TooManyClasses(const std::vector<std::vector<int>>& classes);

/// Returns stages of about equal numbers of layers, on the devices in their order; with several
/// virtual stages on each device, all of these.
Stages EvenStages(int num_layers,
                  const std::vector<int>& devices,
                  int num_stages,
                  int virtual_stages = 1);

/// Returns the neighbours of stages, each with one change: a boundary moved by one or two layers,
/// two devices exchanged, another device.
/// @param devices  of the replica
/// @param alike    [all devices] equal numbers if the exchange of two devices changes nothing
std::vector<Stages> NeighborsOf(const Stages& stages,
                                int num_layers,
                                const std::vector<int>& devices,
                                const std::vector<int>& alike);

/// Returns all stages, of those that are alike one; none if there are more than `most`.
/// @param num_stages  of devices; each has so many virtual stages
std::vector<Stages> AllStages(int num_layers,
                              const std::vector<int>& devices,
                              int num_stages,
                              const std::vector<int>& alike,
                              std::size_t most,
                              int virtual_stages = 1);

}  // namespace emplace

#pragma once

// Divisions of the devices of a cluster into replicas.

#include <vector>

#include "framework/plan/plan.h"

namespace emplace {

/// Returns the devices on which stages run (HasStages()), ascending.
std::vector<int> StageDevices(const Cluster& cluster);

/// Returns plans with this number of replicas and different groups of devices: the devices in their
/// order; of devices of several kinds or in several nodes (FindNodes()) also by kind or node, and
/// with equal shares of each. Replicas with shares of all nodes reduce their gradients within
/// nodes, and send activations between them.
/// @param replicas  a divisor of the number of StageDevices()
std::vector<Plan> PlansOfReplicas(const Cluster& cluster, int replicas);

/// Returns whether the exchange of two devices changes nothing, except for the order in which
/// copies of a tensor for several devices are sent.
/// @param alike  [num_devices] devices of equal costs have equal numbers (DevicesOfEqualCosts())
bool Interchangeable(const Cluster& cluster, const std::vector<int>& alike, int a, int b);

}  // namespace emplace

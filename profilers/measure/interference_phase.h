#pragma once

// The phase of a profile that runs ops beside one another: which devices share caches or memory
// bandwidth, how much each op signature suffers from neighbours, and how much it makes them suffer
// (simulator/README.md, "Interference semantics").
//
// The yardstick is the *load*: a copy of 64 MiB that no cache holds. Its pressure is 1. So the
// sensitivity of an op is by how much longer it takes beside the load on a neighbour, and its
// pressure is by how much longer the neighbour's load takes beside the op, in units of what the
// load does to the load. That a product of two such numbers tells what any two ops do to one
// another is a model (of rank 1), and an approximation: the heaviest op of each class is run beside
// that of each other class, and both the measured and the modelled factor are put into the table.

#include <string>

#include "framework/cost/cost_table.h"
#include "profilers/measure/op_phase.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills CostTable::interference, OpMeasurement::interference of the ops that take longest alone,
/// as many as ProfileOptions::interference_seconds allow for each device kind, and
/// DeviceKind::interference by class: means over these ops, weighted by their times, and for
/// transfers the figures of a copy of 1 MiB. Only where they are missing. A slowdown that does not
/// stand out of the noise (95 % intervals apart) counts as none.
/// @param ops  of which OpMeasurement::isolated is known
void MeasureInterference(ProfilingSession& session, const OpItems& ops);

/// Whether a table says that two devices, by name, slow one another down: the load of one takes at
/// least kLeastSlowdown times as long beside that of the other.
bool AreNeighbors(const CostTable& table, const std::string& a, const std::string& b);
inline constexpr double kLeastSlowdown = 1.03;

}  // namespace emplace

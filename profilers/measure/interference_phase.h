#pragma once

// The phase of a profile that runs ops beside one another: which devices share caches or memory
// bandwidth, how much each op signature suffers from neighbours, and how much it makes them suffer
// (simulator/README.md, "Interference semantics").
//
// The *load* is a copy of 64 MiB that no cache holds. Its pressure is 1. Every op runs beside the
// load and beside the heaviest ops of the classes that take most time, on a neighbouring device,
// and these beside it. Its sensitivity and its pressure are those whose products with the others'
// figures are nearest to the excesses measured. That such products tell what any two ops do to one
// another is a model (of rank 1), and an approximation: the table has the measured and the modelled
// factors of the heaviest ops beside one another. Whole steps tell more, and take the place of these
// figures as soon as there are some (step_interference.h).

#include <string>

#include "framework/cost/cost_table.h"
#include "profilers/measure/op_phase.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills CostTable::interference, OpMeasurement::interference of the ops that take longest alone,
/// as many as ProfileOptions::interference_seconds allow for each device kind, and
/// DeviceKind::interference by class: means over these ops, weighted by their times, and for
/// transfers the figures of a copy of 1 MiB. Nothing where all of this is known.
/// @param ops  of which OpMeasurement::isolated is known
void MeasureInterference(ProfilingSession& session, const OpItems& ops);

/// Whether a table says that two devices, by name, slow one another down: the load of one takes at
/// least kLeastSlowdown times as long beside that of the other.
bool AreNeighbors(const CostTable& table, const std::string& a, const std::string& b);
inline constexpr double kLeastSlowdown = 1.03;

}  // namespace emplace

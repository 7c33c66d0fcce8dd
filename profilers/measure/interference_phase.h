#pragma once

// The phase of a profile that runs ops concurrently on neighbouring devices. It finds which devices
// share caches or memory bandwidth, how much neighbours slow each op signature (sensitivity), and
// how much it slows them (pressure); see simulator/README.md, "Interference semantics".
//
// The *load* is a copy of 64 MiB, which fits in no cache. Its pressure is 1. Every op runs
// concurrently with the load and with the heaviest op of each of the classes that take most time,
// on a neighbouring device. The slowdown of both is measured. Sensitivities and pressures are
// fitted so that their products are nearest to the measured excesses. The model (of rank 1) that
// such products describe the mutual slowdown of any two ops is an approximation: the table has both
// measured and modelled factors for pairs of the heaviest ops. Whole steps are more informative and
// replace these values as soon as they are available (step_interference.h).

#include <string>

#include "framework/cost/cost_table.h"
#include "profilers/measure/phases.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {

/// Fills CostTable::interference; OpMeasurement::interference of the ops that take longest alone,
/// as many as ProfileOptions::interference_seconds allow for each device kind; and
/// DeviceKind::interference by class: means over these ops, weighted by their times, and for
/// transfers the values of a copy of 1 MiB. Does nothing if all of this is known.
/// @param ops  whose OpMeasurement::isolated is known
void MeasureInterference(ProfilingSession& session, const OpItems& ops);

/// Returns whether two devices, given by name, slow one another down according to a table: the load
/// of one takes at least kLeastSlowdown times as long while the load of the other runs.
bool AreNeighbors(const CostTable& table, const std::string& a, const std::string& b);
inline constexpr double kLeastSlowdown = 1.03;

}  // namespace emplace

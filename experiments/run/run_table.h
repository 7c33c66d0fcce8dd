#pragma once

// The table that a run ends with: one row per agent, over its seeds.

#include <optional>
#include <string>
#include <vector>

#include "experiments/run/search_run.h"
#include "framework/cost/costs.h"

namespace emplace {

/// What an agent found. A placement fits if its peak memory is within that of every device.
struct TableRow {
  std::string label;
  int runs = 0, fitting = 0, failed = 0;       ///< seeds: begun, with a placement that fits, failed
  int not_begun = 0;                           ///< seeds that a stop came before
  std::optional<Nanos> median, least, most;    ///< step time of the best of each fitting seed [ns]
  std::optional<MeteredEvaluator::Best> best;  ///< over all seeds
  std::int64_t evaluations = 0;                ///< over all seeds
  double seconds = 0;                          ///< over all seeds [s]
  double hardware_seconds = 0;                 ///< over all seeds, see HardwareSeconds() [s]
  std::string error;                           ///< of the first that failed
};

/// The numbers that all rows are compared with.
struct TableScale {
  std::optional<SingleDevice> best_single_device;  ///< BestSingleDevice()
  Nanos bound = 0;                                 ///< [ns]
};

/// @param results  of one agent, one per seed
TableRow SummarizeAgent(const std::string& label,
                        const std::vector<const SearchResult*>& results,
                        int steps_per_measurement);

/// Fills in fitting, median (rounded down), least and most.
/// @param times  best step time of each fitting seed [ns]
void SetStepTimes(TableRow& row, const std::vector<Nanos>& times);

/// Sorts by median step time; then come agents whose placements do not fit, by the bytes that the
/// best of them misses; then those that failed.
void SortRows(std::vector<TableRow>& rows);

/// The table for people: agent, step time (median and range), speed-up over the best single device,
/// gap to the bound ("optimal": none), peak memory per device, evaluations, seconds, time that the
/// evaluations would have taken on the hardware.
std::string FormatTable(const std::vector<TableRow>& rows,
                        const TableScale& scale,
                        const Cluster& cluster);

/// "searching on the hardware: 41.2 h (11 steps a measurement; what does not fit counts nothing);
/// here: 52 s".
std::string FormatHardwareTime(const std::vector<TableRow>& rows, int steps_per_measurement);

/// The table for programs: the same numbers as a JSON array of objects.
std::string FormatTableJson(const std::vector<TableRow>& rows,
                            const TableScale& scale,
                            const Cluster& cluster);

/// "OOM (missing 1.20 GiB on gpu:0)", of the device that misses most. OOM: out of memory.
std::string FormatDeficit(const Outcome& outcome, const Cluster& cluster);

/// "measured 99.2 %, roofline 0.8 %": where the times of a placement's ops come from, by share of
/// them; "no work" if all are 0.
std::string FormatShares(const RungShares& shares);

}  // namespace emplace

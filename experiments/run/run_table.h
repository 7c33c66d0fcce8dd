#pragma once

// What a run tells people: one row per agent, over its seeds.

#include <optional>
#include <string>
#include <vector>

#include "experiments/run/search_run.h"
#include "framework/cost/costs.h"

namespace emplace {

struct TableRow {
  std::string label;
  int runs = 0, fitting = 0, failed = 0;       ///< seeds run, with a placement that fits, failed
  std::optional<Nanos> median, least, most;    ///< step time of the best of each fitting seed [ns]
  std::optional<MeteredEvaluator::Best> best;  ///< over all seeds
  std::int64_t evaluations = 0;                ///< over all seeds
  double seconds = 0;                          ///< over all seeds [s]
  double hardware_seconds = 0;                 ///< over all seeds, see HardwareSeconds() [s]
  std::string error;                           ///< of the first that failed
};

/// The numbers that all rows are compared with.
struct TableScale {
  std::optional<Nanos> single_gpu;  ///< step time on one GPU, if it fits [ns]
  Nanos bound = 0;                  ///< [ns]
};

/// @param results  of one agent, one per seed
TableRow SummarizeAgent(const std::string& label,
                        const std::vector<const SearchResult*>& results,
                        int steps_per_measurement);

/// Fills in fitting, median, least and most. @param times  best step time of each fitting seed [ns]
void SetStepTimes(TableRow& row, std::vector<Nanos> times);

/// Sorts by median step time; then what fits nowhere, by missing bytes; then what failed.
void SortRows(std::vector<TableRow>& rows);

/// People's table: agent, step time (median and range), speed-up over the single GPU, gap to the
/// bound, peak memory per device, evaluations, seconds, time that they would have taken on the
/// hardware.
std::string FormatTable(const std::vector<TableRow>& rows,
                        const TableScale& scale,
                        const Cluster& cluster);

/// "searching on the hardware: 41.2 h (11 steps a measurement; what does not fit counts nothing);
/// here: 52 s".
std::string FormatHardwareTime(const std::vector<TableRow>& rows, int steps_per_measurement);

/// The same numbers as a JSON array.
std::string FormatTableJson(const std::vector<TableRow>& rows,
                            const TableScale& scale,
                            const Cluster& cluster);

/// "OOM (missing 1.20 GiB on gpu:0)", the device that misses most.
std::string FormatDeficit(const Outcome& outcome, const Cluster& cluster);

/// "measured 99.2 %, roofline 0.8 %": where the time of a placement's ops comes from.
std::string FormatShares(const RungShares& shares);

}  // namespace emplace

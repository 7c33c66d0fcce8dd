#pragma once

// The table that a run ends with: one row per agent, over its seeds.

#include <optional>
#include <string>
#include <vector>

#include "experiments/console/output.h"
#include "experiments/run/search_run.h"
#include "framework/cost/costs.h"

namespace emplace {

/// The cost of a search.
struct SearchEffort {
  std::int64_t evaluations = 0;
  double seconds = 0;           ///< of search [s]
  double hardware_seconds = 0;  ///< see HardwareSeconds() [s]
};

/// What an agent found. A placement fits if its peak memory is within that of every device.
struct TableRow {
  std::string label;
  int runs = 0, fitting = 0, failed = 0;       ///< seeds: begun, with a placement that fits, failed
  int not_begun = 0;                           ///< seeds that a stop came before
  std::optional<Nanos> median, least, most;    ///< step time of the best of each fitting seed [ns]
  std::optional<MeteredEvaluator::Best> best;  ///< over all seeds
  SearchEffort effort;                         ///< of a seed: medians; evaluations rounded down
  SearchEffort total;                          ///< of all seeds
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

/// Fills in effort, whose medians are those of the seeds that evaluated something, and total.
/// @param efforts  of each seed
void SetEfforts(TableRow& row, const std::vector<SearchEffort>& efforts);

/// Sorts by median step time; then come agents whose placements do not fit, by the bytes that the
/// best of them misses; then those that failed.
void SortRows(std::vector<TableRow>& rows);

/// Returns the table for people: agent, step time (median), its range over the seeds, speed-up over
/// the best single device, gap to the bound ("optimal": none), peak memory per device, evaluations
/// and seconds of a seed, time that the evaluations would have taken on the hardware. The first row
/// is bold if a placement of it fits and the view is styled. Lines below the table name the number
/// of seeds, and for each agent how many placements did not fit and how many searches failed.
/// @param view  where the table is wider, peak memory, time on the hardware and range are left out
///   in this order until it fits; where it is wider still, labels are cut in the middle
std::string FormatTable(const std::vector<TableRow>& rows,
                        const TableScale& scale,
                        const Cluster& cluster,
                        const TextView& view = {});

/// Returns the sums over all agents and seeds: "total    8020 evaluations, 9.3 s of search; on
/// hardware, 11 steps each: 28.9 h". What does not fit counts nothing on hardware.
std::string FormatTotals(const std::vector<TableRow>& rows, int steps_per_measurement);

/// The table for programs: the same numbers as a JSON array of objects. `evaluations`, `seconds`
/// and `hardware_seconds` are TableRow::effort, `total_evaluations` and so on TableRow::total.
std::string FormatTableJson(const std::vector<TableRow>& rows,
                            const TableScale& scale,
                            const Cluster& cluster);

/// "OOM (missing 1.20 GiB on gpu:0)", of the device that misses most. OOM: out of memory.
std::string FormatDeficit(const Outcome& outcome, const Cluster& cluster);

/// "measured 99.2 %, roofline 0.8 %": where the times of a placement's ops come from, by share of
/// them; "no work" if all are 0.
std::string FormatShares(const RungShares& shares);

}  // namespace emplace

#pragma once

// The table at the end of a run: one row per agent, over its seeds.

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
  double seconds = 0;           ///< of searching [s]
  double hardware_seconds = 0;  ///< see HardwareSeconds() [s]
};

/// Results of an agent. A placement fits if its peak memory is within that of every device.
struct TableRow {
  std::string label;
  int runs = 0, fitting = 0, failed = 0;       ///< seeds: begun, with a placement that fits, failed
  int not_begun = 0;                           ///< seeds that did not begin because of a stop
  std::optional<Nanos> median, least, most;    ///< of the best step times of the fitting seeds [ns]
  std::optional<MeteredEvaluator::Best> best;  ///< over all seeds
  SearchEffort effort;                         ///< per seed: medians; evaluations rounded down
  SearchEffort total;                          ///< sum over all seeds
  bool learns = false;                         ///< updates a policy or model while it searches
  std::string error;                           ///< of the first seed that failed
};

/// The reference values for all rows.
struct TableScale {
  std::optional<SingleDevice> best_single_device;  ///< BestSingleDevice()
  Nanos bound = 0;                                 ///< [ns]
};

/// @param results  results of one agent, one per seed
TableRow SummarizeAgent(const std::string& label,
                        const std::vector<const SearchResult*>& results,
                        int steps_per_measurement);

/// Sets fitting, median (rounded down), least and most.
/// @param times  best step time of each fitting seed [ns]
void SetStepTimes(TableRow& row, const std::vector<Nanos>& times);

/// Sets effort and total. The medians in effort are over the seeds that evaluated something.
/// @param efforts  of each seed
void SetEfforts(TableRow& row, const std::vector<SearchEffort>& efforts);

/// Sorts by median step time. Agents without a fitting placement come next, by the missing bytes of
/// their best placement; agents that failed come last.
void SortRows(std::vector<TableRow>& rows);

/// Returns the table for people: agent, step time (median), its range over the seeds, speed-up over
/// the best single device, gap to the bound ("optimal": none), peak memory per device, evaluations
/// and seconds of a seed, and the time of the evaluations on the hardware. The first row is bold if
/// one of its placements fits and the view is styled. The lines below the table give the number of
/// seeds, and for each agent the number of placements that did not fit and of searches that failed.
/// @param view  if the table is wider, peak memory, time on the hardware and range are omitted in
///   this order until it fits; after that, labels are shortened in the middle
std::string FormatTable(const std::vector<TableRow>& rows,
                        const TableScale& scale,
                        const Cluster& cluster,
                        const TextView& view = {});

/// Returns the sums over all agents and seeds: "total    8020 evaluations, 9.3 s of search; on
/// hardware, 11 steps each: 28.9 h". Placements that do not fit take no time on hardware.
std::string FormatTotals(const std::vector<TableRow>& rows, int steps_per_measurement);

/// Returns a line that names the learners among the rows, with the seconds of the longest median
/// search: "learners post, placeto had 8.0 s; papers give them hours". Returns "" if none of them
/// learns, or if one has searched for ten minutes or more.
std::string FormatLearners(const std::vector<TableRow>& rows);

/// Returns the table for programs: the same numbers as a JSON array of objects. `evaluations`,
/// `seconds` and `hardware_seconds` are TableRow::effort, `total_evaluations` and so on
/// TableRow::total.
std::string FormatTableJson(const std::vector<TableRow>& rows,
                            const TableScale& scale,
                            const Cluster& cluster);

/// Returns "OOM (missing 1.20 GiB on gpu:0)" for the device with the largest deficit. OOM: out of
/// memory.
std::string FormatDeficit(const Outcome& outcome, const Cluster& cluster);

/// Returns "measured 99.2 %, roofline 0.8 %": the shares of a placement's op time by the source of
/// the costs; "no work" if all are 0.
std::string FormatShares(const CostSourceShares& shares);

}  // namespace emplace

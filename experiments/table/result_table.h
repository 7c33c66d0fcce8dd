#pragma once

// Computes the numbers of a table from a layout and runs.
//
// A cell is the median over the seeds of its agent. A placement that does not fit (OOM, out of
// memory) counts as infinite. The columns expected_seconds_to, expected_evaluations_to and reached
// are computed from all seeds together (row_values.h).
//
// With six or more seeds the interval of a cell is the 95 % percentile bootstrap interval of that
// median (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13): 10,000
// resamples of the seeds with replacement, from a fixed generator, so that the same runs give the
// same bytes. The agents of a row are resampled independently. Columns of one agent share their
// resamples. Formulas are evaluated in each resample, so that derived columns have intervals, too.
//
// With two to five seeds no interval has a level of 95 %. The interval is then the range of the
// seeds, which contains the median with a probability of 50, 75, 88 and 94 % (RangeLevel()). For a
// formula, a share or an expected number it is the range over the resamples, without a level. With
// one seed, or for an agent without randomness, there is no interval.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/table/row_values.h"
#include "experiments/table/table_layout.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// A number in the table.
struct TableCell {
  bool run = false;  ///< false: no run is finished; `missing` then names its agent
  /// Median [unit of the column]; infinite: OOM, or not reached; NaN: undefined (inf / inf).
  double value = std::numeric_limits<double>::quiet_NaN();
  std::optional<Interval> interval;
  bool uses_seed = false;  ///< its runs depend on a seed
  /// Counts of seeds; 0 for a formula. fitting: done with a finite number; planned: all known.
  int done = 0, fitting = 0, failed = 0, planned = 0;
  std::vector<std::string> missing;  ///< agents, or unknown columns
  std::optional<PublishedNumber> published;
};

struct ResultTableRow {
  std::vector<std::string> heads;  ///< its label, or the values of the row keys
  std::vector<TableCell> cells;    ///< [columns]
  std::string Name() const;        ///< heads in one line
  bool HasPublished() const;
};

/// The result of a claim. It is open while runs are missing.
enum class Verdict : std::uint8_t { kHolds, kDoesNotHold, kOpen };
/// Returns "holds", "does not hold" or "open".
std::string_view ToString(Verdict verdict);

/// Whether a claim about a method could hold if the method found other placements.
enum class Possibility : std::uint8_t {
  kUnknown,   ///< the claim names no method, or is open
  kKnown,     ///< possible with the best step time that any run of the row found
  kNotKnown,  ///< not possible with that time, but not excluded by the bound
  kExcluded,  ///< not possible even at the bound; only for claims that shorter step times favour
};
/// Returns "", "possible", "not known to be possible" or "not possible".
std::string_view ToString(Possibility possibility);

/// A claim in one row.
struct ClaimRow {
  int row = 0;  ///< index into ResultTable::rows
  Verdict verdict = Verdict::kOpen;
  double left = 0, right = 0;  ///< both sides; NaN if open
  double share = 0;  ///< share of the resamples in which the comparison holds; NaN if open
  SeedCounts seeds;  ///< number of resampled seeds; none: all resamples are equal
  std::vector<std::string> missing;
  Possibility possible = Possibility::kUnknown;
  /// Both sides if the method had the best known step time of the row, or the bound; NaN: unknown.
  double best_left = std::numeric_limits<double>::quiet_NaN(), best_right = best_left;
  double bound_left = best_left, bound_right = best_left;
};

/// A claim in all rows that it applies to; the texts are those of LayoutClaim.
struct ClaimResult {
  std::string text, confidence, holds, op, scope;  ///< op: "<="; scope: "every", "some", "most"
  Verdict verdict = Verdict::kOpen;                ///< open while a row is open, or without rows
  int rows_held = 0;
  double share = 0;  ///< share of resamples in which it holds in enough rows; NaN if open
  SeedCounts seeds;  ///< number of seeds in its rows
  std::string of;    ///< column of the method; may be empty
  Possibility possible = Possibility::kUnknown;  ///< in as many rows as required
  std::vector<ClaimRow> rows;
};

/// Returns the verdict. For a claim that does not hold it adds whether the claim could hold: "not
/// reached", "does not hold, not possible here".
std::string VerdictText(const ClaimResult& claim);

struct ResultTable {
  std::string title, note, unit;   ///< of the layout; unit: of step times
  std::vector<std::string> heads;  ///< {""}, or the row keys
  std::vector<LayoutColumn> columns;
  std::vector<ResultTableRow> rows;
  std::string published_source, published_confidence;
  std::vector<ClaimResult> claims;

  std::vector<std::string> sources;    ///< folders and files
  int done = 0, failed = 0, left = 0;  ///< runs; left: stopped or not begun
  std::vector<std::string> failures;   ///< "#3 graph=...: error"
  std::vector<std::string> warnings;   ///< on agents without runs, or runs that no cell shows
};

/// Computes the table.
/// @throws InputError if the runs of a cell differ in more than the seed, naming the difference,
///   because their median would be meaningless
ResultTable MakeResultTable(const TableLayout& layout, const ResultRuns& runs);

}  // namespace emplace

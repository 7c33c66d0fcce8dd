#pragma once

// The numbers of a table, from a layout and runs.
//
// A cell is the median over the seeds of its agent; what does not fit (OOM, out of memory) counts
// as infinite; but for expected_seconds_to, expected_evaluations_to and reached, which are of all
// seeds together (row_values.h). From six seeds on its interval is the 95 % percentile bootstrap
// interval of that median (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter
// 13; cited from memory): 10,000 resamples of the seeds with replacement, from a fixed generator,
// so that the same runs give the same bytes. The agents of a row are resampled independently;
// columns of one agent share their resamples, and formulas are evaluated in each, so that derived
// columns have intervals, too. With two to five seeds no interval of theirs has 95 %: it is their
// range, from the least to the greatest, which holds the median with 50, 75, 88 and 94 %
// (RangeLevel()). A formula, a share or an expected number of so few seeds has the range over the
// resamples, without a level. One seed, or an agent without chance, has no interval.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/table/seed_interval.h"
#include "experiments/table/table_layout.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// One number of the table.
struct TableCell {
  bool run = false;  ///< false: there is no finished run; then `missing` says of what
  double value = std::numeric_limits<double>::quiet_NaN();  ///< median [unit of the column];
                                                            ///< infinite: OOM, or not reached; NaN:
                                                            ///< undefined (inf / inf)
  std::optional<Interval> interval;
  bool uses_seed = false;  ///< its runs depend on a seed
  // Seeds of a column of an agent; a formula's are 0.
  int done = 0, fitting = 0, failed = 0, planned = 0;  ///< fitting: of the done ones, those with a
                                                       ///< finite number; planned: all known of
  std::vector<std::string> missing;                    ///< agents, or columns that there are not
  std::optional<PublishedNumber> published;
};

/// One column of the table.
struct ResultTableColumn {
  std::string name, label, unit;
  ColumnValue value = ColumnValue::kStepTime;
};

/// One row of the table.
struct ResultTableRow {
  std::vector<std::string> heads;  ///< its label, or the values of the row keys
  std::vector<TableCell> cells;    ///< [columns]
  std::string Name() const;        ///< heads in one line
  bool HasPublished() const;
};

/// Does a claim hold? It is open while runs are missing.
enum class Verdict : std::uint8_t { kHolds, kDoesNotHold, kOpen };
/// "holds", "does not hold", "open"
std::string ToString(Verdict verdict);

/// Could a claim about a method have held, had the method found other placements?
enum class Possibility : std::uint8_t {
  kUnknown,   ///< the claim names no method, or is open
  kKnown,     ///< with the step time of a placement that some run of the row found
  kNotKnown,  ///< not with these, but the bound does not exclude it
  kExcluded,  ///< not even at the bound; taken for claims that shorter step times favour
};
/// "", "possible", "not known to be possible", "not possible"
std::string ToString(Possibility possibility);

/// A claim in one row.
struct ClaimRow {
  int row = 0;  ///< index into ResultTable::rows
  Verdict verdict = Verdict::kOpen;
  double left = 0, right = 0;  ///< both sides; NaN if open
  double share = 0;            ///< of the resamples in which the comparison holds; NaN if open
  SeedCounts seeds;            ///< that the resamples are of; none: all are alike
  std::vector<std::string> missing;
  Possibility possible = Possibility::kUnknown;
  /// Both sides if the method had the best known step time of the row, or the bound; NaN: unknown.
  double best_left = std::numeric_limits<double>::quiet_NaN(), best_right = best_left;
  double bound_left = best_left, bound_right = best_left;
};

/// A claim in all rows that it is about; the texts are those of LayoutClaim.
struct ClaimResult {
  std::string text, confidence, holds, op, scope;  ///< op: "<="; scope: "every", "some", "most"
  Verdict verdict = Verdict::kOpen;  ///< open while one of its rows is, or without rows
  int rows_held = 0;
  double share = 0;  ///< of the resamples in which it holds in as many rows as it says; NaN if open
  SeedCounts seeds;  ///< of its rows
  std::string of;    ///< column of the method; may be empty
  Possibility possible = Possibility::kUnknown;  ///< in as many rows as it says
  std::vector<ClaimRow> rows;
};

/// The verdict, and of a claim that does not hold whether it could have: "not reached", "does not
/// hold, not possible here".
std::string VerdictText(const ClaimResult& claim);

/// The whole table.
struct ResultTable {
  std::string title, note, unit;   ///< of the layout; unit: of step times
  std::vector<std::string> heads;  ///< {""}, or the row keys
  std::vector<ResultTableColumn> columns;
  std::vector<ResultTableRow> rows;
  std::string published_source, published_confidence;
  std::vector<ClaimResult> claims;

  std::vector<std::string> sources;    ///< folders and files
  int done = 0, failed = 0, left = 0;  ///< runs; left: stopped or not begun
  std::vector<std::string> failures;   ///< "#3 graph=...: error"
  std::vector<std::string> warnings;   ///< an agent that no run has, runs that no cell shows
};

/// Computes the table.
/// @throws InputError if the runs of a cell differ in something else than the seed, naming it,
///   because a median over them would mean nothing
ResultTable MakeResultTable(const TableLayout& layout, const ResultRuns& runs);

}  // namespace emplace

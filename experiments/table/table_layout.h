#pragma once

// The layout of a table in YAML: a file of configs/layouts, or the key `table` of a sweep.
//
//   title: "Device placement optimisation with RL (ICML 2017), table 1"
//   note: "Machines: simulated from published figures [ours]"
//   unit: s                                           of all step times
//   rows:                                             a list, or [graph, cluster], or varying
//     - {label: "NMT, 2 GPUs", graph: nmt, cluster: 2xk80,
//        published: {expert: 4.99, rl: 4.04, single_gpu: oom,
//                    speedup: {value: 23.5, confidence: V}}}
//   sort: rl                                          sorts the rows of a problem by this column
//   columns:                                          a list, or: agents
//     - {name: rl, label: RL, agent: seq2seq}
//     - {name: expert, agent: expert}
//     - {name: found, agent: seq2seq, value: evaluations_to, target: "1.01 * rl"}
//     - {name: expected, agent: seq2seq, value: expected_seconds_to, target: 1.01 * best_known}
//     - {name: speedup, label: speed-up, formula: "expert / rl - 1", unit: percent}
//     - {name: best_known, value: best_known}         of all runs of the problem
//   published: {source: "Mirhoseini et al., ICML 2017, table 1", confidence: R}
//   claims:
//     - {text: "RL beats the expert on NMT", confidence: R, holds: "rl < expert",
//        where: {graph: nmt}, in: every, of: rl}
//
// A name in a formula is the number of that column in the same row, in the column's unit: seconds
// if the table has seconds, 23.5 for a column in percent. `confidence` is the confidence in a
// number or claim of a paper: V looked up, R recalled, ? weak; "ours" marks claims that the paper
// does not make. `emplace table --help-layout` prints all keys; configs/TABLES.md explains how to
// make a table.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/table/table_formula.h"
#include "framework/config/fields.h"

namespace emplace {

/// A condition on a run: a key of its resolved run config ("graph", "budget.evaluations"), or
/// `agent` (its label), has this value.
struct RunCondition {
  std::string key, value;
  bool operator==(const RunCondition&) const = default;
};

/// Returns whether all of `wanted` are among the conditions of a row.
bool SatisfiesAll(const std::vector<RunCondition>& row, const std::vector<RunCondition>& wanted);

/// A number published in a paper. [unit of its column]
struct PublishedNumber {
  double value = 0;        ///< infinite: the placement did not fit
  std::string text;        ///< as in the layout: "4.60"
  std::string confidence;  ///< "V" verified, "R" recalled, "?" weak, "ours"
};

/// A row: its runs, and the published numbers.
struct LayoutRow {
  std::string label;
  std::vector<RunCondition> runs;                    ///< runs that satisfy all of these
  std::map<std::string, PublishedNumber> published;  ///< by name of the column
};

/// The number in a column.
enum class ColumnValue : std::uint8_t {
  kStepTime,       ///< of the best placement found; infinite if none fits
  kEvaluations,    ///< simulated placements
  kSeconds,        ///< of searching [s]
  kRanks,          ///< processes that executed the run together
  kHardwareHours,  ///< time to measure the same placements on hardware [h]
  kEvaluationsTo,  ///< simulated placements until the best step time was at most the target;
                   ///< infinite if it never was
  kSecondsTo,      ///< seconds of search until then [s]
  kExpectedEvaluationsTo,  ///< expected running time of COCO (row_values.h): simulated placements
                           ///< of all runs, each until it reached the target or else until its end,
                           ///< over the number of runs that reached it; infinite if none did
  kExpectedSecondsTo,      ///< the same in seconds of search [s]
  kReached,                ///< share of the runs that reached the target
  kBound,                  ///< proven lower bound of the problem; for several problems the least
  kBestKnown,  ///< shortest step time of all runs of the row's problems in any row; with agent or
               ///< where, only of those runs of the row; infinite if none fits
  kBestSingleDevice,  ///< step time of the best single device; for several problems the least
  kSpeedUp,           ///< best single device / step time; 0 if no placement fits
  kGap,               ///< step time / bound - 1
  kOptimal,           ///< 1: the bound proves the placement optimal, 0: it does not
  kNoiseRegret,  ///< mean over noise draws of step time / best of the run - 1 (`emplace stress`)
  kFormula,      ///< of other columns
};

/// Returns the name in layouts: "step_time".
std::string_view ToString(ColumnValue value);

/// Returns whether the value is the minimum over all runs of the column, which may differ in any
/// key.
constexpr bool IsOfProblem(ColumnValue value) {
  return value == ColumnValue::kBound || value == ColumnValue::kBestKnown ||
         value == ColumnValue::kBestSingleDevice;
}

/// Returns whether the value is computed from all runs together, including the full effort of runs
/// that did not reach the target.
constexpr bool IsExpected(ColumnValue value) {
  return value == ColumnValue::kExpectedEvaluationsTo || value == ColumnValue::kExpectedSecondsTo;
}

/// Returns whether the value depends on a target.
constexpr bool HasTarget(ColumnValue value) {
  return value == ColumnValue::kEvaluationsTo || value == ColumnValue::kSecondsTo ||
         value == ColumnValue::kReached || IsExpected(value);
}

struct LayoutColumn {
  std::string name, label;
  /// "s", "ms", "us", "ns", "h", "count", "ratio", "percent" (100 times the formula)
  std::string unit;
  ColumnValue value = ColumnValue::kStepTime;
  std::string agent;                ///< label; empty: the agent of the row, or all
  std::vector<RunCondition> where;  ///< runs of the row that satisfy all of these
  std::optional<Formula> formula;   ///< for kFormula; for HasTarget() the target [unit of table]
};

/// The number of rows in which a claim has to hold: all, at least one, more than half.
enum class ClaimScope : std::uint8_t { kEvery, kSome, kMost };
/// [ClaimScope]
inline const std::vector<std::string> kClaimScopes = {"every", "some", "most"};

/// A claim about the numbers of rows.
struct LayoutClaim {
  std::string text, confidence;
  std::string holds_text;
  Comparison holds;
  std::vector<RunCondition> where;  ///< rows that satisfy all of these
  ClaimScope in = ClaimScope::kEvery;
  std::string of;  ///< column of the method whose short step times are claimed; may be empty
};

struct TableLayout {
  std::string title, note;
  std::string unit;  ///< of step times

  std::vector<LayoutRow> rows;        ///< empty: a row per combination of row_keys found
  std::vector<std::string> row_keys;  ///< if empty like `rows`: the keys in which the runs differ

  std::string sort;  ///< column by which the rows of a problem are sorted; empty: not sorted
  bool agents_as_columns = false;     ///< a step time for each agent
  std::vector<LayoutColumn> columns;  ///< empty for agents_as_columns
  std::vector<int> order;             ///< of the columns, each after its inputs

  std::string published_source, published_confidence;  ///< empty: no published numbers
  std::vector<LayoutClaim> claims;
  std::string yaml;  ///< the layout as a separate file
};

/// Reads a layout.
/// @param root  map of the keys above
/// @throws InputError at file:line:column for unknown keys, columns, units and values (with the
///   choices), formulas that cannot be parsed, columns that depend on each other, and rows that
///   select all runs
TableLayout ReadTableLayout(const ConfigNode& root);

/// Returns the keys of a layout with a sentence on each, for --help-layout.
std::vector<FieldHelp> DescribeTableLayout();

/// Returns a nanosecond in a unit of time: 1e-9 for "s". @param unit  "s", "ms", "us" or "ns"
double PerNanosecond(const std::string& unit);

}  // namespace emplace

#pragma once

// What a table shows, as YAML: a file of configs/layouts, or the key `table` of a sweep.
//
//   title: "Device placement optimisation with RL (ICML 2017), table 1"
//   note: "Machines: simulated from published figures [ours]"
//   unit: s                                           of all step times
//   rows:                                             one after another, or [graph, cluster], or
//     - {label: "NMT, 2 GPUs", graph: nmt, cluster: 2xk80,          varying
//        published: {expert: 4.99, rl: 4.04, single_gpu: oom,
//                    speedup: {value: 23.5, confidence: V}}}
//   sort: rl                                          rows of a problem by this column
//   columns:                                          one after another, or: agents
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
// where the table has seconds, 23.5 for a column in percent. `confidence` is how sure we are of
// what a paper says: V looked up, R recalled, ? weak; claims that are not the paper's are ours.
// `emplace table --help-layout` prints all keys, configs/README.md tells how to make a table.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/table/table_formula.h"
#include "framework/config/fields.h"

namespace emplace {

/// A condition on a run: that a key of its resolved run config ("graph", "budget.evaluations"), or
/// `agent`, its label, has this value.
struct RunCondition {
  std::string key, value;
  bool operator==(const RunCondition&) const = default;
};

/// Are all of `wanted` among the conditions of a row?
bool SatisfiesAll(const std::vector<RunCondition>& row, const std::vector<RunCondition>& wanted);

/// A number that a paper tells. [unit of its column]
struct PublishedNumber {
  double value = 0;        ///< infinite: it did not fit
  std::string text;        ///< as it was written: "4.60"
  std::string confidence;  ///< "V" verified, "R" recalled, "?" weak, "ours"
};

/// One row: the runs that it is made of, and what the paper says of them.
struct LayoutRow {
  std::string label;
  std::vector<RunCondition> runs;                    ///< those that have all of these
  std::map<std::string, PublishedNumber> published;  ///< by name of the column
};

/// What a column shows.
enum class ColumnValue : std::uint8_t {
  kStepTime,       ///< of the best placement found; infinite if none fits
  kEvaluations,    ///< placements simulated
  kSeconds,        ///< of search [s]
  kRanks,          ///< processes that made the run together
  kHardwareHours,  ///< that measuring the same placements would have taken [h]
  kEvaluationsTo,  ///< placements simulated until the best one was at most the target; infinite if
                   ///< it never was
  kSecondsTo,      ///< of search until then [s]
  kExpectedEvaluationsTo,  ///< placements simulated by all runs, each until then or, if it never
                           ///< was, until its end, over the number of runs in which it was: the
                           ///< expected running time of COCO (row_values.h); infinite if in none
  kExpectedSecondsTo,      ///< the same of search [s]
  kReached,                ///< share of the runs in which it was
  kBound,                  ///< proven lower bound of the problem; of several problems the least
  kBestKnown,  ///< the shortest step time of all runs of the row's problems, in whichever row;
               ///< with agent or where, of those runs of the row; infinite if none fits
  kBestSingleDevice,  ///< step time of the best single device; of several problems the least
  kSpeedUp,           ///< that / step time; 0 if no placement fits
  kGap,               ///< step time / bound - 1
  kOptimal,           ///< 1: the bound proves the placement optimal, 0: it does not
  kNoiseRegret,  ///< mean over draws of noise of step time / best of the run - 1 (`emplace stress`)
  kFormula,      ///< of other columns
};

/// Is it the least number of all runs of the column, whatever they differ in?
constexpr bool IsOfProblem(ColumnValue value) {
  return value == ColumnValue::kBound || value == ColumnValue::kBestKnown ||
         value == ColumnValue::kBestSingleDevice;
}

/// Is it computed of all runs together, with the end of those that did not reach the target?
constexpr bool IsExpected(ColumnValue value) {
  return value == ColumnValue::kExpectedEvaluationsTo || value == ColumnValue::kExpectedSecondsTo;
}

/// Whether a column tells when, or how often, a target was reached.
constexpr bool HasTarget(ColumnValue value) {
  return value == ColumnValue::kEvaluationsTo || value == ColumnValue::kSecondsTo ||
         value == ColumnValue::kReached || IsExpected(value);
}

/// One column.
struct LayoutColumn {
  std::string name, label;
  ColumnValue value = ColumnValue::kStepTime;
  std::string agent;                ///< label; empty: the agent that the row says, or all
  std::vector<RunCondition> where;  ///< runs of the row that have all of these
  std::optional<Formula> formula;   ///< of kFormula; the target, if HasTarget() [unit of table]
  std::string unit;  ///< "s", "ms", "us", "ns", "h", "count", "ratio", "percent" (100 times what
                     ///< the formula gives)
};

/// In how many of its rows a claim has to hold: in all, in at least one, in more than half.
enum class ClaimScope : std::uint8_t { kEvery, kSome, kMost };

/// A claim about the numbers of rows.
struct LayoutClaim {
  std::string text, confidence;
  std::string holds_text;
  Comparison holds;
  std::vector<RunCondition> where;  ///< rows that have all of these
  ClaimScope in = ClaimScope::kEvery;
  std::string of;  ///< column of the method whose short step times the claim is about; may be empty
};

/// The whole layout.
struct TableLayout {
  std::string title, note;
  std::string unit;  ///< of step times

  std::vector<LayoutRow> rows;        ///< empty: a row per combination of row_keys found
  std::vector<std::string> row_keys;  ///< empty (and rows, too): what the runs differ in

  std::string sort;  ///< column by which the rows of a problem are sorted; empty: as they come
  bool agents_as_columns = false;     ///< a step time for each agent found
  std::vector<LayoutColumn> columns;  ///< empty for these
  std::vector<int> order;             ///< of the columns, each after those it uses

  std::string published_source, published_confidence;  ///< empty: nothing is published
  std::vector<LayoutClaim> claims;
  std::string yaml;  ///< the layout as a file of its own
};

/// Reads a layout.
/// @param root  map of the keys above
/// @throws InputError at file:line:column for unknown keys, columns, units and values (with the
///   choices), formulas that cannot be read, columns that need each other, rows that select all
///   runs
TableLayout ReadTableLayout(const ConfigNode& root);

/// The keys of a layout with a sentence on each, for --help-layout.
std::vector<FieldHelp> DescribeTableLayout();

/// How many of a unit of time a nanosecond is: 1e-9 for "s". @param unit  "s", "ms", "us" or "ns"
double PerNanosecond(const std::string& unit);

}  // namespace emplace

#pragma once

// A table as text. Our numbers and those of a paper stand in lines of their own, called "simulated"
// and "published [R]", and never in one cell. The letter is how sure the paper's number is: V
// looked up, R recalled, ? weak, ours (configs/README.md).

#include <string>
#include <vector>

#include "experiments/table/result_table.h"

namespace emplace {

/// Markdown: title, table, what the numbers mean, failed runs.
std::string TableMarkdown(const ResultTable& table);

/// The claims as Markdown: verdict, confidence of the paper's claim, both sides in each row, share
/// of resamples.
std::string ClaimsMarkdown(const ResultTable& table);

/// LaTeX: a `table` with the rules of booktabs; needs \usepackage{booktabs}.
std::string TableTex(const ResultTable& table);

/// CSV (RFC 4180): a line per row, column and source; the column `state` is CellState(), infinite
/// values are "inf".
std::string TableCsv(const ResultTable& table);

/// JSON: everything. A value that is no finite number is null, and "state", which is CellState(),
/// tells why. Bounds of intervals and sides of claims may be "inf" or "-inf".
///
///   {"format": "emplace-table", "version": 1, "title", "note", "unit",
///    "heads": ["graph"], "columns": [{"name", "label", "unit", "value"}],
///    "rows": [{"heads": ["nmt"], "cells": {NAME: {"state", "median", "low", "high", "interval":
///      "range", "bootstrap 95 %" or null, "interval_level" (chance that such an interval holds the
///      median; null: not known), "interval_seeds": [least, most] or null, "seeds", "fitting" (or
///      reaching the target), "failed", "planned", "missing": [], "published": {"state", "value",
///      "confidence"} or null}}}],
///    "published": {"source", "confidence"} or null,
///    "claims": [{"text", "confidence", "holds", "in", "verdict", "rows_held", "share" (of
///      resamples), "seeds": [least, most] that these are of, or null, "rows": [{"row": 0,
///      "verdict", "left", "right", "share", "seeds", "missing": []}]}],
///    "runs": {"done", "failed", "left"}, "legend": [sentences of LegendOf()], "failures": [],
///    "warnings": [], "sources": []}
std::string TableJson(const ResultTable& table);

/// What a cell holds, in a word: "number"; "oom" (nothing fits), "not reached" (the target of
/// evaluations_to, seconds_to and what is expected of them), "infinite" and "undefined" (of
/// formulas); "not run", "failed".
std::string CellState(const TableCell& cell, const ResultTableColumn& column);

/// A number of a column for people: "1.570", "OOM", "not reached", "19.5", "12.5 min" of a
/// duration, "–" for undefined.
std::string FormatCellNumber(double value, const ResultTableColumn& column);

/// What a table says of a cell, in up to three parts: "1.570", "[1.551, 1.602]", "(2 of 3 fit)"; or
/// "not run". An interval whose ends print as the number does is left out.
struct CellText {
  std::string number, interval, note;
};
CellText DescribeCell(const TableCell& cell, const ResultTableColumn& column);

/// "range" or "bootstrap 95 %"
std::string KindOf(const Interval& interval);

/// The head of a column, with its unit: "RL [s]", "speed-up [%]", "ratio". Durations
/// (hours, and seconds of search) have their units with their numbers.
std::string HeadOf(const ResultTableColumn& column);

/// Sentences below the table: what the numbers are, where the published ones come from, the
/// layout's note, runs that are missing or have failed.
std::vector<std::string> LegendOf(const ResultTable& table);

/// Has any cell a published number?
bool HasPublished(const ResultTable& table);

/// A number of a paper, as printed: "4.04", "OOM", "27.0 h"; followed by its confidence,
/// "60.6 [V]", where that is not the table's.
std::string FormatPublished(const PublishedNumber& number,
                            const ResultTableColumn& column,
                            const ResultTable& table);

}  // namespace emplace

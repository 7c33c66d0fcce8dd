#pragma once

// A table as text. Ours and the papers' numbers stand in lines of their own, called "simulated" and
// "published [R]", and never in one cell.

#include <string>
#include <vector>

#include "experiments/table/result_table.h"

namespace emplace {

/// Title, table, what the numbers mean, failed runs.
std::string TableMarkdown(const ResultTable& table);

/// The claims as Markdown: verdict, confidence of the paper's claim, both sides in each row, share
/// of resamples.
std::string ClaimsMarkdown(const ResultTable& table);

/// A `table` with booktabs' rules; needs \usepackage{booktabs}.
std::string TableTex(const ResultTable& table);

/// A line per row, column and source, RFC 4180; infinite values are "inf", see the column `state`.
std::string TableCsv(const ResultTable& table);

/// Everything. A value that is no finite number is null, see "state": "number", "oom", "not
/// reached", "infinite", "undefined", "not run", "failed". Bounds of intervals and sides of claims
/// may be "inf" or "-inf".
///
///   {"format": "emplace-table", "version": 1, "title", "note", "unit",
///    "heads": ["graph"], "columns": [{"name", "label", "unit", "value"}],
///    "rows": [{"heads": ["nmt"], "cells": {NAME: {"state", "median", "low", "high", "seeds",
///      "fitting", "failed", "planned", "missing": [], "published": {"state", "value",
///      "confidence"} or null}}}],
///    "published": {"source", "confidence"} or null,
///    "claims": [{"text", "confidence", "holds", "in", "verdict", "rows_held", "share",
///      "rows": [{"row": 0, "verdict", "left", "right", "share", "missing": []}]}],
///    "runs": {"done", "failed", "left"}, "failures": [], "warnings": [], "sources": []}
std::string TableJson(const ResultTable& table);

/// "number", "oom", ... as above.
std::string CellState(const TableCell& cell, const ResultTableColumn& column);

/// A number of a column for people: "1.570", "OOM", "not reached", "19.5", "–" for undefined.
std::string FormatCellNumber(double value, const ResultTableColumn& column);

/// "1.570 [1.551, 1.602] (2 of 3 fit)", "not run": what a table says of the cell.
struct CellText {
  std::string number, interval, note;
};
CellText DescribeCell(const TableCell& cell, const ResultTableColumn& column);

/// "RL [s]", "speed-up [%]", "ratio"
std::string HeadOf(const ResultTableColumn& column);

/// Sentences below the table: what the numbers are, where the published ones come from, the
/// layout's note, runs that are missing or have failed.
std::vector<std::string> LegendOf(const ResultTable& table);

bool HasPublished(const ResultTable& table);

/// A number that a paper tells: "4.04", "OOM"; with its mark "60.6 [V]" where that is not the
/// table's.
std::string FormatPublished(const PublishedNumber& number, const ResultTable& table);

}  // namespace emplace

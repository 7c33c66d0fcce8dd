#pragma once

// Formats a table as text. Our numbers and those of a paper are in separate lines, labelled
// "simulated" and "published [R]", and never in one cell. The letter is the confidence in the
// paper's number: V looked up, R recalled, ? weak, ours (configs/README.md).

#include <string>
#include <vector>

#include "experiments/table/result_table.h"

namespace emplace {

/// Returns Markdown: title, table, legend, failed runs.
std::string TableMarkdown(const ResultTable& table);

/// Returns the claims as Markdown: verdict, confidence of the paper's claim, both sides in each
/// row, share of resamples.
std::string ClaimsMarkdown(const ResultTable& table);

/// Returns LaTeX: a `table` with the rules of booktabs; needs \usepackage{booktabs}.
std::string TableTex(const ResultTable& table);

/// Returns CSV (RFC 4180): a line per row, column and source; the column `state` is CellState(),
/// infinite values are "inf".
std::string TableCsv(const ResultTable& table);

/// Returns JSON with all contents. A value that is not a finite number is null, and "state", which
/// is CellState(), gives the reason. Bounds of intervals and sides of claims may be "inf" or
/// "-inf".
///
///   {"format": "emplace-table", "version": 1, "title", "note", "unit",
///    "heads": ["graph"], "columns": [{"name", "label", "unit", "value"}],
///    "rows": [{"heads": ["nmt"], "cells": {NAME: {"state", "median", "low", "high", "interval":
///      "range", "bootstrap 95 %" or null, "interval_level" (probability that such an interval
///      contains the median; null: not known), "interval_seeds": [least, most] or null, "seeds",
///      "fitting" (or reaching the target), "failed", "planned", "missing": [], "published":
///      {"state", "value", "confidence"} or null}}}],
///    "published": {"source", "confidence"} or null,
///    "claims": [{"text", "confidence", "holds", "in", "verdict", "rows_held", "share" (of
///      resamples), "seeds": [least, most] of the resamples, or null, "rows": [{"row": 0,
///      "verdict", "left", "right", "share", "seeds", "missing": []}]}],
///    "runs": {"done", "failed", "left"}, "legend": [sentences of LegendOf()], "failures": [],
///    "warnings": [], "sources": []}
std::string TableJson(const ResultTable& table);

/// Returns the state of a cell in a word: "number"; "oom" (no placement fits), "not reached" (the
/// target of evaluations_to, seconds_to and their expected values), "infinite" and "undefined" (of
/// formulas); "not run", "failed".
std::string CellState(const TableCell& cell, const LayoutColumn& column);

/// Returns a number of a column for people: "1.570", "OOM", "not reached", "19.5", "12.5 min" for a
/// duration, "–" for undefined.
std::string FormatCellNumber(double value, const LayoutColumn& column);

/// The text of a cell in up to three parts: "1.570", "[1.551, 1.602]", "(2 of 3 fit)"; or "not
/// run". An interval is omitted if both ends print as the number does.
struct CellText {
  std::string number, interval, note;
};
CellText DescribeCell(const TableCell& cell, const LayoutColumn& column);

/// Returns "range" or "bootstrap 95 %".
std::string KindOf(const Interval& interval);

/// Returns the head of a column, with its unit: "RL [s]", "speed-up [%]", "ratio". Durations
/// (hours, and seconds of search) have their units in the cells.
std::string HeadOf(const LayoutColumn& column);

/// Returns the sentences below the table: the meaning of the numbers, the source of published ones,
/// the layout's note, and missing or failed runs.
std::vector<std::string> LegendOf(const ResultTable& table);

/// Returns whether a cell has a published number.
bool HasPublished(const ResultTable& table);

/// The texts of a table for a format.
struct TableLines {
  std::vector<std::vector<std::string>> lines;  ///< the head, then one or two for each row
  size_t num_left = 0;                          ///< columns of texts, before those of numbers
};
/// @param escape  escapes a text for the format
/// @param join    joins the parts of a cell
TableLines LinesOf(const ResultTable& table,
                   std::string (*escape)(const std::string&),
                   std::string (*join)(const CellText&));

/// Returns a number of a paper as printed: "4.04", "OOM", "27.0 h"; with its confidence, "60.6
/// [V]", if that differs from the table's.
std::string FormatPublished(const PublishedNumber& number,
                            const LayoutColumn& column,
                            const ResultTable& table);

}  // namespace emplace

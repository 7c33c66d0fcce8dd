#include "experiments/table/table_formats.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "experiments/table/row_values.h"

namespace emplace {
namespace {

constexpr size_t kListedFailures = 20;

// Step times, and what is infinite where no placement fits.
bool IsStepTime(const ResultTableColumn& column) {
  static const std::set<std::string> kUnits = {"s", "ms", "us", "ns"};
  static const std::set<ColumnValue> kOfStepTimes = {ColumnValue::kStepTime,
                                                     ColumnValue::kBound,
                                                     ColumnValue::kBestKnown,
                                                     ColumnValue::kBestSingleDevice,
                                                     ColumnValue::kGap,
                                                     ColumnValue::kNoiseRegret};
  return kOfStepTimes.contains(column.value) ||
         (column.value == ColumnValue::kFormula && kUnits.contains(column.unit));
}

// A placement that does not fit is never done.
bool IsNoSpeedUp(double value, const ResultTableColumn& column) {
  return column.value == ColumnValue::kSpeedUp && value == 0;
}

// Digits behind the point with which `value` has so many significant ones, or more before the
// point.
int DecimalsFor(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return std::clamp(digits - before, 0, 12);
}

int Decimals(double value, const ResultTableColumn& column) {
  if (column.value == ColumnValue::kNoiseRegret) return 2;
  if (column.unit == "percent") return 1;
  if (column.unit == "count") return value == std::round(value) ? 0 : 1;
  return DecimalsFor(value, IsStepTime(column) ? 4 : 3);
}

std::string FormatWith(double value, int decimals, const ResultTableColumn& column) {
  if (std::isnan(value)) return "–";
  if (IsNoSpeedUp(value, column)) return "OOM";
  if (value < 0 && std::isinf(value)) return "-∞";
  if (std::isinf(value)) {
    if (HasTarget(column.value)) return "not reached";
    return IsStepTime(column) ? "OOM" : "∞";
  }
  if (column.value == ColumnValue::kOptimal && (value == 0 || value == 1)) {
    return value == 1 ? "yes" : "no";
  }
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                              : text;
}

std::string MeaningOf(const std::string& confidence) {
  if (confidence == "V") return "verified against the text";
  if (confidence == "R") return "recalled, not checked against the text";
  return confidence == "?" ? "from a weak source" : "our own";
}

std::string SeedsText(const ResultTable& table) {
  int least = 0, most = 0;
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const TableCell& cell = row.cells[c];
      if (cell.done == 0 || IsOfProblem(table.columns[c].value)) continue;
      least = least == 0 ? cell.done : std::min(least, cell.done);
      most = std::max(most, cell.done);
    }
  }
  if (most <= 1) return "one seed";
  return least == most ? fmt::format("{} seeds", most) : fmt::format("{} to {} seeds", least, most);
}

bool AnyCell(const ResultTable& table, const std::string& text) {
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (row.cells[c].published && row.cells[c].published->text == text) return true;
      if (row.cells[c].run && FormatCellNumber(row.cells[c].value, table.columns[c]) == text) {
        return true;
      }
    }
  }
  return false;
}

bool AnyInterval(const ResultTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const ResultTableRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), [](const TableCell& cell) {
      return cell.low.has_value();
    });
  });
}

void AppendPublished(const ResultTable& table, std::vector<std::string>& legend) {
  std::set<std::string> marks;
  for (const ResultTableRow& row : table.rows) {
    for (const TableCell& cell : row.cells) {
      if (cell.published) marks.insert(cell.published->confidence);
    }
  }
  std::string text =
      "Published: " + (table.published_source.empty() ? "see the layout" : table.published_source);
  for (const std::string& mark : marks) text += fmt::format("; [{}]: {}", mark, MeaningOf(mark));
  legend.push_back(text + ".");
}

}  // namespace

std::string CellState(const TableCell& cell, const ResultTableColumn& column) {
  if (!cell.run) return cell.failed > 0 ? "failed" : "not run";
  if (std::isnan(cell.value)) return "undefined";
  if (IsNoSpeedUp(cell.value, column)) return "oom";
  if (std::isfinite(cell.value)) return "number";
  if (cell.value > 0 && HasTarget(column.value)) return "not reached";
  return cell.value > 0 && IsStepTime(column) ? "oom" : "infinite";
}

std::string FormatCellNumber(double value, const ResultTableColumn& column) {
  return FormatWith(value, Decimals(value, column), column);
}

CellText DescribeCell(const TableCell& cell, const ResultTableColumn& column) {
  if (!cell.run) return {CellState(cell, column), "", ""};
  CellText text{FormatCellNumber(cell.value, column), "", ""};
  if (cell.low && std::isfinite(*cell.low)) {
    const bool is_plain = std::isfinite(cell.value) && cell.value != 0;
    const int decimals = Decimals(is_plain ? cell.value : *cell.low, column);
    text.number = FormatWith(cell.value, decimals, column);
    text.interval = fmt::format("[{}, {}]",
                                FormatWith(*cell.low, decimals, column),
                                FormatWith(*cell.high, decimals, column));
  }
  if (cell.fitting < cell.done && (cell.fitting > 0 || cell.done > 1)) {
    if (column.value == ColumnValue::kStepTime) {
      text.note = fmt::format("({} of {} fit)", cell.fitting, cell.done);
    } else if (HasTarget(column.value) && column.value != ColumnValue::kReached &&
               !std::isnan(cell.value)) {
      text.note = fmt::format("({} of {} reach it)", cell.fitting, cell.done);
    }
  }
  if (cell.done < cell.planned) {
    text.note +=
        fmt::format("{}({} of {} run)", text.note.empty() ? "" : " ", cell.done, cell.planned);
  }
  return text;
}

std::string HeadOf(const ResultTableColumn& column) {
  if (column.unit == "percent") return column.label + " [%]";
  if (column.unit == "ratio" || column.unit == "count") return column.label;
  return fmt::format("{} [{}]", column.label, column.unit);
}

bool HasPublished(const ResultTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const ResultTableRow& row) {
    return row.HasPublished();
  });
}

std::string FormatPublished(const PublishedNumber& number, const ResultTable& table) {
  return number.confidence == table.published_confidence
             ? number.text
             : fmt::format("{} [{}]", number.text, number.confidence);
}

std::vector<std::string> LegendOf(const ResultTable& table) {
  std::vector<std::string> legend;
  legend.push_back(fmt::format(
      "Simulated: median over {}{}{}{}.",
      SeedsText(table),
      AnyInterval(table) ? fmt::format(" [95 % interval of the median, bootstrap of {} resamples]",
                                       kTableResamples)
                         : "",
      AnyCell(table, "OOM") ? "; OOM: no placement that was found fits" : "",
      AnyCell(table, "–") ? "; –: undefined" : ""));
  if (std::any_of(table.columns.begin(), table.columns.end(), [](const ResultTableColumn& column) {
        return IsExpected(column.value);
      })) {
    legend.emplace_back(
        "Expected: what all seeds together took, each until the target or its own end, over the "
        "number of seeds that reached it (the expected running time of COCO).");
  }
  if (HasPublished(table)) AppendPublished(table, legend);
  if (!table.note.empty()) legend.push_back(table.note);
  if (table.failed > 0 || table.left > 0) {
    legend.push_back(fmt::format("Runs: {} of {} done, {} failed, {} not yet.",
                                 table.done,
                                 table.done + table.failed + table.left,
                                 table.failed,
                                 table.left));
  }
  for (size_t i = 0; i < std::min(table.failures.size(), kListedFailures); ++i) {
    legend.push_back("Failed: " + table.failures[i]);
  }
  if (table.failures.size() > kListedFailures) {
    legend.push_back(fmt::format("Failed: {} more", table.failures.size() - kListedFailures));
  }
  return legend;
}

}  // namespace emplace

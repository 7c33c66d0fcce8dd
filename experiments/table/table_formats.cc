#include "experiments/table/table_formats.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/table/row_values.h"

namespace emplace {
namespace {

constexpr size_t kListedFailures = 20;

// Returns whether the numbers are step times, which are infinite if no placement fits.
bool IsStepTime(const LayoutColumn& column) {
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

// A speed-up of 0 means that no placement fits.
bool IsNoSpeedUp(double value, const LayoutColumn& column) {
  return column.value == ColumnValue::kSpeedUp && value == 0;
}

// Returns the decimals that give `value` this many significant digits; digits before the point are
// never cut.
int DecimalsFor(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return std::clamp(digits - before, 0, 12);
}

int Decimals(double value, const LayoutColumn& column) {
  if (column.value == ColumnValue::kNoiseRegret) return 2;
  if (column.unit == "percent") return 1;
  if (column.unit == "count") return value == std::round(value) ? 0 : 1;
  return DecimalsFor(value, IsStepTime(column) ? 4 : 3);
}

// Durations in one table range from milliseconds to days.
bool IsDuration(const LayoutColumn& column) {
  return column.unit == "h" || column.value == ColumnValue::kSeconds;
}

// Returns "325.0 ms", "12.5 min", "41.2 h".
std::string FormatLength(double value, const LayoutColumn& column) {
  const double seconds = std::abs(value) * (column.unit == "h" ? 3600 : 1);
  const std::string text = seconds > 0 && seconds < 1
                               ? FormatTime(static_cast<Nanos>(std::llround(1e9 * seconds)))
                               : FormatDuration(seconds);
  return value < 0 ? "-" + text : text;
}

std::string FormatWith(double value, int decimals, const LayoutColumn& column) {
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
  if (IsDuration(column)) return FormatLength(value, column);
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                              : text;
}

std::string MeaningOf(const std::string& confidence) {
  if (confidence == "V") return "verified against the text";
  if (confidence == "R") return "recalled, not checked against the text";
  return confidence == "?" ? "from a weak source" : "our own";
}

// Agents without randomness run once and do not count.
std::string SeedsText(const ResultTable& table) {
  SeedCounts seeds;
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const TableCell& cell = row.cells[c];
      if (!cell.uses_seed || IsOfProblem(table.columns[c].value)) continue;
      seeds.Include({cell.done, cell.done});
    }
  }
  return seeds.most == 0 ? "one run" : seeds.most == 1 ? "one seed" : ToString(seeds);
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

// The kinds of intervals in a table.
struct ShownIntervals {
  bool bootstrap = false, range_without_level = false;
  std::set<int> range_seeds;  // of ranges with a level
};

ShownIntervals IntervalsOf(const ResultTable& table) {
  ShownIntervals shown;
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (DescribeCell(row.cells[c], table.columns[c]).interval.empty()) continue;
      const Interval& interval = *row.cells[c].interval;
      shown.bootstrap |= !interval.is_range;
      shown.range_without_level |= interval.is_range && !interval.level;
      if (interval.is_range && interval.level) shown.range_seeds.insert(interval.seeds.least);
    }
  }
  return shown;
}

// Returns " [range of the seeds, which contains the median of all possible seeds with probability
// 50 % for 2 seeds, 75 % for 3]".
std::string IntervalText(const ShownIntervals& shown) {
  std::string range;
  for (const int seeds : shown.range_seeds) {
    range += fmt::format("{}{:.3g} %", range.empty() ? "" : ", ", 100 * RangeLevel(seeds));
    if (shown.range_seeds.size() > 1 || shown.bootstrap) {
      range += fmt::format(" for {}{}", seeds, seeds == *shown.range_seeds.begin() ? " seeds" : "");
    }
  }
  if (!range.empty()) {
    range =
        "range of the seeds, which contains the median of all possible seeds with probability " +
        range;
  }
  const std::string bootstrap =
      shown.bootstrap
          ? fmt::format("95 % interval of the median, bootstrap of {} resamples", kTableResamples)
          : "";
  if (range.empty() && bootstrap.empty()) return "";
  if (range.empty()) return fmt::format(" [{}]", bootstrap);
  if (bootstrap.empty()) return fmt::format(" [{}]", range);
  return fmt::format(" [{}; below {} seeds {}]", bootstrap, kBootstrapSeeds, range);
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

std::string CellState(const TableCell& cell, const LayoutColumn& column) {
  if (!cell.run) return cell.failed > 0 ? "failed" : "not run";
  if (std::isnan(cell.value)) return "undefined";
  if (IsNoSpeedUp(cell.value, column)) return "oom";
  if (std::isfinite(cell.value)) return "number";
  if (cell.value > 0 && HasTarget(column.value)) return "not reached";
  return cell.value > 0 && IsStepTime(column) ? "oom" : "infinite";
}

std::string FormatCellNumber(double value, const LayoutColumn& column) {
  return FormatWith(value, Decimals(value, column), column);
}

CellText DescribeCell(const TableCell& cell, const LayoutColumn& column) {
  if (!cell.run) return {CellState(cell, column), "", ""};
  CellText text{FormatCellNumber(cell.value, column), "", ""};
  if (cell.interval && std::isfinite(cell.interval->low)) {
    const bool is_plain = std::isfinite(cell.value) && cell.value != 0;
    const int decimals = Decimals(is_plain ? cell.value : cell.interval->low, column);
    text.number = FormatWith(cell.value, decimals, column);
    const std::string low = FormatWith(cell.interval->low, decimals, column);
    const std::string high = FormatWith(cell.interval->high, decimals, column);
    if (low != text.number || high != text.number)
      text.interval = fmt::format("[{}, {}]", low, high);
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

std::string KindOf(const Interval& interval) {
  return interval.is_range ? "range" : "bootstrap 95 %";
}

std::string HeadOf(const LayoutColumn& column) {
  if (column.unit == "percent") return column.label + " [%]";
  if (column.unit == "ratio" || column.unit == "count" || IsDuration(column)) return column.label;
  return fmt::format("{} [{}]", column.label, column.unit);
}

bool HasPublished(const ResultTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const ResultTableRow& row) {
    return row.HasPublished();
  });
}

std::string FormatPublished(const PublishedNumber& number,
                            const LayoutColumn& column,
                            const ResultTable& table) {
  std::string text = number.text;
  if (IsDuration(column) && std::isfinite(number.value)) text += " " + column.unit;
  if (number.confidence != table.published_confidence) {
    text += fmt::format(" [{}]", number.confidence);
  }
  return text;
}

TableLines LinesOf(const ResultTable& table,
                   std::string (*escape)(const std::string&),
                   std::string (*join)(const CellText&)) {
  const bool published = HasPublished(table);
  const auto texts = [&](const std::vector<std::string>& heads, const char* source) {
    std::vector<std::string> line;
    for (const std::string& head : heads) line.push_back(escape(head));
    if (published) line.emplace_back(source);
    return line;
  };
  TableLines result{{texts(table.heads, "source")}};
  result.num_left = result.lines[0].size();
  for (const LayoutColumn& column : table.columns) {
    result.lines[0].push_back(escape(HeadOf(column)));
  }
  for (const ResultTableRow& row : table.rows) {
    std::vector<std::string> ours = texts(row.heads, "simulated"), theirs(row.heads.size());
    theirs.push_back(escape(fmt::format("published [{}]", table.published_confidence)));
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const std::optional<PublishedNumber>& number = row.cells[c].published;
      ours.push_back(join(DescribeCell(row.cells[c], table.columns[c])));
      theirs.push_back(number ? escape(FormatPublished(*number, table.columns[c], table)) : "");
    }
    result.lines.push_back(std::move(ours));
    if (row.HasPublished()) result.lines.push_back(std::move(theirs));
  }
  return result;
}

std::vector<std::string> LegendOf(const ResultTable& table) {
  std::vector<std::string> legend;
  const ShownIntervals intervals = IntervalsOf(table);
  legend.push_back(fmt::format("Simulated: median over {}{}{}{}.",
                               SeedsText(table),
                               IntervalText(intervals),
                               AnyCell(table, "OOM") ? "; OOM: no placement found fits" : "",
                               AnyCell(table, "–") ? "; –: undefined" : ""));
  if (intervals.range_without_level) {
    legend.push_back(fmt::format(
        "Intervals of formulas, shares and expected numbers{}: range over {} resamples of the "
        "seeds, with no known level.",
        intervals.bootstrap ? fmt::format(" of fewer than {} seeds", kBootstrapSeeds) : "",
        kTableResamples));
  }
  if (std::any_of(table.columns.begin(), table.columns.end(), [](const LayoutColumn& column) {
        return IsExpected(column.value);
      })) {
    legend.emplace_back(
        "Expected: total cost of all seeds, each until the target or its own end, divided by the "
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

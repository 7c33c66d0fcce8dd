#include <cmath>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

std::string CsvNumber(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

// Columns low, high.
std::string CsvEnds(const std::optional<Interval>& interval) {
  if (!interval) return ",";
  return CsvNumber(interval->low) + "," + CsvNumber(interval->high);
}

// Columns interval, interval_level, interval_seeds.
std::string CsvKind(const std::optional<Interval>& interval) {
  if (!interval) return ",,";
  return fmt::format("{},{},{}",
                     KindOf(*interval),
                     interval->level ? CsvNumber(*interval->level) : "",
                     interval->seeds.least);
}

}  // namespace

std::string TableCsv(const ResultTable& table) {
  std::string text;
  for (const std::string& head : table.heads) text += CsvField(head.empty() ? "row" : head) + ",";
  text +=
      "column,label,unit,source,confidence,state,value,low,high,seeds,fitting,failed,planned,"
      "interval,interval_level,interval_seeds\n";
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const TableCell& cell = row.cells[c];
      const LayoutColumn& column = table.columns[c];
      std::string begin;
      for (const std::string& head : row.heads) begin += CsvField(head) + ",";
      begin += fmt::format("{},{},{}", CsvField(column.name), CsvField(column.label), column.unit);
      const bool is_formula = column.value == ColumnValue::kFormula;
      text += fmt::format(
          "{},simulated,,{},{},{},{},{}\n",
          begin,
          CellState(cell, column),
          CsvNumber(cell.value),
          CsvEnds(cell.interval),
          is_formula
              ? ",,,"
              : fmt::format("{},{},{},{}", cell.done, cell.fitting, cell.failed, cell.planned),
          CsvKind(cell.interval));
      if (!cell.published) continue;
      text += fmt::format("{},published,{},{},{},,,,,,,,,\n",
                          begin,
                          cell.published->confidence,
                          std::isinf(cell.published->value) ? "oom" : "number",
                          CsvNumber(cell.published->value));
    }
  }
  return text;
}

}  // namespace emplace

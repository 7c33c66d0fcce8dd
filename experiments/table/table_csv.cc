#include <cmath>

#include <fmt/format.h>

#include "experiments/output.h"
#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

std::string CsvNumber(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string CsvNumber(const std::optional<double>& value) {
  return value ? CsvNumber(*value) : "";
}

}  // namespace

std::string TableCsv(const ResultTable& table) {
  std::string text;
  for (const std::string& head : table.heads) text += CsvField(head.empty() ? "row" : head) + ",";
  text += "column,label,unit,source,confidence,state,value,low,high,seeds,fitting,failed,planned\n";
  for (const ResultTableRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const TableCell& cell = row.cells[c];
      const ResultTableColumn& column = table.columns[c];
      std::string begin;
      for (const std::string& head : row.heads) begin += CsvField(head) + ",";
      begin += fmt::format("{},{},{}", CsvField(column.name), CsvField(column.label), column.unit);
      const bool is_formula = column.value == ColumnValue::kFormula;
      text += fmt::format(
          "{},simulated,,{},{},{},{},{}\n",
          begin,
          CellState(cell, column),
          CsvNumber(cell.value),
          CsvNumber(cell.low),
          CsvNumber(cell.high),
          is_formula
              ? ",,,"
              : fmt::format("{},{},{},{}", cell.done, cell.fitting, cell.failed, cell.planned));
      if (!cell.published) continue;
      text += fmt::format("{},published,{},{},{},,,,,,\n",
                          begin,
                          cell.published->confidence,
                          std::isinf(cell.published->value) ? "oom" : "number",
                          CsvNumber(cell.published->value));
    }
  }
  return text;
}

}  // namespace emplace

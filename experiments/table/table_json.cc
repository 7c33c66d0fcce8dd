#include <cmath>

#include <nlohmann/json.hpp>

#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

using Json = nlohmann::ordered_json;

// Returns "inf" and "-inf" as texts, because JSON has no such numbers.
Json JsonNumber(double value) {
  return std::isinf(value) ? Json(value > 0 ? "inf" : "-inf") : Json(value);
}

Json SeedsJson(const SeedCounts& seeds) {
  return seeds.most > 0 ? Json{seeds.least, seeds.most} : Json();
}

Json CellJson(const TableCell& cell, const LayoutColumn& column) {
  const std::optional<Interval>& interval = cell.interval;
  Json json = {{"state", CellState(cell, column)},
               {"median", cell.value},
               {"low", interval ? JsonNumber(interval->low) : Json()},
               {"high", interval ? JsonNumber(interval->high) : Json()},
               {"interval", interval ? Json(KindOf(*interval)) : Json()},
               {"interval_level", interval && interval->level ? Json(*interval->level) : Json()},
               {"interval_seeds", interval ? SeedsJson(interval->seeds) : Json()},
               {"seeds", cell.done},
               {"fitting", cell.fitting},
               {"failed", cell.failed},
               {"planned", cell.planned},
               {"missing", cell.missing},
               {"published", nullptr}};
  if (const auto& published = cell.published) {
    json["published"] = {{"state", std::isinf(published->value) ? "oom" : "number"},
                         {"value", published->value},
                         {"confidence", published->confidence}};
  }
  return json;
}

Json ClaimJson(const ClaimResult& claim) {
  Json rows = Json::array();
  for (const ClaimRow& row : claim.rows) {
    rows.push_back({{"row", row.row},
                    {"verdict", ToString(row.verdict)},
                    {"left", JsonNumber(row.left)},
                    {"right", JsonNumber(row.right)},
                    {"share", row.share},
                    {"seeds", SeedsJson(row.seeds)},
                    {"possible", ToString(row.possible)},
                    {"best_known", {JsonNumber(row.best_left), JsonNumber(row.best_right)}},
                    {"at_bound", {JsonNumber(row.bound_left), JsonNumber(row.bound_right)}},
                    {"missing", row.missing}});
  }
  return {{"text", claim.text},
          {"confidence", claim.confidence},
          {"holds", claim.holds},
          {"in", claim.scope},
          {"verdict", ToString(claim.verdict)},
          {"verdict_text", VerdictText(claim)},
          {"rows_held", claim.rows_held},
          {"share", claim.share},
          {"seeds", SeedsJson(claim.seeds)},
          {"of", claim.of},
          {"possible", ToString(claim.possible)},
          {"rows", rows}};
}

}  // namespace

std::string TableJson(const ResultTable& table) {
  Json columns = Json::array(), rows = Json::array(), claims = Json::array();
  for (const LayoutColumn& column : table.columns) {
    columns.push_back({{"name", column.name},
                       {"label", column.label},
                       {"unit", column.unit},
                       {"value", ToString(column.value)}});
  }
  for (const ResultTableRow& row : table.rows) {
    Json cells = Json::object();
    for (size_t c = 0; c < row.cells.size(); ++c) {
      cells[table.columns[c].name] = CellJson(row.cells[c], table.columns[c]);
    }
    rows.push_back({{"heads", row.heads}, {"cells", cells}});
  }
  for (const ClaimResult& claim : table.claims) claims.push_back(ClaimJson(claim));
  Json json = {{"format", "emplace-table"},
               {"version", 1},
               {"title", table.title},
               {"note", table.note},
               {"unit", table.unit},
               {"heads", table.heads},
               {"columns", columns},
               {"rows", rows},
               {"published", nullptr},
               {"claims", claims},
               {"runs", {{"done", table.done}, {"failed", table.failed}, {"left", table.left}}},
               {"legend", LegendOf(table)},
               {"failures", table.failures},
               {"warnings", table.warnings},
               {"sources", table.sources}};
  if (HasPublished(table)) {
    json["published"] = {{"source", table.published_source},
                         {"confidence", table.published_confidence}};
  }
  return json.dump(2) + "\n";
}

}  // namespace emplace

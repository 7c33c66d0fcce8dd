#include "experiments/table/result_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "experiments/table/row_values.h"
#include "experiments/table/run_keys.h"
#include "experiments/table/table_claims.h"
#include "framework/base/error.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

// A row before its numbers are computed.
struct RowPlan {
  std::vector<std::string> heads;
  std::vector<RunCondition> conditions;
  const LayoutRow* layout = nullptr;  // nullptr: made from keys
  std::vector<const ResultRun*> runs;
};

std::string SettingOf(const ResultRun& run, const std::string& key) {
  const std::string* value = FindRunKey(run, key);
  return value != nullptr ? *value : "";
}

std::vector<RunCondition> ConditionsOf(const ResultRun& run, const std::vector<std::string>& keys) {
  std::vector<RunCondition> conditions;
  for (const std::string& key : keys) conditions.push_back({key, SettingOf(run, key)});
  return conditions;
}

// Returns the keys that distinguish rows: graph, cluster, and each further key in which runs with
// equal earlier keys differ.
std::vector<std::string> VaryingKeys(const std::vector<ResultRun>& runs) {
  std::vector<std::string> keys = {"graph", "cluster"};
  for (const std::string& key : RunKeys()) {
    if (key == "agent" || key == "graph" || key == "cluster") continue;
    std::map<std::string, std::string> seen;
    const bool varies = std::any_of(runs.begin(), runs.end(), [&](const ResultRun& run) {
      std::string others;
      for (const RunCondition& condition : ConditionsOf(run, keys))
        others += condition.value + '\n';
      return seen.emplace(others, SettingOf(run, key)).first->second != SettingOf(run, key);
    });
    if (varies) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> AgentsOf(const std::vector<ResultRun>& runs) {
  std::vector<std::string> agents;
  for (const ResultRun& run : runs) {
    if (std::find(agents.begin(), agents.end(), run.agent) == agents.end()) {
      agents.push_back(run.agent);
    }
  }
  return agents;
}

class TableMaker {
 public:
  TableMaker(const TableLayout& layout, const std::vector<ResultRun>& runs)
      : layout_(layout), runs_(runs), columns_(layout.columns), order_(layout.order) {
    table_.title = layout.title;
    table_.note = layout.note;
    table_.unit = layout.unit;
    table_.published_source = layout.published_source;
    table_.published_confidence = layout.published_confidence;
  }

  ResultTable Make() {
    if (layout_.agents_as_columns) AddAgentColumns();
    table_.columns = columns_;
    PlanRows();
    std::vector<ClaimCheck> claims(layout_.claims.begin(), layout_.claims.end());
    for (int r = 0; r < std::ssize(plans_); ++r) AddRow(plans_[r], r, claims);
    for (const ClaimCheck& claim : claims) table_.claims.push_back(claim.Result());
    if (!layout_.sort.empty()) SortRows();
    if (layout_.agents_as_columns) SortColumns();
    CountRuns();
    Warn();
    return std::move(table_);
  }

 private:
  void AddAgentColumns() {
    std::vector<std::string> agents = AgentsOf(runs_);
    for (const LayoutRow& row : layout_.rows) {
      for (const auto& [name, number] : row.published) {
        if (std::count(agents.begin(), agents.end(), name) == 0) agents.push_back(name);
      }
    }
    for (const std::string& agent : agents) {
      LayoutColumn column;
      column.name = column.label = column.agent = agent;
      column.unit = layout_.unit;
      order_.push_back(static_cast<int>(columns_.size()));
      columns_.push_back(std::move(column));
    }
  }

  void PlanRows() {
    if (!layout_.rows.empty()) {
      table_.heads = {""};
      for (const LayoutRow& row : layout_.rows) plans_.push_back({{row.label}, row.runs, &row, {}});
      for (const ResultRun& run : runs_) {
        for (RowPlan& plan : plans_) {
          if (SatisfiesAll(ConditionsOf(run, KeysOf(plan)), plan.conditions)) {
            plan.runs.push_back(&run);
          }
        }
      }
      return;
    }
    table_.heads = layout_.row_keys.empty() ? VaryingKeys(runs_) : layout_.row_keys;
    std::map<std::vector<std::string>, size_t> index_of;
    for (const ResultRun& run : runs_) {
      std::vector<std::string> heads;
      for (const std::string& key : table_.heads) heads.push_back(SettingOf(run, key));
      const auto [found, is_new] = index_of.emplace(heads, plans_.size());
      if (is_new) plans_.push_back({heads, ConditionsOf(run, table_.heads), nullptr, {}});
      plans_[found->second].runs.push_back(&run);
    }
  }

  static std::vector<std::string> KeysOf(const RowPlan& plan) {
    std::vector<std::string> keys;
    for (const RunCondition& condition : plan.conditions) keys.push_back(condition.key);
    return keys;
  }

  bool IsAbout(const LayoutClaim& claim, const RowPlan& plan) const {
    if (plan.layout != nullptr) return SatisfiesAll(plan.conditions, claim.where);
    return std::all_of(claim.where.begin(), claim.where.end(), [&](const RunCondition& condition) {
      return std::all_of(plan.runs.begin(), plan.runs.end(), [&](const ResultRun* run) {
        return SettingOf(*run, condition.key) == condition.value;
      });
    });
  }

  void AddRow(const RowPlan& plan, int index, std::vector<ClaimCheck>& claims) {
    ResultTableRow row;
    row.heads = plan.heads;
    const RowValues values(columns_, order_, layout_.unit, row.Name(), plan.runs);
    for (int c = 0; c < std::ssize(columns_); ++c) {
      row.cells.push_back(MakeCell(values, c));
      if (plan.layout == nullptr) continue;
      const auto published = plan.layout->published.find(columns_[c].name);
      if (published != plan.layout->published.end()) row.cells[c].published = published->second;
    }
    for (size_t i = 0; i < claims.size(); ++i) {
      if (IsAbout(layout_.claims[i], plan)) claims[i].Add(index, values);
    }
    for (const ResultRun* run : plan.runs) in_a_row_.insert(run);
    table_.rows.push_back(std::move(row));
  }

  static TableCell MakeCell(const RowValues& values, int column) {
    const Resampled& number = values.column(column);
    TableCell cell;
    cell.run = number.run;
    cell.value = number.value;
    cell.missing = number.missing;
    cell.interval = IntervalOf(number);
    for (const ResultRun* run : values.runs(column)) {
      ++cell.planned;
      cell.uses_seed |= run->uses_seed;
      cell.done += run->progress == RunProgress::kDone;
      cell.failed += run->progress == RunProgress::kFailed;
    }
    cell.fitting = values.num_finite(column);
    return cell;
  }

  // Sorts rows by a column, the least first. Rows that differ only in the agent belong to one
  // problem and stay together; problems keep their order. Rows without a number come last.
  void SortRows() {
    const auto column = std::ranges::find(table_.columns, layout_.sort, &LayoutColumn::name);
    const auto agent = std::ranges::find(table_.heads, "agent");
    std::map<std::vector<std::string>, size_t> problems;
    std::vector<std::tuple<size_t, bool, double, size_t>> order;  // problem, missing, value, row
    for (size_t r = 0; r < table_.rows.size(); ++r) {
      std::vector<std::string> problem;
      if (agent != table_.heads.end()) {
        problem = table_.rows[r].heads;
        problem.erase(problem.begin() + (agent - table_.heads.begin()));
      }
      const TableCell& cell = table_.rows[r].cells[column - table_.columns.begin()];
      const bool missing = !cell.run || std::isnan(cell.value);
      order.emplace_back(problems.emplace(std::move(problem), problems.size()).first->second,
                         missing,
                         missing ? 0 : cell.value,
                         r);
    }
    std::ranges::sort(order);
    const std::vector<ResultTableRow> rows = std::move(table_.rows);
    std::vector<int> new_index(rows.size());
    table_.rows.clear();
    for (const auto& [problem, missing, value, row] : order) {
      new_index[row] = static_cast<int>(table_.rows.size());
      table_.rows.push_back(rows[row]);
    }
    for (ClaimResult& claim : table_.claims) {
      for (ClaimRow& row : claim.rows) row.row = new_index[row.row];
      std::ranges::sort(claim.rows, {}, &ClaimRow::row);
    }
  }

  // Sorts agents by the median over the rows of their step time / best step time of the row.
  void SortColumns() {
    std::vector<double> score(columns_.size(), std::numeric_limits<double>::infinity());
    for (size_t c = 0; c < columns_.size(); ++c) {
      std::vector<double> ratios;
      for (const ResultTableRow& row : table_.rows) {
        double best = std::numeric_limits<double>::infinity();
        for (const TableCell& cell : row.cells) {
          if (cell.run) best = std::min(best, cell.value);
        }
        const TableCell& cell = row.cells[c];
        ratios.push_back(cell.run && std::isfinite(cell.value)
                             ? cell.value / best
                             : std::numeric_limits<double>::infinity());
      }
      if (!ratios.empty()) score[c] = Median(ratios);
    }
    std::vector<size_t> sorted(columns_.size());
    for (size_t c = 0; c < sorted.size(); ++c) sorted[c] = c;
    std::stable_sort(
        sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return score[a] < score[b]; });
    const std::vector<LayoutColumn> columns = table_.columns;
    for (size_t c = 0; c < sorted.size(); ++c) table_.columns[c] = columns[sorted[c]];
    for (ResultTableRow& row : table_.rows) {
      const std::vector<TableCell> cells = row.cells;
      for (size_t c = 0; c < sorted.size(); ++c) row.cells[c] = cells[sorted[c]];
    }
  }

  void CountRuns() {
    for (const ResultRun& run : runs_) {
      const bool failed = run.progress == RunProgress::kFailed;
      table_.done += run.progress == RunProgress::kDone;
      table_.failed += failed;
      if (failed || (run.progress == RunProgress::kStopped && !run.error.empty())) {
        table_.failures.push_back(run.title + ": " + run.error);
      }
    }
    table_.left = static_cast<int>(runs_.size()) - table_.done - table_.failed;
  }

  void Warn() {
    const std::vector<std::string> agents = AgentsOf(runs_);
    std::set<std::string> known = {agents.begin(), agents.end()};
    for (const LayoutColumn& column : columns_) {
      if (column.agent.empty() || !known.insert(column.agent).second) continue;
      table_.warnings.push_back(fmt::format(
          "no run has the agent \"{}\"{}", column.agent, ChoicesHint(column.agent, agents)));
    }
    const size_t others = runs_.size() - in_a_row_.size();
    if (others == 0) return;
    const auto first = std::find_if(runs_.begin(), runs_.end(), [&](const ResultRun& run) {
      return !in_a_row_.contains(&run);
    });
    table_.warnings.push_back(fmt::format(
        "{} of {} runs are not in any row, for example {}", others, runs_.size(), first->title));
  }

  const TableLayout& layout_;
  const std::vector<ResultRun>& runs_;
  std::vector<LayoutColumn> columns_;
  std::vector<int> order_;
  std::vector<RowPlan> plans_;
  std::set<const ResultRun*> in_a_row_;
  ResultTable table_;
};

}  // namespace

std::string ResultTableRow::Name() const {
  return fmt::format("{}", fmt::join(heads, " "));
}

bool ResultTableRow::HasPublished() const {
  return std::any_of(
      cells.begin(), cells.end(), [](const TableCell& cell) { return cell.published.has_value(); });
}

ResultTable MakeResultTable(const TableLayout& layout, const ResultRuns& runs) {
  ResultTable table = TableMaker(layout, runs.runs).Make();
  table.sources = runs.sources;
  return table;
}

}  // namespace emplace

#include "agents/m_sct/m_sct.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <fmt/format.h>

#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

/// A dependency that has a variable x: between two groups, and not on a free source.
struct SctEdge {
  int from, to;
  double time;  // mean communication [ns]
};

/// Ends the simplex method soon after an end is wanted.
class StopHandler : public ClpEventHandler {
 public:
  explicit StopHandler(const Interrupt& interrupt) : interrupt_(interrupt) {}
  int event(Event event) override {
    constexpr int kGoOn = -1, kStop = 0;
    return event == endOfIteration && interrupt_.wanted() ? kStop : kGoOn;
  }
  ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  Interrupt interrupt_;
};

/// The linear program, column by column as CLP expects it. Rows are ">=".
class SctProgram {
 public:
  int AddRow(double least) {
    row_least_.push_back(least);
    return static_cast<int>(row_least_.size()) - 1;
  }
  void AddColumn(double most, double cost) {
    starts_.push_back(static_cast<CoinBigIndex>(values_.size()));
    most_.push_back(most);
    cost_.push_back(cost);
  }
  /// Adds a coefficient to the last column.
  void Add(int row, double value) {
    rows_.push_back(row);
    values_.push_back(value);
  }

  /// Returns an optimum. @return [columns]
  std::vector<double> Solve(const Interrupt& interrupt) {
    const int columns = static_cast<int>(most_.size());
    starts_.push_back(static_cast<CoinBigIndex>(values_.size()));
    const std::vector<double> least(columns, 0), row_most(row_least_.size(), kUnbounded);
    ClpSimplex lp;
    lp.setLogLevel(0);
    StopHandler handler(interrupt);
    lp.passInEventHandler(&handler);
    lp.loadProblem(columns,
                   static_cast<int>(row_least_.size()),
                   starts_.data(),
                   rows_.data(),
                   values_.data(),
                   least.data(),
                   most_.data(),
                   cost_.data(),
                   row_least_.data(),
                   row_most.data());
    ClpSolve how;
    how.setSolveType(ClpSolve::useDual);
    how.setDoDoubleton(false);  // its time grows with the square of the ops
    lp.initialSolve(how);
    interrupt.Check();
    if (!lp.isProvenOptimal()) {
      throw RunError(fmt::format("m_sct: CLP found no optimum of the linear program (status {})",
                                 lp.status()));
    }
    const double* solution = lp.getColSolution();
    return {solution, solution + columns};
  }

  static constexpr double kUnbounded = std::numeric_limits<double>::max();

 private:
  std::vector<CoinBigIndex> starts_;
  std::vector<int> rows_;
  std::vector<double> values_, most_, cost_, row_least_;
};

}  // namespace

std::vector<int> FavoriteChildren(const Problem& problem,
                                  std::uint64_t devices,
                                  const Interrupt& interrupt) {
  const OpInputs inputs(problem.graph());
  const ListSchedule schedule(problem, inputs, devices);  // for its free sources
  const MeanCommunication communication = ComputeMeanCommunication(problem.cluster(), devices);
  const std::vector<double> cost = MeanOpCosts(problem, devices);
  double unit = 0;  // keeps coefficients near 1
  for (double c : cost) unit += c / problem.num_ops();
  std::vector<int> child(problem.num_ops(), -1);
  if (unit == 0) return child;

  // Rows: one per dependency (s_j - s_i - c x >= p_i); then for each op its finish
  // (w - s_i >= p_i), its children and its parents.
  struct Dependency {
    int from, to, row;
  };
  SctProgram program;
  std::vector<Dependency> dependencies;
  std::vector<SctEdge> edges;
  std::vector<int> row_of_edge, num_children(problem.num_ops(), 0),
      num_parents(problem.num_ops(), 0);
  for (int op = 0; op < problem.num_ops(); ++op) {
    for (const OpInput& input : inputs[op]) {
      if (schedule.IsFreeSource(input.op)) continue;
      const int row = program.AddRow(cost[input.op] / unit);
      dependencies.push_back({input.op, op, row});
      if (problem.grouping().group_of(input.op) == problem.grouping().group_of(op)) continue;
      edges.push_back({input.op, op, communication(input.bytes)});
      row_of_edge.push_back(row);
      ++num_children[input.op];
      ++num_parents[op];
    }
  }
  std::vector<int> finish_row, child_row, parent_row;
  for (int op = 0; op < problem.num_ops(); ++op) {
    finish_row.push_back(program.AddRow(cost[op] / unit));
    child_row.push_back(program.AddRow(num_children[op] - 1));
    parent_row.push_back(program.AddRow(num_parents[op] - 1));
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    program.AddColumn(1, 0);
    program.Add(row_of_edge[e], -edges[e].time / unit);
    program.Add(child_row[edges[e].from], 1);
    program.Add(parent_row[edges[e].to], 1);
  }
  std::vector<std::vector<std::pair<int, double>>> of_start(problem.num_ops());
  for (const Dependency& d : dependencies) {
    of_start[d.from].emplace_back(d.row, -1);
    of_start[d.to].emplace_back(d.row, 1);
  }
  for (int op = 0; op < problem.num_ops(); ++op) {
    program.AddColumn(SctProgram::kUnbounded, 0);
    for (const auto& [row, value] : of_start[op]) program.Add(row, value);
    program.Add(finish_row[op], -1);
  }
  program.AddColumn(SctProgram::kUnbounded, 1);
  for (int row : finish_row) program.Add(row, 1);

  const std::vector<double> solution = program.Solve(interrupt);
  std::vector<int> least_first(edges.size());
  std::iota(least_first.begin(), least_first.end(), 0);
  std::stable_sort(least_first.begin(), least_first.end(), [&](int a, int b) {
    return solution[a] < solution[b];
  });
  std::vector<bool> has_parent(problem.num_ops(), false);
  for (int e : least_first) {
    if (solution[e] >= 0.5) break;
    // Neither happens, except for rounding errors of the solver.
    if (child[edges[e].from] >= 0 || has_parent[edges[e].to]) continue;
    child[edges[e].from] = edges[e].to;
    has_parent[edges[e].to] = true;
  }
  return child;
}

MSctAgent::MSctAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("m_sct", context),
      devices_(MaskOf(SelectDevices(context.problem->cluster(), "devices", config.devices))),
      config_(config) {
  if (problem().num_ops() > config.most_ops) {
    throw SettingError(
        "most_ops",
        fmt::format(
            "graph \"{}\" has {} ops, expected at most {}: the linear program grows with ops and "
            "dependencies; search the graph of the groups (simulate_groups: true), or use m_etf",
            problem().graph().name(),
            problem().num_ops(),
            config.most_ops));
  }
}

std::vector<Placement> MSctAgent::Construct() const {
  return {ComputeEtf(problem(),
                     devices_,
                     true,
                     config_.count_outputs,
                     interrupt(),
                     FavoriteChildren(problem(), devices_, interrupt()))
              .placement};
}

}  // namespace emplace

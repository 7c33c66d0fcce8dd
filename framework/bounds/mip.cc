#include "framework/bounds/mip.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <queue>

#include <Clp_C_Interface.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kIterationsPerLook = 500;
constexpr double kWhole = 1e-6;

double ClpLimit(double limit) {
  constexpr double kInfinite = std::numeric_limits<double>::max();
  return limit == kNoLimit ? kInfinite : limit == -kNoLimit ? -kInfinite : limit;
}

}  // namespace

int LinearModel::AddColumn(double column_cost, double column_lower, double column_upper) {
  cost.push_back(column_cost);
  lower.push_back(column_lower);
  upper.push_back(column_upper);
  return num_columns() - 1;
}

int LinearModel::AddRow(double lowest,
                        double highest,
                        std::span<const std::pair<int, double>> entries) {
  row_lower.push_back(lowest);
  row_upper.push_back(highest);
  for (const auto& [index, coefficient] : entries) {
    if (coefficient == 0) continue;
    column.push_back(index);
    value.push_back(coefficient);
  }
  row_begin.push_back(static_cast<int>(column.size()));
  return num_rows() - 1;
}

double ProvenValue(const LinearModel& model,
                   std::span<const double> prices,
                   std::span<const double> lower,
                   std::span<const double> upper,
                   std::vector<double>* reduced_costs) {
  // All sums are in long double. A sum of n terms has an error of less than n units in the last
  // place of the sum of the terms' magnitudes, which is summed for each column as well.
  using Real = long double;
  constexpr Real kUnit = std::numeric_limits<Real>::epsilon();
  const int rows = model.num_rows(), columns = model.num_columns();
  std::vector<Real> reduced(model.cost.begin(), model.cost.end());
  std::vector<Real> magnitude;
  for (const double cost : model.cost) magnitude.push_back(std::fabs(cost));
  Real sum = 0, total = 0;
  for (int i = 0; i < rows; ++i) {
    const Real price = prices[i];
    const double limit = price > 0 ? model.row_lower[i] : model.row_upper[i];
    if (price == 0 || !std::isfinite(limit) || !std::isfinite(prices[i])) continue;
    sum += price * limit;
    total += std::fabs(price * limit);
    for (int e = model.row_begin[i]; e < model.row_begin[i + 1]; ++e) {
      const Real term = price * model.value[e];
      reduced[model.column[e]] -= term;
      magnitude[model.column[e]] += std::fabs(term);
    }
  }
  const Real terms = static_cast<Real>(rows) + columns + 4;
  if (reduced_costs != nullptr) reduced_costs->resize(columns);
  for (int j = 0; j < columns; ++j) {
    const Real slip = magnitude[j] * terms * kUnit;
    const Real low = reduced[j] - slip;  // the exact value is between low and low + 2 slip
    if (reduced_costs != nullptr) {      // subtracts more than the rounding error of the conversion
      (*reduced_costs)[j] = static_cast<double>(low - std::fabs(low) * 1e-15L);
    }
    if (upper[j] == kNoLimit) {
      if (low < 0) return -kNoLimit;
      sum += low * lower[j];
      total += std::fabs((low + 2 * slip) * lower[j]);
      if (lower[j] < 0) sum += 2 * slip * lower[j];
      continue;
    }
    const Real high = low + 2 * slip;
    const Real least = std::min({low * lower[j], low * upper[j], high * lower[j], high * upper[j]});
    sum += least;
    total += std::fabs(least);
  }
  return static_cast<double>(sum - total * terms * kUnit) * (1 - (sum > 0 ? 1e-15 : -1e-15));
}

struct LinearProgramme::Solver {
  Clp_Simplex* clp = Clp_newModel();
  int rows = 0, columns = 0;
  ~Solver() { Clp_deleteModel(clp); }
};

LinearProgramme::LinearProgramme(const LinearModel& model, double tolerance)
    : solver_(std::make_unique<Solver>()) {
  Clp_Simplex* const clp = solver_->clp;
  Clp_setLogLevel(clp, 0);
  std::vector<double> lower, upper;
  for (const double limit : model.lower) lower.push_back(ClpLimit(limit));
  for (const double limit : model.upper) upper.push_back(ClpLimit(limit));
  const CoinBigIndex none = 0;
  std::vector<CoinBigIndex> starts(model.num_columns() + 1, none);
  Clp_loadProblem(clp,
                  model.num_columns(),
                  0,
                  starts.data(),
                  nullptr,
                  nullptr,
                  lower.data(),
                  upper.data(),
                  model.cost.data(),
                  nullptr,
                  nullptr);
  solver_->columns = model.num_columns();
  Clp_setPrimalTolerance(clp, tolerance);
  Clp_setDualTolerance(clp, tolerance);
  AddRows(model);
}

LinearProgramme::~LinearProgramme() = default;

void LinearProgramme::AddRows(const LinearModel& model) {
  const int first = solver_->rows, count = model.num_rows() - first;
  if (count == 0) return;
  std::vector<double> lower, upper;
  std::vector<CoinBigIndex> starts;
  for (int i = first; i < model.num_rows(); ++i) {
    lower.push_back(ClpLimit(model.row_lower[i]));
    upper.push_back(ClpLimit(model.row_upper[i]));
    starts.push_back(model.row_begin[i] - model.row_begin[first]);
  }
  starts.push_back(model.row_begin.back() - model.row_begin[first]);
  Clp_addRows(solver_->clp,
              count,
              lower.data(),
              upper.data(),
              starts.data(),
              model.column.data() + model.row_begin[first],
              model.value.data() + model.row_begin[first]);
  solver_->rows = model.num_rows();
}

void LinearProgramme::SetBounds(int column, double lower, double upper) {
  Clp_columnLower(solver_->clp)[column] = lower;
  Clp_columnUpper(solver_->clp)[column] = ClpLimit(upper);
}

LinearProgramme::Status LinearProgramme::Solve(const std::function<bool()>& stop) {
  Clp_Simplex* const clp = solver_->clp;
  constexpr int kStoppedOnIterations = 3, kOptimalStatus = 0, kInfeasibleStatus = 1;
  while (true) {
    if (stop && stop()) return Status::kStopped;
    Clp_setMaximumIterations(clp, Clp_numberIterations(clp) + kIterationsPerLook);
    Clp_dual(clp, 0);
    const int status = Clp_status(clp);
    if (status == kOptimalStatus) return Status::kOptimal;
    if (status == kInfeasibleStatus) return Status::kInfeasible;
    if (status != kStoppedOnIterations) return Status::kStopped;
  }
}

std::span<const double> LinearProgramme::solution() const {
  return {Clp_getColSolution(solver_->clp), std::size_t(solver_->columns)};
}

std::span<const double> LinearProgramme::prices() const {
  return {Clp_dualRowSolution(solver_->clp), std::size_t(solver_->rows)};
}

std::vector<double> LinearProgramme::InfeasibilityRay() const {
  double* const ray = Clp_infeasibilityRay(solver_->clp);
  if (ray == nullptr) return {};
  std::vector<double> prices(ray, ray + solver_->rows);
  Clp_freeRay(solver_->clp, ray);
  return prices;
}

namespace {

class Search {
 public:
  Search(const LinearModel& model, const BranchOptions& options)
      : model_(model),
        options_(options),
        programme_(model),
        lower_(model.lower),
        upper_(model.upper),
        no_costs_(model) {
    no_costs_.cost.assign(model.num_columns(), 0);
  }

  double Run() {
    Evaluate(-1, -1, -kNoLimit);
    while (!open_.empty() && !stopped_) {
      const double bound = std::min(open_.top().first, closed_);
      if (bound >= Cutoff()) break;
      Improve(bound);
      const int node = open_.top().second;
      open_.pop();
      Plunge(node);
    }
    double bound = std::min(closed_, Cutoff());
    if (!open_.empty()) bound = std::min(bound, open_.top().first);
    Improve(bound);
    return std::max(bound, told_);  // the cutoff may have fallen below the proven bound
  }

 private:
  struct Node {
    int parent, column;  // the column fixed to 1 here; -1: the root
    int choice;          // to be decided next
    double bound;
    std::vector<int> zeros;  // columns that are 0 in all wanted solutions below this node
  };

  double Cutoff() const { return options_.cutoff ? options_.cutoff() : kNoLimit; }

  void Improve(double bound) {
    if (bound <= told_) return;
    told_ = bound;
    if (options_.improved) options_.improved(bound);
  }

  // Dives from a node, each time to the child with the least bound.
  void Plunge(int node) {
    while (node >= 0 && !stopped_) {
      std::vector<int> decided;
      for (int at = node; nodes_[at].parent >= 0; at = nodes_[at].parent) {
        decided.push_back(nodes_[at].column);
      }
      const int choice = nodes_[node].choice;
      const std::vector<int> columns =
          options_.branches ? options_.branches(choice, decided) : options_.choices[choice];
      int best = -1;
      std::vector<int> children;
      for (const int column : columns) {
        if (stopped_) {  // unsolved children keep the bound of their parent
          closed_ = std::min(closed_, nodes_[node].bound);
          break;
        }
        if (IsZero(node, column)) continue;
        const int child = Evaluate(node, column, nodes_[node].bound);
        if (child < 0) continue;
        children.push_back(child);
        if (best < 0 || nodes_[child].bound < nodes_[best].bound) best = child;
      }
      for (const int child : children) {
        if (child != best || stopped_) open_.emplace(nodes_[child].bound, child);
      }
      node = best;
    }
  }

  bool IsZero(int node, int column) const {
    for (; node >= 0; node = nodes_[node].parent) {
      if (std::ranges::binary_search(nodes_[node].zeros, column)) return true;
    }
    return false;
  }

  // Solves a node. @return its index if some choice is not decided yet, else -1
  int Evaluate(int parent, int column, double parent_bound) {
    // Sets the bounds of columns decided on the path from the root.
    for (const int changed : changed_) {
      lower_[changed] = model_.lower[changed];
      upper_[changed] = model_.upper[changed];
      touched_.push_back(changed);
    }
    changed_.clear();
    for (int one = column, at = parent; one >= 0; one = nodes_[at].column, at = nodes_[at].parent) {
      lower_[one] = 1;
      changed_.push_back(one);
    }
    for (int at = parent; at >= 0; at = nodes_[at].parent) {
      for (const int zero : nodes_[at].zeros) {
        upper_[zero] = 0;
        changed_.push_back(zero);
      }
    }
    for (const std::vector<int>& choice : options_.choices) {
      if (std::ranges::none_of(choice, [&](int c) { return lower_[c] == 1; })) continue;
      for (const int c : choice) {
        if (lower_[c] == 1) continue;
        upper_[c] = 0;
        changed_.push_back(c);
      }
    }
    touched_.insert(touched_.end(), changed_.begin(), changed_.end());
    for (const int c : touched_) programme_.SetBounds(c, lower_[c], upper_[c]);
    touched_.clear();

    const LinearProgramme::Status status = programme_.Solve(options_.stop);
    double bound = parent_bound;
    if (status == LinearProgramme::Status::kInfeasible) {
      const std::vector<double> ray = programme_.InfeasibilityRay();
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> prices = ray;
        for (double& price : prices) price *= sign;
        if (!ray.empty() && ProvenValue(no_costs_, prices, lower_, upper_) > 0) return -1;
      }
      closed_ = std::min(closed_, bound);  // not proved, so the parent's bound counts
      return -1;
    }
    const double proven = ProvenValue(model_, programme_.prices(), lower_, upper_, &reduced_);
    bound = std::max(bound, proven);
    if (status == LinearProgramme::Status::kStopped) {
      stopped_ = true;
      closed_ = std::min(closed_, bound);
      return -1;
    }
    if (bound >= Cutoff()) {
      closed_ = std::min(closed_, std::max(bound, Cutoff()));
      return -1;
    }
    const int choice = MostUndecided();
    if (options_.found) options_.found(programme_.solution(), choice < 0);
    if (choice < 0) {
      closed_ = std::min(closed_, bound);
      return -1;
    }
    nodes_.push_back({parent, column, choice, bound, {}});
    for (const std::vector<int>& columns : options_.choices) {
      for (const int c : columns) {
        if (upper_[c] == 1 && lower_[c] == 0 && proven + reduced_[c] * (1 - 1e-12) > Cutoff()) {
          nodes_.back().zeros.push_back(c);
        }
      }
    }
    std::ranges::sort(nodes_.back().zeros);
    const int node = static_cast<int>(nodes_.size()) - 1;
    if (parent < 0) open_.emplace(bound, node);
    return node;
  }

  int MostUndecided() const {
    const std::span<const double> x = programme_.solution();
    int best = -1;
    double most = 0;
    for (std::size_t i = 0; i < options_.choices.size(); ++i) {
      double largest = 0;
      for (const int c : options_.choices[i]) largest = std::max(largest, x[c]);
      if (largest >= 1 - kWhole) continue;
      const double need = (1 - largest) * (options_.weight[i] + kWhole);
      if (best < 0 || need > most) {
        best = static_cast<int>(i);
        most = need;
      }
    }
    return best;
  }

  const LinearModel& model_;
  const BranchOptions& options_;
  LinearProgramme programme_;
  std::vector<double> lower_, upper_;  // of the node that is solved
  LinearModel no_costs_;
  std::vector<double> reduced_;
  std::vector<int> changed_, touched_;
  std::vector<Node> nodes_;
  // By bound, the least first.
  std::priority_queue<std::pair<double, int>,
                      std::vector<std::pair<double, int>>,
                      std::greater<std::pair<double, int>>>
      open_;
  double closed_ = kNoLimit;  // least bound of the closed nodes
  double told_ = -kNoLimit;
  bool stopped_ = false;
};

}  // namespace

double BranchAndBound(const LinearModel& model, const BranchOptions& options) {
  EMPLACE_CHECK(options.weight.size() == options.choices.size());
  return Search(model, options).Run();
}

}  // namespace emplace

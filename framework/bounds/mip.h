#pragma once

// Linear programmes with choices (of some columns exactly one is 1, the others are 0), solved by
// branch and bound over CLP. Bounds hold whatever floating-point errors the solver makes: prices
// (duals) of any origin prove a bound (ProvenValue), and every node is closed by its own proof.
//
//   min cost x   s.t.  row_lower <= A x <= row_upper,  lower <= x <= upper,  choices
//
// CBC is not used: its C interface can neither be stopped nor tell its solutions while it runs.

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct LinearModel {
  /// Finite bounds, but `upper` may be kNoLimit. @return its index
  int AddColumn(double cost, double lower, double upper);
  /// @param entries  column, coefficient; each column at most once; those that are 0 are left out
  /// @return its index
  int AddRow(double lower, double upper, std::span<const std::pair<int, double>> entries);

  int num_columns() const { return static_cast<int>(cost.size()); }
  int num_rows() const { return static_cast<int>(row_lower.size()); }

  std::vector<double> cost, lower, upper;    ///< [columns]
  std::vector<double> row_lower, row_upper;  ///< [rows]
  std::vector<int> row_begin{0};             ///< [rows + 1]
  std::vector<int> column;                   ///< [row_begin.back()]
  std::vector<double> value;                 ///< [row_begin.back()]
};

/// A bound that `prices` prove by weak duality:
///
///   sum over rows of p * (p > 0 ? row_lower : row_upper)
///     + sum over columns of min over [lower, upper] of (cost - p A) x
///
/// less a bound on its own rounding errors. A price that would make a term infinite counts as 0;
/// -kNoLimit if a column without upper bound has (cost - p A) < 0.
/// @param prices        [rows] any numbers
/// @param lower, upper  [columns] bounds that stand for the model's
/// @param reduced       out, if given: [columns] less than or equal to (cost - p A); as much the
///   bound grows at least if a column is 1 instead of 0, where that is positive. Incomplete where
///   -kNoLimit is returned
double ProvenValue(const LinearModel& model,
                   std::span<const double> prices,
                   std::span<const double> lower,
                   std::span<const double> upper,
                   std::vector<double>* reduced = nullptr);

/// A linear programme kept in the solver: bounds of columns may change and rows be added between
/// solutions, each of which begins where the one before ended.
class LinearProgramme {
 public:
  explicit LinearProgramme(const LinearModel& model);
  ~LinearProgramme();
  LinearProgramme(const LinearProgramme&) = delete;
  LinearProgramme& operator=(const LinearProgramme&) = delete;

  /// Tells the solver of the rows that the model got since.
  void AddRows(const LinearModel& model);
  void SetBounds(int column, double lower, double upper);

  enum class Status { kOptimal, kInfeasible, kStopped };
  /// @param stop  asked every 2,000 iterations or so
  Status Solve(const std::function<bool()>& stop);
  std::span<const double> solution() const;  ///< [columns] after kOptimal
  std::span<const double> prices() const;    ///< [rows] of the last solution, optimal or not
  /// [rows] prices that prove that there is no solution; empty if the solver has none. After
  /// kInfeasible.
  std::vector<double> InfeasibilityRay() const;

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
};

struct BranchOptions {
  /// [choices] columns of which exactly one is 1.
  std::vector<std::vector<int>> choices;
  std::vector<double> weight;  ///< [choices] dear ones are decided first
  /// Which columns of a choice to try, given those that are 1 by decision; empty: all.
  std::function<std::vector<int>(int choice, std::span<const int> decided)> branches;
  std::function<bool()> stop;  ///< asked often; true ends the search
  /// Solutions of this value or more are of no interest; may fall while the search runs.
  std::function<double()> cutoff;
  /// Called with each solution of all choices, and for fractional ones with `whole` false, from
  /// which a caller may make one. May throw, which ends the search.
  std::function<void(std::span<const double> solution, bool whole)> found;
  std::function<void(double)> improved;  ///< each better bound; may throw
};

/// Searches until all is decided or `stop`.
/// @return a proven lower bound on the value of every solution that is less than the cutoff; the
///   cutoff if there is none
double BranchAndBound(const LinearModel& model, const BranchOptions& options);

}  // namespace emplace

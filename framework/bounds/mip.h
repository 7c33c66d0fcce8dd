#pragma once

// Linear programs with choices (exactly one column of each choice is 1, the others are 0), solved
// by branch and bound over CLP. The bounds hold for any floating-point errors of the solver: any
// prices (dual values) prove a bound (ProvenValue), and every node is closed by its own proof.
//
//   min cost x   s.t.  row_lower <= A x <= row_upper,  lower <= x <= upper,  choices
//
// CBC is not used: its C interface can neither be stopped nor report solutions while it runs.

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct LinearModel {
  /// Adds a column. The bounds are finite, except that `upper` may be kNoLimit, and `lower`
  /// -kNoLimit if no ProvenValue() is wanted. @return its index
  int AddColumn(double cost, double lower, double upper);
  /// @param entries  column, coefficient; each column at most once; zeros are left out
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

/// Returns the bound that `prices` prove by weak duality,
///
///   sum over rows of p * (p > 0 ? row_lower : row_upper)
///     + sum over columns of min over [lower, upper] of (cost - p A) x
///
/// minus a bound on the rounding errors of this sum. A price that would make a term infinite counts
/// as 0. Returns -kNoLimit if a column without upper bound has (cost - p A) < 0.
/// @param prices        [rows] any numbers
/// @param lower, upper  [columns] bounds that replace the model's
/// @param reduced       out, optional: [columns] less than or equal to (cost - p A). A positive
///   entry is the least growth of the bound if the column is 1 instead of 0. Incomplete if
///   -kNoLimit is returned
double ProvenValue(const LinearModel& model,
                   std::span<const double> prices,
                   std::span<const double> lower,
                   std::span<const double> upper,
                   std::vector<double>* reduced = nullptr);

/// A linear program that is kept in the solver. Between solutions, bounds of columns may change and
/// rows may be added. Each solution starts from the one before.
class LinearProgramme {
 public:
  /// @param tolerance  of rows and of reduced costs
  explicit LinearProgramme(const LinearModel& model, double tolerance = 1e-9);
  ~LinearProgramme();
  LinearProgramme(const LinearProgramme&) = delete;
  LinearProgramme& operator=(const LinearProgramme&) = delete;

  /// Adds the rows that the model got since the last call.
  void AddRows(const LinearModel& model);
  void SetBounds(int column, double lower, double upper);

  enum class Status { kOptimal, kInfeasible, kStopped };
  /// @param stop  called about every 2,000 iterations
  Status Solve(const std::function<bool()>& stop);
  std::span<const double> solution() const;  ///< [columns] after kOptimal
  std::span<const double> prices() const;    ///< [rows] of the last solution, optimal or not
  /// [rows] prices that prove infeasibility; empty if the solver has none. Call it after
  /// kInfeasible.
  std::vector<double> InfeasibilityRay() const;

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
};

struct BranchOptions {
  /// [choices] sets of columns, exactly one of which is 1.
  std::vector<std::vector<int>> choices;
  std::vector<double> weight;  ///< [choices] large ones are decided first
  /// Returns the columns of a choice to try, given the columns fixed to 1. If not set, all are
  /// tried.
  std::function<std::vector<int>(int choice, std::span<const int> decided)> branches;
  std::function<bool()> stop;  ///< called often; true ends the search
  /// Returns the value from which solutions are not wanted; may decrease during the search.
  std::function<double()> cutoff;
  /// Called with each solution that satisfies all choices, and with fractional ones (`whole` is
  /// false), which a caller may round. May throw, which ends the search.
  std::function<void(std::span<const double> solution, bool whole)> found;
  std::function<void(double)> improved;  ///< called with each better bound; may throw
};

/// Searches until it is complete or `stop` returns true.
/// @return a proven lower bound on all solutions below the cutoff; the cutoff if there are none
double BranchAndBound(const LinearModel& model, const BranchOptions& options);

}  // namespace emplace

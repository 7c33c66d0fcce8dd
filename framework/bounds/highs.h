#pragma once

// Linear programs with choices (mip.h), solved by HiGHS (Q. Huangfu, J. A. J. Hall, Parallelizing
// the dual revised simplex method, Mathematical Programming Computation 10, 2018) in a process of
// its own: Python with the package highspy. It runs beside the methods of this process.
//
// Unlike those of BranchAndBound(), the bounds rely on the solver, which calls a solution feasible
// if it violates no row by more than 1e-6. They are therefore lowered by that share.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/bounds/mip.h"

namespace emplace {

/// Sets the Python program that runs HiGHS. Without a call it is $EMPLACE_PYTHON, or python3.
void SetHighsPython(const std::string& program);

/// Returns why HiGHS cannot be used: "no program \"python3\"", "No module named 'highspy'". Empty:
/// it can. Tries it at the first call, which takes some tenths of a second.
std::string WhyNoHighs();

/// A search of HiGHS. It begins with the constructor; the destructor ends it.
class HighsSearch {
 public:
  /// @param choices  as BranchOptions::choices
  /// @param cutoff   solutions from this value on are not wanted; kNoLimit: all are
  /// @param gap      ends when the bound and the best solution differ by this share
  HighsSearch(const LinearModel& model,
              const std::vector<std::vector<int>>& choices,
              double cutoff = kNoLimit,
              double gap = 0);
  ~HighsSearch();
  HighsSearch(const HighsSearch&) = delete;
  HighsSearch& operator=(const HighsSearch&) = delete;

  /// Waits for news of the search, and calls `improved` with each better lower bound on all
  /// solutions below the cutoff; with the cutoff if there are none.
  /// @param milliseconds  longest time to wait
  /// @param found         if set, called with each better solution: 1 for the chosen columns, 0 for
  ///   all others [num_columns]
  void Poll(int milliseconds,
            const std::function<void(double)>& improved,
            const std::function<void(std::span<const double>)>& found = {});
  bool ended() const;
  /// Returns why the search ended without a result; empty: it did not.
  const std::string& failure() const;

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace emplace

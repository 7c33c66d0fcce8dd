#pragma once

// The best lower bound on the objective of a problem that can be proved in a given time. It is
// reported with every search as `bound`, together with the method that proved it. Each method is in
// this folder, and its header explains why the bound holds:
//
//   work, critical_path   bounds.h
//   windows               window_bounds.h, with the transfers of the graph
//   cuts                  cut_bound.h, for a tenth of the time if time is given, and only if the
//                         work bound is near the best one, or memory requires several devices
//   segments              window_bounds.h after segments.h has added delays: quick ones at first;
//                         if there is time, ever larger segments with longer searches
//
// Only the first line is used if the number of edges times the square of the number of devices
// exceeds 100 million. For Objective::kPeriod only `work` holds; see period_bound.h for others.

#include <functional>
#include <string>

#include "framework/base/interrupt.h"
#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

struct LowerBound {
  Nanos value = 0;     ///< no placement that fits has a smaller objective [ns]
  std::string method;  ///< that proved it, as named in results
};

struct Proof : LowerBound {
  /// The reason for the end: "time is up", "segment search is complete", ... Empty if the bound has
  /// reached ProofOptions::known.
  std::string ended;
};

struct ProofOptions {
  /// Time for methods that improve as long as they run. With 0, only the methods run that take well
  /// under a second on a graph of thousands of ops, and the value is the same on every machine. [s]
  double seconds = 0;
  /// The objective of a known placement. The proof ends when its bound is as large. [ns]
  Nanos known = kMaxNanos;
  /// The result of an earlier proof of this problem. The proof resumes from there: it reports and
  /// returns only larger bounds, and tries no targets that the earlier proof refuted.
  LowerBound proved;
  Interrupt interrupt;
  /// Called with each bound that is better than all before, if set.
  std::function<void(const LowerBound&)> improved;
  /// Called with each placement that a proof finds, if set. Returns its objective; kMaxNanos if it
  /// does not fit. [ns]
  std::function<Nanos(const Placement&)> found;
};

/// Proves a lower bound. @throws Interrupted
Proof ProveBound(const Problem& problem, const ProofOptions& options = {});

}  // namespace emplace

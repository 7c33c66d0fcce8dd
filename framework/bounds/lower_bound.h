#pragma once

// The best lower bound on the objective of a problem that some time proves: what is reported beside
// every search as `bound`, with the method that proved it. The methods are those of this folder;
// each one's header says why it holds:
//
//   work, critical_path   bounds.h
//   windows               window_bounds.h, with the transfers of the graph
//   cuts                  cut_bound.h, for a tenth of the time, if there is any: where work is most
//                         of what the others prove, or memory forces several devices
//   segments              the same after segments.h has added delays: quickly at first, then, if
//                         there is time, for ever larger segments with longer searches
//
// All but the first line are left out where edges times the square of the devices exceed 100
// million. For Objective::kPeriod only work holds; period_bound.h has its own methods.

#include <functional>
#include <string>

#include "framework/base/interrupt.h"
#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

struct LowerBound {
  Nanos value = 0;     ///< no placement that fits has a smaller objective [ns]
  std::string method;  ///< what proved it, as results name it
};

struct Proof : LowerBound {
  /// Why it ended: "time is up", "segment search is complete", ... Empty: the bound is as large as
  /// ProofOptions::known.
  std::string ended;
};

struct ProofOptions {
  /// Time for methods that improve as long as they run; 0: only those that take well under a
  /// second on a graph of thousands of ops, the same value on every machine [s]
  double seconds = 0;
  /// A placement with this objective is known: a bound as large ends the proof [ns]
  Nanos known = kMaxNanos;
  /// What an earlier proof of this problem ended with. The proof goes on from there: it tells and
  /// returns what is larger, and tries no targets that this has disproved.
  LowerBound proved;
  Interrupt interrupt;
  /// Told each bound that is better than all before, if set.
  std::function<void(const LowerBound&)> improved;
};

/// @throws Interrupted
Proof ProveBound(const Problem& problem, const ProofOptions& options = {});

}  // namespace emplace

#pragma once

// Lower bounds on all placements of a run's problem, and their form in its results file
// (framework/results/FORMAT.md, `/problem`).

#include <optional>
#include <string>

#include "experiments/problem/load.h"
#include "framework/bounds/bounds.h"
#include "framework/bounds/lower_bound.h"
#include "framework/results/record.h"

namespace emplace {

/// The bounds of a problem before any search.
struct ProblemBounds {
  Bounds simple;      ///< over every op of the graph
  LowerBound proven;  ///< the best bound; like step times, of the problem that agents see
};
ProblemBounds BoundProblem(const LoadedProblem& problem);

/// Returns the larger bound, or `a` if they are equal.
LowerBound LargerOf(const LowerBound& a, const LowerBound& b);

/// Returns the gap, best / bound - 1; none if either is missing. @param best  [ns]
std::optional<double> GapTo(const LowerBound& bound, std::optional<Nanos> best);

/// Returns whether the best placement is as good as the bound, which proves it optimal.
bool IsOptimal(const LowerBound& bound, std::optional<Nanos> best);

/// Returns "optimal", "12.3 %", or "-" if there is no gap. @param best  [ns]
std::string GapText(const LowerBound& bound, std::optional<Nanos> best);

/// The bound as stored in /problem.
struct BoundRecord {
  LowerBound bound;
  bool optimal = false;  ///< the best placement in the file is optimal

  void Visit(RecordVisitor& v);
};

/// Writes the bound to /problem, and whether the best placement in the file is proven optimal.
/// @param best  objective of the best placement in the file that fits; none: no placement fits [ns]
/// @throws RunError if `best` is below the bound: the two belong to different problems, or one is
///   wrong
void WriteBound(ResultsFile& file, const LowerBound& bound, std::optional<Nanos> best);

LowerBound ReadBound(const ResultsReader& reader);

}  // namespace emplace

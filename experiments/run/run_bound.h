#pragma once

// What is proven of all placements of a run's problem, and how its results file says so
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
  Bounds simple;      ///< of every op of the graph
  LowerBound proven;  ///< the best one, of the problem that agents see, as their step times are
};
ProblemBounds BoundProblem(const LoadedProblem& problem);

/// The larger one, of equals the first.
LowerBound LargerOf(const LowerBound& a, const LowerBound& b);

/// gap = best / bound - 1; none without one of the two. @param best  [ns]
std::optional<double> GapTo(const LowerBound& bound, std::optional<Nanos> best);

/// Is the best placement as good as the bound, which proves it optimal?
bool IsOptimal(const LowerBound& bound, std::optional<Nanos> best);

/// "optimal", "12.3 %", or "-" where there is no gap. @param best  [ns]
std::string GapText(const LowerBound& bound, std::optional<Nanos> best);

/// What /problem says of it.
struct BoundRecord {
  LowerBound bound;
  bool optimal = false;  ///< the best placement in the file is

  void Visit(RecordVisitor& v);
};

/// Writes the bound of /problem and whether the best placement in the file is proven optimal.
/// @param best  objective of the best placement in the file that fits; none: none does [ns]
/// @throws RunError if that is below the bound: the two are of different problems, or one is wrong
void WriteBound(ResultsFile& file, const LowerBound& bound, std::optional<Nanos> best);

LowerBound ReadBound(const ResultsReader& reader);

}  // namespace emplace

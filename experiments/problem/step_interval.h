#pragma once

// The uncertainty of step times that are simulated with the costs of a file
// (profilers/statistics/prediction_interval.h).

#include <limits>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/statistics/prediction_interval.h"
#include "simulator/semantics.h"

namespace emplace {

/// The interval of simulated step times, and its source.
struct StepInterval {
  PredictionInterval interval;
  std::string source;  ///< "17 held-out placements of rnnlm_h384"; or the reason why there is none
  /// ResolvedDifference() of the held-out placements of the graph itself; infinite: too few
  double resolved = std::numeric_limits<double>::infinity();
};

/// Returns the interval from the held-out steps of a cost file: those of the graph if they are
/// enough, else those of all graphs, which are less informative.
/// @param table  nullptr: no measured costs    @param graph  name of the graph
/// @param semantics  of the simulated time; held-out steps without such a time are ignored
/// @return an interval without bounds if there is no table, or if it has too few held-out steps
/// @throws InputError as LogRatio() does
StepInterval FindInterval(const CostTable* table, const std::string& graph, Semantics semantics);

/// Returns the interval from held-out steps of the graph itself, as executed.
/// @param where  ends the source: "of these rounds"
StepInterval MakeInterval(const std::vector<HeldOutStep>& steps, const std::string& where);

/// Returns the range of measured relative to simulated times: "-3.2 % .. +4.1 %"; "-": no bounds.
std::string FormatRatios(const PredictionInterval& interval);
/// Returns "[11.9 ms .. 12.9 ms]".
std::string FormatInterval(const TimeInterval& interval);

}  // namespace emplace

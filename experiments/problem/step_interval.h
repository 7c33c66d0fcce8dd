#pragma once

// How sure the step times are that are simulated with the costs of a file
// (profilers/statistics/prediction_interval.h).

#include <limits>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/statistics/prediction_interval.h"
#include "simulator/semantics.h"

namespace emplace {

/// The interval of simulated step times, and where it is from.
struct StepInterval {
  PredictionInterval interval;
  std::string source;  ///< "17 held-out placements of rnnlm_h384"; why there is none
  /// ResolvedDifference() of the held-out placements of the graph itself; infinite: too few
  double resolved = std::numeric_limits<double>::infinity();
};

/// The interval that the held-out steps of a cost file give: those of the graph if they are enough
/// for one, else those of all graphs of the file together, which says less about this one.
/// @param table  nullptr: no measured costs    @param graph  its name
/// @param semantics  of the simulated time; held-out steps that tell nothing of it do not count
/// @return without bounds if there is no table, or too few held-out steps in it
/// @throws InputError as LogRatio() does
StepInterval FindInterval(const CostTable* table, const std::string& graph, Semantics semantics);

/// The same from held-out steps of the graph itself, as executed.
/// @param where  ends the source: "of these rounds"
StepInterval MakeInterval(const std::vector<HeldOutStep>& steps, const std::string& where);

/// How far measured times are from simulated ones: "-3.2 % .. +4.1 %"; "-" without bounds.
std::string FormatRatios(const PredictionInterval& interval);
/// "[11.9 ms .. 12.9 ms]"
std::string FormatInterval(const TimeInterval& interval);

}  // namespace emplace

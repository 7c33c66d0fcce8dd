#include "experiments/report/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/base/quantile.h"

namespace emplace {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

}  // namespace

double EffortUntil(const BestSoFar& point, CurveAxis axis) {
  switch (axis) {
    case CurveAxis::kSeconds:
      return point.seconds;
    case CurveAxis::kHardwareSeconds:
      return point.hardware_seconds;
    default:
      return static_cast<double>(point.evaluations);
  }
}

CurveBand SummarizeCurves(const std::vector<SearchCurve>& curves, CurveAxis axis) {
  CurveBand band;
  if (curves.empty()) return band;
  const double first = axis == CurveAxis::kEvaluations ? 1 : 0;
  for (const SearchCurve& curve : curves) {
    for (const BestSoFar& step : curve.steps) band.at.push_back(EffortUntil(step, axis));
    band.at.push_back(std::max(EffortUntil(curve.end, axis), first));
  }
  std::sort(band.at.begin(), band.at.end());
  band.at.erase(std::unique(band.at.begin(), band.at.end()), band.at.end());

  std::vector<size_t> next(curves.size(), 0);
  std::vector<double> best(curves.size(), kNothing);
  for (const double effort : band.at) {
    for (size_t i = 0; i < curves.size(); ++i) {
      const std::vector<BestSoFar>& steps = curves[i].steps;
      for (; next[i] < steps.size() && EffortUntil(steps[next[i]], axis) <= effort; ++next[i]) {
        best[i] = steps[next[i]].best_ns;
      }
    }
    band.median.push_back(Median(best));
    band.least.push_back(*std::min_element(best.begin(), best.end()));
    band.most.push_back(*std::max_element(best.begin(), best.end()));
  }
  return band;
}

std::vector<BestSoFar> ThinSteps(const std::vector<BestSoFar>& steps, std::size_t max_steps) {
  if (steps.size() <= max_steps || max_steps < 2) return steps;
  const double first = std::log(static_cast<double>(steps.front().evaluations));
  const double last = std::log(static_cast<double>(steps.back().evaluations));
  const double width = (last - first) / static_cast<double>(max_steps - 1);
  std::vector<BestSoFar> thin = {steps.front()};
  for (size_t i = 1; i < steps.size(); ++i) {
    const auto bucket = [&](size_t step) {
      const double at = std::log(static_cast<double>(steps[step].evaluations));
      return static_cast<size_t>((at - first) / width);
    };
    if (i + 1 == steps.size() || bucket(i) != bucket(i + 1)) thin.push_back(steps[i]);
  }
  return thin;
}

}  // namespace emplace

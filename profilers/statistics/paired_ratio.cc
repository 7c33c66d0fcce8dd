#include "profilers/statistics/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/results/record.h"
#include "profilers/statistics/sampling.h"

namespace emplace {

bool PairedRatio::is_bounded() const {
  return std::isfinite(high);
}

PairedRatio ComparePaired(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || a.size() != b.size()) {
    throw InputError(
        fmt::format("paired steps: {} and {} rounds, expected equal numbers of at least 1",
                    a.size(),
                    b.size()));
  }
  std::vector<double> ratios;
  for (size_t round = 0; round < a.size(); ++round) ratios.push_back(b[round] / a[round]);
  const Timing of_ratios = Summarize(ratios);
  PairedRatio result{.median = of_ratios.median, .rounds = static_cast<int>(ratios.size())};
  if (result.rounds < kLeastPairedRounds) return result;
  result.low = of_ratios.low;
  result.high = of_ratios.high;
  return result;
}

PairedFidelity ComparePairs(std::span<const FidelityPoint> points) {
  EMPLACE_CHECK(!points.empty());
  PairedFidelity result;
  const auto fastest = std::ranges::min_element(points, {}, &FidelityPoint::measured);
  result.fastest = static_cast<int>(fastest - points.begin());
  std::int64_t in_order = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    result.to_fastest.push_back(ComparePaired(fastest->repeats, points[i].repeats));
    for (size_t j = i + 1; j < points.size(); ++j) {
      ++result.pairs;
      const PairedRatio ratio = ComparePaired(points[i].repeats, points[j].repeats);
      if (!ratio.differs()) continue;
      ++result.differing;
      in_order += ratio.low > 1 ? points[i].simulated < points[j].simulated
                                : points[j].simulated < points[i].simulated;
    }
  }
  result.in_order = result.differing == 0
                        ? std::numeric_limits<double>::quiet_NaN()
                        : static_cast<double>(in_order) / static_cast<double>(result.differing);
  return result;
}

void PairedFidelity::Visit(RecordVisitor& v) {
  double level = kPairedLevel;
  v.Field("paired_level", level);
  v.Field("differing_pairs", differing);
  v.Field("differing_in_order", in_order);
}

}  // namespace emplace

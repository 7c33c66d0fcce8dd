#include "profilers/statistics/residuals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/results/record.h"

namespace emplace {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kLeastPlacements = 3;
// Sums of the same numbers in different orders differ by less.
constexpr double kSameSum = 1e-12;

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Scales to mean 0 and variance 1; empty if all values are equal.
std::vector<double> Standardized(std::vector<double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) return {};
  const double mean = MeanOf(values);
  double squares = 0;
  for (double& value : values) {
    value -= mean;
    squares += value * value;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
  for (double& value : values) value /= deviation;
  return values;
}

// Returns the ranks, from 1; equal values share the mean of their ranks.
std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

// One graph's placements, prepared for correlation with residuals in any order.
struct StandardizedGraph {
  std::vector<double> residuals, residual_ranks;                        // [placements]
  std::array<std::vector<double>, kNumStepTraits> traits, trait_ranks;  // likewise, or empty
  std::array<std::vector<double>, kNumStepTraits> distances;            // from the mean
  std::vector<double> differences;                                      // measured - simulated
};

void RequireTimes(const ResidualPoint& point) {
  for (const double time : {point.simulated, point.measured}) {
    if (time > 0 && std::isfinite(time)) continue;
    throw InputError(fmt::format("residuals: a step time is {} ns, expected more than 0", time));
  }
}

StandardizedGraph Standardize(const std::vector<ResidualPoint>& points) {
  StandardizedGraph graph;
  std::vector<double> residuals;
  for (const ResidualPoint& point : points) {
    RequireTimes(point);
    residuals.push_back(std::log(point.measured / point.simulated));
    graph.differences.push_back(point.measured - point.simulated);
  }
  graph.residual_ranks = Standardized(RanksOf(residuals));
  graph.residuals = Standardized(std::move(residuals));
  for (int t = 0; t < kNumStepTraits; ++t) {
    std::vector<double> values;
    for (const ResidualPoint& point : points) values.push_back(point.traits[t]);
    graph.trait_ranks[t] = Standardized(RanksOf(values));
    graph.traits[t] = Standardized(values);
    const double mean = MeanOf(values);
    for (double& value : values) value -= mean;
    graph.distances[t] = std::move(values);
  }
  return graph;
}

struct Correlations {
  std::array<double, kNumStepTraits> pearson{}, spearman{};

  double Largest() const {
    double largest = kUndefined;
    for (const double r : pearson) {
      if (!(std::abs(r) <= largest) && !std::isnan(r)) largest = std::abs(r);
    }
    return largest;
  }
};

// @param orders  of each graph: placement i gets the residual of placement order[i]
Correlations Correlate(std::span<const StandardizedGraph> graphs,
                       std::span<const std::vector<size_t>> orders) {
  Correlations result;
  for (int t = 0; t < kNumStepTraits; ++t) {
    double values = 0, ranks = 0, count = 0;
    for (size_t g = 0; g < graphs.size(); ++g) {
      const StandardizedGraph& graph = graphs[g];
      if (graph.traits[t].empty()) continue;
      for (size_t i = 0; i < orders[g].size(); ++i) {
        values += graph.traits[t][i] * graph.residuals[orders[g][i]];
        ranks += graph.trait_ranks[t][i] * graph.residual_ranks[orders[g][i]];
      }
      count += static_cast<double>(orders[g].size());
    }
    result.pearson[t] = count > 0 ? values / count : kUndefined;
    result.spearman[t] = count > 0 ? ranks / count : kUndefined;
  }
  return result;
}

double SlopeOf(std::span<const StandardizedGraph> graphs, int trait) {
  double products = 0, squares = 0;
  for (const StandardizedGraph& graph : graphs) {
    if (graph.traits[trait].empty()) continue;
    const std::vector<double>& distances = graph.distances[trait];
    for (size_t i = 0; i < distances.size(); ++i) {
      products += distances[i] * graph.differences[i];
      squares += distances[i] * distances[i];
    }
  }
  return squares > 0 ? products / squares : kUndefined;
}

bool IsSmaller(double shuffled, double measured) {
  return std::abs(shuffled) < std::abs(measured) - kSameSum;
}

void Shuffle(std::vector<size_t>& order, Rng& rng) {
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(UniformInt(rng, static_cast<int>(i)))]);
  }
}

}  // namespace

std::string_view ToString(StepTrait trait) {
  constexpr std::array<std::string_view, kNumStepTraits> kNames = {
      "crossing bytes", "crossings", "overlap", "step time"};
  return kNames[static_cast<size_t>(trait)];
}

bool TraitCorrelation::is_systematic() const {
  return pearson_above > kMostAbove || spearman_above > kMostAbove;
}

bool ResidualReport::is_systematic() const {
  return std::any_of(
      traits.begin(), traits.end(), [](const auto& trait) { return trait.is_systematic(); });
}

void TraitCorrelation::Visit(RecordVisitor& v) {
  v.Field("pearson", pearson);
  v.Field("pearson_above", pearson_above);
  v.Field("spearman", spearman);
  v.Field("spearman_above", spearman_above);
  v.Field("slope", slope);
}

void ResidualReport::Visit(RecordVisitor& v) {
  bool systematic = is_systematic();
  std::vector<std::string> names;
  for (const TraitCorrelation& trait : traits) names.emplace_back(ToString(trait.trait));
  std::vector<TraitCorrelation> rows(traits.begin(), traits.end());
  v.Field("graphs", graphs);
  v.Field("placements", placements);
  v.Field("shuffles", shuffles);
  v.Field("largest_above", largest_above);
  v.Field("systematic", systematic);
  v.Field("traits", names);
  v.Rows("correlations", rows);
  std::copy_n(rows.begin(), std::min(rows.size(), traits.size()), traits.begin());
}

std::optional<ResidualReport> TestResiduals(std::span<const std::vector<ResidualPoint>> graphs,
                                            int shuffles,
                                            std::uint64_t seed) {
  EMPLACE_CHECK(shuffles >= 1);
  ResidualReport report;
  report.shuffles = shuffles;
  std::vector<StandardizedGraph> standardized;
  std::vector<std::vector<size_t>> orders;
  for (const std::vector<ResidualPoint>& points : graphs) {
    if (points.size() < kLeastPlacements) continue;
    StandardizedGraph graph = Standardize(points);
    if (graph.residuals.empty()) continue;
    standardized.push_back(std::move(graph));
    orders.emplace_back(points.size());
    std::iota(orders.back().begin(), orders.back().end(), size_t{0});
    report.placements += static_cast<int>(points.size());
  }
  report.graphs = static_cast<int>(standardized.size());
  if (standardized.empty()) return std::nullopt;

  const Correlations measured = Correlate(standardized, orders);
  std::array<int, kNumStepTraits> pearson{}, spearman{};
  int largest = 0;
  Rng rng(seed);
  for (int shuffle = 0; shuffle < shuffles; ++shuffle) {
    for (std::vector<size_t>& order : orders) Shuffle(order, rng);
    const Correlations shuffled = Correlate(standardized, orders);
    for (int t = 0; t < kNumStepTraits; ++t) {
      pearson[t] += IsSmaller(shuffled.pearson[t], measured.pearson[t]);
      spearman[t] += IsSmaller(shuffled.spearman[t], measured.spearman[t]);
    }
    largest += IsSmaller(shuffled.Largest(), measured.Largest());
  }
  const auto share = [&](int count, double correlation) {
    return std::isnan(correlation) ? kUndefined
                                   : static_cast<double>(count) / static_cast<double>(shuffles);
  };
  for (int t = 0; t < kNumStepTraits; ++t) {
    report.traits[t] = {.trait = static_cast<StepTrait>(t),
                        .pearson = measured.pearson[t],
                        .spearman = measured.spearman[t],
                        .pearson_above = share(pearson[t], measured.pearson[t]),
                        .spearman_above = share(spearman[t], measured.spearman[t]),
                        .slope = SlopeOf(standardized, t)};
  }
  report.largest_above = share(largest, measured.Largest());
  return report;
}

}  // namespace emplace

#include "profilers/statistics/fidelity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "framework/results/record.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void RequirePoints(std::span<const FidelityPoint> points, int top) {
  if (points.size() < 2) {
    throw InputError(fmt::format("fidelity: {} placements, expected at least 2", points.size()));
  }
  if (top < 1) throw InputError(fmt::format("fidelity: top {}, expected at least 1", top));
  const auto require = [](const FidelityPoint& point, const char* what, double value) {
    if (value > 0 && std::isfinite(value)) return;
    throw InputError(
        fmt::format("fidelity: placement \"{}\": {} time is {} ns, expected more "
                    "than 0",
                    point.label,
                    what,
                    value));
  };
  for (const FidelityPoint& point : points) {
    require(point, "simulated", point.simulated);
    require(point, "measured", point.measured);
    for (const double repeat : point.repeats) require(point, "repeated", repeat);
  }
}

// Returns the number of pairs i < j with a[i] == a[j], for sorted `a`.
template <class Equal>
std::int64_t CountTies(size_t size, const Equal& equal) {
  std::int64_t ties = 0, run = 0;
  for (size_t i = 1; i < size; ++i) {
    run = equal(i - 1, i) ? run + 1 : 0;
    ties += run;
  }
  return ties;
}

// Sorts the values. Returns the number of pairs i < j with values[i] > values[j].
std::int64_t SortCountingInversions(std::span<double> values, std::span<double> scratch) {
  const size_t size = values.size(), half = size / 2;
  if (size < 2) return 0;
  std::int64_t inversions = SortCountingInversions(values.first(half), scratch.first(half)) +
                            SortCountingInversions(values.subspan(half), scratch.subspan(half));
  size_t left = 0, right = half;
  for (size_t i = 0; i < size; ++i) {
    if (right == size || (left < half && values[left] <= values[right])) {
      scratch[i] = values[left++];
    } else {
      inversions += static_cast<std::int64_t>(half - left);
      scratch[i] = values[right++];
    }
  }
  std::copy(scratch.begin(), scratch.end(), values.begin());
  return inversions;
}

double MeanOr(const std::vector<double>& values, double otherwise) {
  if (values.empty()) return otherwise;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void AddNoise(std::span<const FidelityPoint> points, Fidelity& fidelity) {
  std::vector<double> repeat_noise, median_noise;
  for (const FidelityPoint& point : points) {
    const std::vector<double>& repeats = point.repeats;
    if (repeats.size() < 2) continue;
    const double median = Median(repeats);
    repeat_noise.push_back(MedianAbsoluteDeviation(repeats) / median);
    const auto half = static_cast<std::ptrdiff_t>(repeats.size() / 2);
    const double first = Median(std::vector<double>(repeats.begin(), repeats.begin() + half));
    const double last = Median(std::vector<double>(repeats.end() - half, repeats.end()));
    median_noise.push_back(std::abs(first - last) / median);
  }
  std::array<std::vector<double>, 2> medians;  // of the repeats with even and with odd numbers
  for (const FidelityPoint& point : points) {
    std::array<std::vector<double>, 2> halves;
    for (size_t i = 0; i < point.repeats.size(); ++i) halves[i % 2].push_back(point.repeats[i]);
    if (halves[1].empty()) continue;
    for (size_t i = 0; i < 2; ++i) medians[i].push_back(Median(halves[i]));
  }
  fidelity.repeat_tau = medians[0].size() < 2 ? kNaN : KendallTau(medians[0], medians[1]);
  fidelity.repeat_noise = repeat_noise.empty() ? kNaN : Median(repeat_noise);
  fidelity.median_noise = MeanOr(median_noise, kNaN);
}

void AddPairs(std::span<const FidelityPoint> points, double clear, Fidelity& fidelity) {
  std::int64_t in_order = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j) {
      const auto [fast, slow] = std::minmax(points[i].measured, points[j].measured);
      if (!(slow > fast * (1 + clear))) continue;
      ++fidelity.clear_pairs;
      in_order += points[i].measured < points[j].measured
                      ? points[i].simulated < points[j].simulated
                      : points[j].simulated < points[i].simulated;
    }
  }
  fidelity.pair_accuracy =
      fidelity.clear_pairs == 0
          ? kNaN
          : static_cast<double>(in_order) / static_cast<double>(fidelity.clear_pairs);
}

void AddRegret(std::span<const FidelityPoint> points, int top, Fidelity& fidelity) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return points[a].simulated < points[b].simulated;
  });
  const auto best_of = [&](size_t count) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < count; ++i) best = std::min(best, points[order[i]].measured);
    return best;
  };
  const double best = best_of(order.size());
  fidelity.top_regret = best_of(std::min(order.size(), static_cast<size_t>(top))) / best - 1;
  fidelity.best_regret = best_of(1) / best - 1;
}

}  // namespace

Fidelity ComputeFidelity(std::span<const FidelityPoint> points, double clear, int top) {
  RequirePoints(points, top);
  Fidelity fidelity;
  fidelity.placements = static_cast<int>(points.size());
  std::vector<double> errors, absolute, simulated, measured;
  for (const FidelityPoint& point : points) {
    errors.push_back((point.simulated - point.measured) / point.measured);
    absolute.push_back(std::abs(errors.back()));
    simulated.push_back(point.simulated);
    measured.push_back(point.measured);
  }
  fidelity.mape = MeanOr(absolute, kNaN);
  fidelity.max_error = *std::max_element(absolute.begin(), absolute.end());
  fidelity.bias = Median(errors);
  fidelity.kendall_tau = KendallTau(simulated, measured);
  AddNoise(points, fidelity);
  AddPairs(points, clear, fidelity);
  AddRegret(points, top, fidelity);
  return fidelity;
}

void Fidelity::Visit(RecordVisitor& v) {
  v.Field("repeat_noise", repeat_noise);
  v.Field("median_noise", median_noise);
  v.Field("mape", mape);
  v.Field("max_error", max_error);
  v.Field("bias", bias);
  v.Field("kendall_tau", kendall_tau);
  v.Field("repeat_tau", repeat_tau);
  v.Field("pair_accuracy", pair_accuracy);
  v.Field("clear_pairs", clear_pairs);
  v.Field("top_regret", top_regret);
  v.Field("best_regret", best_regret);
}

// W. R. Knight, "A computer method for calculating Kendall's tau with ungrouped data", JASA 61
// (1966): in the order of (a, b), discordant pairs are the inversions of b.
double KendallTau(std::span<const double> a, std::span<const double> b) {
  EMPLACE_CHECK(a.size() == b.size());
  const size_t size = a.size();
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j];
  });
  std::vector<double> values(size), scratch(size);
  for (size_t i = 0; i < size; ++i) values[i] = b[order[i]];
  const auto same_a = [&](size_t i, size_t j) { return a[order[i]] == a[order[j]]; };
  const auto same_b = [&](size_t i, size_t j) { return values[i] == values[j]; };

  const std::int64_t ties_a = CountTies(size, same_a);
  const std::int64_t ties_both =
      CountTies(size, [&](size_t i, size_t j) { return same_a(i, j) && same_b(i, j); });
  const std::int64_t discordant = SortCountingInversions(values, scratch);
  const std::int64_t ties_b = CountTies(size, same_b);

  const auto pairs = static_cast<std::int64_t>(size) * (static_cast<std::int64_t>(size) - 1) / 2;
  if (pairs == ties_a || pairs == ties_b) return kNaN;
  const std::int64_t concordant = pairs - ties_a - ties_b + ties_both - discordant;
  return static_cast<double>(concordant - discordant) /
         std::sqrt(static_cast<double>(pairs - ties_a) * static_cast<double>(pairs - ties_b));
}

}  // namespace emplace

#pragma once

// Tests whether the errors of the simulation are noise or depend on a property of the placement.
// The residuals ln(measured / simulated) of executed placements are correlated with simulated
// properties of each placement, and these correlations are compared with those of shuffled
// residuals: a permutation test, Fisher, "The Design of Experiments" (1935).
//
// Placements of several graphs count together ("pooled"), but each is compared with those of its
// own graph only: values and residuals are standardised within their graph (distance from the
// graph's mean in units of its standard deviation), and residuals are shuffled within their graph.
// A correlation is thus the mean of the graphs' correlations, weighted by their numbers of
// placements. It does not include differences between whole graphs, such as a bias of one of them.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// The simulated properties with which residuals are correlated.
enum class StepTrait : std::uint8_t {
  kCrossingBytes,  ///< bytes that cross between devices [B]
  kCrossings,      ///< number of crossings between devices
  kOverlap,        ///< share of the step in which two devices or more run ops
  kStepTime,       ///< [ns]
};
inline constexpr int kNumStepTraits = 4;
std::string_view ToString(StepTrait trait);  ///< "crossing bytes", "crossings", ...

/// An executed placement.
struct ResidualPoint {
  double simulated = 0, measured = 0;           ///< [ns]
  std::array<double, kNumStepTraits> traits{};  ///< by StepTrait
};

/// Correlation of the residuals with one trait. NaN if the trait is constant within each graph.
struct TraitCorrelation {
  StepTrait trait = StepTrait::kCrossingBytes;
  double pearson = 0, spearman = 0;  ///< of values, of ranks (ties: their mean rank); in [-1, 1]
  /// Share of the shuffles with a smaller |correlation| than the measured one.
  double pearson_above = 0, spearman_above = 0;
  /// Least-squares slope of measured - simulated within the graphs [ns per unit of the trait].
  double slope = 0;

  /// Returns whether either correlation exceeds that of more than kMostAbove of the shuffles.
  bool is_systematic() const;
  void Visit(RecordVisitor& v);
};
inline constexpr double kMostAbove = 0.95;

/// The correlations with all traits.
struct ResidualReport {
  int graphs = 0, placements = 0, shuffles = 0;
  std::array<TraitCorrelation, kNumStepTraits> traits;  ///< by StepTrait
  /// Share of the shuffles whose largest |correlation| (Pearson's) over all traits is smaller than
  /// the largest measured one. With several traits, one may exceed 95 of 100 shuffles by chance;
  /// this value corrects for that (Westfall and Young, "Resampling-Based Multiple Testing" (1993)).
  double largest_above = 0;

  /// Returns whether the residuals are correlated with any of the traits.
  bool is_systematic() const;
  void Visit(RecordVisitor& v);
};

/// @param graphs    placements by graph; a graph with fewer than 3 placements, or with equal
/// residuals, is left out
/// @param shuffles  at least 1
/// @param seed      of the shuffles; the same seed gives the same result
/// @return nullopt if no graph is left
/// @throws InputError for a time that is not positive
std::optional<ResidualReport> TestResiduals(std::span<const std::vector<ResidualPoint>> graphs,
                                            int shuffles = 1000,
                                            std::uint64_t seed = 1);

}  // namespace emplace

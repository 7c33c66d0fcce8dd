#pragma once

// Is what the simulation leaves unexplained noise, or does it go with something that a placement
// has? Residuals ln(measured / simulated) of executed placements are correlated with what the
// simulation says of each placement, and compared with residuals that were shuffled: a permutation
// test, Fisher, "The Design of Experiments" (1935) [R].
//
// Placements of several graphs count together ("pooled"), but each is compared with those of its
// own graph only: values and residuals are taken as their distance from the graph's mean in units
// of the graph's standard deviation, and residuals are shuffled within their graph. A correlation
// is thus the mean of the graphs' own, weighted by their numbers of placements. What differs
// between graphs as a whole, such as a bias of one of them, is not in it.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// What residuals are correlated with, all of it as simulated.
enum class StepTrait : std::uint8_t {
  kCrossingBytes,  ///< bytes that cross between devices [B]
  kCrossings,      ///< how often something does
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

/// How residuals go with one trait. NaN where the trait is the same in all placements of each
/// graph.
struct TraitCorrelation {
  StepTrait trait = StepTrait::kCrossingBytes;
  double pearson = 0, spearman = 0;  ///< of values, of ranks (ties: their mean rank); in [-1, 1]
  /// Share of the shuffles with a smaller |correlation| than that measured.
  double pearson_above = 0, spearman_above = 0;
  /// Least-squares slope of measured - simulated within the graphs [ns per unit of the trait].
  double slope = 0;

  /// Whether either correlation is above that of more than kMostAbove of the shuffles.
  bool is_systematic() const;
  void Visit(RecordVisitor& v);
};
inline constexpr double kMostAbove = 0.95;

/// The correlations with all traits.
struct ResidualReport {
  int graphs = 0, placements = 0, shuffles = 0;
  std::array<TraitCorrelation, kNumStepTraits> traits;  ///< by StepTrait
  /// Share of the shuffles whose largest |correlation| (Pearson's) over all traits is smaller than
  /// the largest measured. With several traits one may be above 95 of 100 shuffles by chance; this
  /// figure takes that into account (Westfall and Young, "Resampling-Based Multiple Testing" (1993)
  /// [R]).
  double largest_above = 0;

  /// Whether the residuals go with any of the traits.
  bool is_systematic() const;
  void Visit(RecordVisitor& v);
};

/// @param graphs    placements by graph; a graph with fewer than 3, or whose residuals are all
///   equal, is left out
/// @param shuffles  at least 1
/// @param seed      of the shuffles; the same gives the same result
/// @return nothing if no graph is left
/// @throws InputError for a time that is not positive
std::optional<ResidualReport> TestResiduals(std::span<const std::vector<ResidualPoint>> graphs,
                                            int shuffles = 1000,
                                            std::uint64_t seed = 1);

}  // namespace emplace

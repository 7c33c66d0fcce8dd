#pragma once

// What an op costs that was not measured, by the fits of a cost table: the rungs "neighbour" and
// "roofline" of the cost ladder.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/cluster/op_class.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/neighbours.h"

namespace emplace {

/// The fits of one device kind, with the neighbours of each op kind, which are prepared when the
/// first op of the kind is asked for.
class FittedCosts {
 public:
  struct Found {
    double nanos = 0;                  ///< [ns]
    const RooflineFit* fit = nullptr;  ///< of the costs given
    bool is_of_kind = false;           ///< false: the fit is that of the op's class
  };

  /// @param costs           outlives this object
  /// @param prefer_in_situ  which timings neighbours tell: OpMeasurement::Time()
  FittedCosts(const KindCosts& costs, bool prefer_in_situ)
      : costs_(costs), prefer_in_situ_(prefer_in_situ) {}

  /// By the fit of the op's kind, else by that of its class, corrected by the measured ops of its
  /// kind. nullopt: there is neither fit.
  /// @param signature  OpSignature()   @param flops  [FLOP]   @param bytes  [B]
  std::optional<Found> Find(const std::string& kind,
                            OpClass op_class,
                            std::string_view signature,
                            double flops,
                            double bytes);

 private:
  struct Prepared {
    const RooflineFit* fit = nullptr;
    bool is_of_kind = false;
    std::optional<Neighbours> neighbours;
  };
  const Prepared& Prepare(const std::string& kind, OpClass op_class);

  const KindCosts& costs_;
  const bool prefer_in_situ_;
  std::unordered_map<std::string, Prepared> by_kind_;
};

}  // namespace emplace

#pragma once

// Costs of ops that were not measured, by the fits of a cost table. These are the cost sources
// "neighbour" and "roofline".

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/cluster/op_class.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/neighbours.h"

namespace emplace {

/// The fits of one device kind. Prepares the neighbours of an op kind at the first query for it.
class FittedCosts {
 public:
  struct Found {
    double nanos = 0;                  ///< [ns]
    const RooflineFit* fit = nullptr;  ///< in the given costs
    bool is_of_kind = false;           ///< false: the fit is for the op's class
  };

  /// @param costs           outlives this object
  /// @param prefer_in_situ  selects the timings of neighbours: OpMeasurement::Time()
  FittedCosts(const KindCosts& costs, bool prefer_in_situ)
      : costs_(costs), prefer_in_situ_(prefer_in_situ) {}

  /// Predicts a cost by the fit of the op's kind, else by that of its class, corrected by the
  /// measured ops of its kind. Returns nullopt without a fit.
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

#pragma once

// Op and copy times out of whole steps: what an op takes among its neighbours, with caches, memory
// bandwidth and clocks as they are there.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"
#include "profilers/executor/executor.h"
#include "profilers/statistics/link_fit.h"

namespace emplace {

class InSituTimings {
 public:
  /// Takes in the traced steps of one placement.
  /// @param device_of_op  [num_ops]
  void Add(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const StepMeasurement& measurement);
  /// Median per (signature, device kind) into OpMeasurement::in_situ; ops that the table does not
  /// know yet are added.
  void WriteOps(CostTable& table) const;
  /// Sizes and times of the copies seen on a channel, weighted by how often each was seen.
  std::vector<LinkPoint> CopiesOn(const std::string& channel) const;

 private:
  struct OpSamples {
    OpMeasurement op;  ///< without timings
    std::vector<double> timings;
  };
  std::map<std::pair<std::string, std::string>, OpSamples> ops_;  // (device kind, signature)
  std::map<std::string, std::vector<LinkPoint>> copies_;          // channel name
};

}  // namespace emplace

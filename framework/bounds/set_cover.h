#pragma once

// The linear program over the sets of groups that devices can have within a period (device_sets.h):
// every group is in one set, and there are at most as many sets as devices. Its dual program finds
// the values of groups that refute the period, or else the weights of the sets give placements and
// decisions for a search. Sets are generated when they are needed, by set_programme.h, within a box
// around the best values so far (R. E. Marsten, W. W. Hogan, J. W. Blankenship, The boxstep method
// for large-scale optimization, Operations Research 23, 1975) and between these and the solution
// (W. Ben-Ameur, J. Neto, Acceleration of cutting-plane and column generation algorithms, Networks
// 49, 2007). With each best set come sets that complete it to a placement.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/mip.h"
#include "framework/bounds/set_programme.h"
#include "framework/bounds/set_rounding.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// The placements that obey decisions.
struct PlacementPart {
  std::vector<PairDecision> pairs;
  std::vector<ClassSet> taken;  ///< sets of devices that have no other groups
  std::vector<double> values;   ///< [num_groups] of the last solution; empty: none
};

class SetCover {
 public:
  /// @param problem  is not used after the construction
  /// @param known    > 0; periods from here on are not asked for [ns]
  /// @param stop     outlives this; called often; true ends the construction or Solve(), or it may
  ///   throw
  SetCover(const CompiledPeriod& problem, Nanos known, const std::function<bool()>& stop);

  /// Returns false if there are more than 1,000 groups, or no order of them with few open items.
  bool usable() const { return usable_; }
  int num_devices() const { return num_devices_; }

  struct Answer {
    enum { kRefuted, kSolved, kStopped } result;
    /// With kSolved: a placement by RoundSets(). Its period can be larger. Empty if none was made.
    /// [num_groups]
    std::vector<DeviceIndex> device;
    /// The two sets of largest weight.
    std::vector<ClassSet> likely;
    std::optional<PairDecision> pair;  ///< by PairToDecide()
  };

  /// Tries to prove that no placement of a part has a period of at most `period`.
  /// @param part   its values are the first ones, and become the best ones
  /// @param quick  gives up earlier: more often kSolved
  /// @return kSolved if the program has a solution, or values have not improved for long
  Answer Solve(PlacementPart& part, Nanos period, bool quick);

 private:
  struct Known {
    GroupSet groups;
    Nanos load;
    bool fits = false, is_row = false;  // in the current program
  };
  struct Separated {
    double bound = 0;                // more than 1: the period is refuted
    std::vector<double> normalised;  // values of which all devices together can have 1
  };

  bool SetPart(const PlacementPart& part, Nanos period);
  std::vector<double> CostShares(Nanos period) const;
  void AddFirstSets(Nanos period);
  Known& Add(std::size_t k, GroupSet groups);
  bool Obeys(const GroupSet& groups) const;
  LinearModel MakeModel(std::span<const double> values, Nanos period);
  void AddRow(std::size_t k, Known& set, LinearModel& model) const;
  bool AddKnownSets(std::span<const double> values,
                    std::span<const double> of_class,
                    int most,
                    LinearModel& model);
  std::optional<Separated> Separate(std::span<const double> values,
                                    Nanos period,
                                    LinearModel& model);
  std::optional<SetProgramme::Best> FindSets(std::size_t k,
                                             std::vector<SetValue> value,
                                             Nanos period);
  Answer Solved(const PlacementPart& part,
                const LinearModel& model,
                std::span<const double> weights) const;

  int num_groups_, num_devices_;
  const std::function<bool()>& stop_;
  std::vector<EqualDevices> classes_;
  std::vector<SetProgramme> programmes_;  // [classes] of all placements
  std::vector<std::vector<Known>> sets_;  // [classes]
  bool usable_ = false;

  // Of the part in Solve().
  bool quick_ = false;
  std::span<const PairDecision> pairs_;
  std::vector<char> gone_;                   // [num_groups] is in a taken set
  std::vector<int> count_;                   // [classes] devices without a taken set
  std::vector<EqualDevices> part_classes_;   // [classes]
  std::vector<SetProgramme> own_;            // [classes]
  std::span<SetProgramme> part_programmes_;  // [classes]
};

}  // namespace emplace

#pragma once

// Keeps a policy's entropy on a planned decrease by adjusting the weight of its entropy bonus. With
// a fixed weight the entropy vanishes within a fifth of a search, and later samples repeat
// themselves; the speed depends on the graph and on all other weights. The plan for update u:
//
//   target(u) = begin (end / begin)^min(1, u / n)      [nats per decision]
//
// n is the minimum of `updates` and `share` of the updates left in the budget. A short search
// therefore reaches the end of the plan, too, and every restart has a shorter plan than the one
// before. `begin` is the minimum of the setting and the entropy of the first update, so that a
// policy that was trained towards a placement stays near it.
//
// After every update, whose samples have entropy H, the factor of the weight is adapted:
//
//   factor <- factor exp(rate clamp((target - H) / target, -1, 1)),   within 1e-4 .. 1e4

#include <cstdint>
#include <string>

#include "framework/config/fields.h"
#include "framework/search/state.h"

namespace emplace {

struct EntropyControlConfig {
  double begin = 0;  ///< [nats]; 0: no control, the factor stays 1
  double end = 0.05;
  int updates = 1400;
  double share = 0.5;
  double rate = 0.02;
  void Visit(FieldVisitor& v);
};

class EntropyControl {
 public:
  explicit EntropyControl(const EntropyControlConfig& config);
  /// Returns the factor of the weight of the entropy bonus in the next update.
  double factor() const { return factor_; }
  /// Returns the target entropy of an update. [nats per decision]
  /// @param update  counted from 0 since Begin()
  double Target(std::int64_t update) const;
  /// Adapts the factor.
  /// @param entropy  entropy of update number `update`, mean per decision [nats]
  void Observe(double entropy, std::int64_t update);
  /// Returns whether the target reaches its end after so many updates; always true without control.
  bool Complete(std::int64_t updates) const;
  /// Starts the plan from the beginning.
  /// @param updates_left  number of updates that the budget allows
  void Begin(std::int64_t updates_left);

  void VisitState(StateVisitor& v);

 private:
  EntropyControlConfig config_;
  double factor_ = 1;
  double begin_;
  std::int64_t updates_;
};

}  // namespace emplace

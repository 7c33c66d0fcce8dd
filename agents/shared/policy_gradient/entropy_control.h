#pragma once

// Holds a policy's entropy on a planned way down by the weight of its entropy bonus [ours]. With a
// fixed weight the entropy falls to nothing within a fifth of a search, and what is drawn
// afterwards repeats itself; how fast depends on the graph and on all other weights. The plan for
// update u:
//
//   target(u) = begin (end / begin)^min(1, u / n)      [nats per decision]
//
// n is `updates`, or `share` of what the budget leaves if that is less, so that a short search
// comes to the end, too, and every restart has a shorter plan than the one before. `begin` is the
// setting or the entropy of the first update, if that is lower: a policy that was pulled to a
// placement stays near it.
//
// After every update, H the entropy of what it drew, the factor of the weight moves towards it:
//
//   factor <- factor exp(rate clamp((target - H) / target, -1, 1)),   within 1e-4 .. 1e4
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

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
  /// Of the weight of the entropy bonus in the next update.
  double factor() const { return factor_; }
  /// @param update  from 0, since Begin()
  double Target(std::int64_t update) const;
  /// @param entropy  of update number `update`, mean per decision [nats]
  void Observe(double entropy, std::int64_t update);
  /// Whether the target has come to its end after so many updates; always without control.
  bool Complete(std::int64_t updates) const;
  /// Begins the plan.
  /// @param updates_left  that the budget allows
  void Begin(std::int64_t updates_left);

  void VisitState(StateVisitor& v);

 private:
  EntropyControlConfig config_;
  double factor_ = 1;
  double begin_;
  std::int64_t updates_;
};

}  // namespace emplace

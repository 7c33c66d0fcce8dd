#pragma once

// Several learners that share their parameters without waiting for each other, as the up to 20
// controllers of ICML 2017 [R]: each draws placements, has them evaluated, and meanwhile the others
// change the parameters; its gradient, of the parameters that it drew with, is then added to those
// of that time, which it takes over for its next placements.
//
// Here N controllers take turns, so that a gradient is N - 1 updates old, the mean of controllers
// that are equally fast, and a search is deterministic. They share baseline, optimizer and best
// placement [?]. With N = 1 nothing here has an effect.
//
// The set that is given here holds the parameters of the controller whose turn it is; the shared
// ones are in it from Begin() to End() only:
//
//   ... draw and differentiate ...
//   controllers.Begin();   ... a step of the optimizer ...   controllers.End();
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <vector>

#include "framework/learn/parameter.h"
#include "framework/search/state.h"

namespace emplace {

class Controllers {
 public:
  /// @param parameters  outlives this; complete: what all begin with
  Controllers(int count, ParameterSet& parameters);
  /// The optimizer's turn.
  void Begin();
  /// The controller of this turn takes over the shared parameters; the next one's turn begins.
  void End();
  /// All take over what `parameters` holds.
  void Reset();
  /// All take over the shared parameters.
  void TakeShared();

  void VisitState(StateVisitor& v);

 private:
  using Values = std::vector<Matrix>;

  ParameterSet& parameters_;
  int count_, turn_ = 0;
  Values shared_;             // empty with N = 1
  std::vector<Values> held_;  // [N] of each controller
};

}  // namespace emplace

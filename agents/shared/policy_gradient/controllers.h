#pragma once

// Several learners that share their parameters without waiting for each other, like the up to 20
// controllers of ICML 2017. Each controller samples placements and has them evaluated, while the
// others change the shared parameters. Its gradient, taken at the parameters with which it sampled,
// is then applied to the current shared ones, and the controller copies the result for its next
// placements.
//
// Here N controllers take turns, so that a gradient is N - 1 updates old (the mean for controllers
// of equal speed) and the search is deterministic. The controllers share the baseline, the
// optimizer and the best placement. With N = 1 this class has no effect.
//
// The given parameter set holds the parameters of the controller whose turn it is. It holds the
// shared ones only between Begin() and End():
//
//   ... sample and differentiate ...
//   controllers.Begin();   ... a step of the optimizer ...   controllers.End();

#include <vector>

#include "framework/learn/parameter.h"
#include "framework/search/state.h"

namespace emplace {

class Controllers {
 public:
  /// @param parameters  must outlive this object; complete: the initial values of all controllers
  Controllers(int count, ParameterSet& parameters);
  /// Loads the shared parameters, for a step of the optimizer.
  void Begin();
  /// Copies the shared parameters to the controller of this turn and begins the next turn.
  void End();
  /// Sets the shared parameters and those of all controllers to the values of `parameters`.
  void Reset();
  /// Copies the shared parameters to all controllers.
  void TakeShared();

  void VisitState(StateVisitor& v);

 private:
  using Values = std::vector<Matrix>;

  ParameterSet& parameters_;
  int count_, turn_ = 0;
  Values shared_;             // empty if N = 1
  std::vector<Values> held_;  // [N] of each controller
};

}  // namespace emplace

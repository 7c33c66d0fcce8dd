#pragma once

// Updates of a learner that tests look at: the problems, what their episodes evaluate, its state.

#include <deque>
#include <string>
#include <vector>

#include "agents/placeto/placeto_learner.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/states.h"

namespace emplace::testing {

inline ProblemList ThreeProblems() {
  Rng rng(5);
  return {MixedProblem(rng, 12, 2, kUnlimitedMemory),
          MixedProblem(rng, 19, 2, 500),
          MixedProblem(rng, 7, 2, kUnlimitedMemory)};
}

// Records what each problem's episodes evaluate.
struct Recorders {
  explicit Recorders(const ProblemList& problems) : simulators(problems) { Clear(); }
  void Clear() {
    recorders.clear();
    all.clear();
    for (Evaluator* simulator : simulators.all) {
      all.push_back(&recorders.emplace_back(*simulator));
    }
  }
  Simulators simulators;
  std::deque<RecordingEvaluator> recorders;
  std::vector<Evaluator*> all;
};

inline std::string Saved(PlacetoLearner& learner, const ProblemList& problems) {
  return WrittenState([&](StateVisitor& v) {
    v.Begin("placeto", Problems(problems));
    learner.VisitState(v);
  });
}

inline void Load(PlacetoLearner& learner, const ProblemList& problems, const std::string& state) {
  ReadState(state, [&](StateVisitor& v) {
    v.Begin("placeto", Problems(problems));
    learner.VisitState(v);
  });
}

}  // namespace emplace::testing

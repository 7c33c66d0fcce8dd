#pragma once

// Updates of a learner that tests look at: the problems, what their episodes evaluate, its state.

#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "agents/placeto/placeto_learner.h"
#include "tests/agents/placeto/small_placeto.h"

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

inline std::string Saved(const PlacetoLearner& learner, const ProblemList& problems) {
  std::ostringstream out;
  StateWriter writer(out, "placeto", Problems(problems));
  learner.Save(writer);
  return out.str();
}

inline void Load(PlacetoLearner& learner, const ProblemList& problems, const std::string& state) {
  std::istringstream in(state);
  StateReader reader(in, "placeto", Problems(problems));
  learner.Load(reader);
}

}  // namespace emplace::testing

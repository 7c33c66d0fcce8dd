#include "agents/shared/policy_gradient/learner_state.h"

#include <optional>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

struct SavedLearner {
  explicit SavedLearner(const std::string& method = "adam",
                        int width = 4,
                        const std::string& bias = "encoder.bias") {
    parameters.AddUniform("encoder.weights", 3, width, 1, rng);
    parameters.AddUniform(bias, 1, width, 1, rng);
    optimizer.emplace(OptimizerConfig{.method = method, .momentum = 0.5}, parameters, "optimizer");
  }
  void VisitState(StateVisitor& v) { VisitLearner(v, parameters, *optimizer); }

  Rng rng{4};
  ParameterSet parameters;
  std::optional<Optimizer> optimizer;
};

TEST_CASE("learners with other parameters or another optimizer are refused by name") {
  const std::string saved = Saved(SavedLearner());
  const auto refusal = [&](SavedLearner learner, std::string text) {
    return MessageOf<InputError>(
        [&] { ReadState(text, [&](StateVisitor& v) { learner.VisitState(v); }); });
  };
  const auto replaced = [&](const std::string& old, const std::string& with) {
    std::string text = saved;
    REQUIRE(text.find(old) != text.npos);
    return text.replace(text.find(old), old.size(), with);
  };
  CHECK(refusal(SavedLearner("adam", 5), saved) ==
        "agent state: parameter encoder.weights [3, 5] expected, got [3, 4]");
  CHECK(refusal(SavedLearner("adam", 4, "decoder.bias"), saved) ==
        "agent state: expected parameter decoder.bias, got encoder.bias");
  CHECK(refusal(SavedLearner("sgd"), saved) == "agent state: expected the optimizer sgd, got adam");
  CHECK(refusal(SavedLearner(), replaced("2\nencoder", "3\nencoder")) ==
        "agent state: expected 2 parameters, got 3");
  CHECK(refusal(SavedLearner(), replaced("adam\n0\n4\n", "adam\n0\n2\n")) ==
        "agent state: expected 4 moments of the optimizer, got 2");
  CHECK(refusal(SavedLearner(), replaced("adam\n0\n", "adam\n-1\n")) ==
        "agent state: expected a number of updates, got -1");
  CHECK(refusal(SavedLearner(), saved.substr(0, saved.rfind("1x4:"))) ==
        "agent state: expected a moment, got the end of the text");
}

TEST_CASE("parameters alone are written, read and copied bit by bit") {
  ParameterSet original, read, copied;
  Rng rng(3);
  original.AddUniform("a", 2, 3, 1, rng);
  original.AddUniform("b", 0, 4, 1, rng);
  for (ParameterSet* parameters : {&read, &copied}) {
    parameters->Add("a", 2, 3).gradient.setOnes();
    parameters->Add("b", 0, 4);
  }
  ReadState(WrittenState([&](StateVisitor& v) { VisitParameters(v, original); }),
            [&](StateVisitor& v) { VisitParameters(v, read); });
  CopyValues(original, copied);
  for (int i = 0; i < 2; ++i) {
    CHECK(read.all()[i].value == original.all()[i].value);
    CHECK(copied.all()[i].value == original.all()[i].value);
  }
  CHECK(read.all()[0].gradient.isZero());
}

}  // namespace

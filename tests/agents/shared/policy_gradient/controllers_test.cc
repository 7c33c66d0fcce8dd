#include "agents/shared/policy_gradient/controllers.h"

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "tests/agents/shared/policy_gradient/logits_learner.h"
#include "tests/support/paths.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

ParameterSet One(float value) {
  ParameterSet parameters;
  parameters.Add("x", 1, 1).value(0, 0) = value;
  return parameters;
}

TEST_CASE("three take turns: each acts with what was shared when it last learnt") {
  ParameterSet parameters = One(0);
  float& x = parameters.all()[0].value(0, 0);
  Controllers controllers(3, parameters);
  // The shared value after u updates is u. Controllers 0, 1, 2 begin with 0.
  const float acts_with[] = {0, 0, 0, 1, 2, 3, 4};
  for (int update = 0; update < 7; ++update) {
    CHECK(x == acts_with[update]);
    controllers.Begin();
    CHECK(x == update);
    x += 1;
    controllers.End();
  }
  CHECK(x == 5);

  ParameterSet restored_parameters = One(x);
  Controllers restored(3, restored_parameters);
  CopyState(controllers, restored);
  restored.Begin();
  CHECK(restored_parameters.all()[0].value(0, 0) == 7);
  restored.End();
  CHECK(restored_parameters.all()[0].value(0, 0) == 6);

  controllers.TakeShared();
  CHECK(x == 7);
  x = 40;
  controllers.Reset();
  controllers.Begin();
  CHECK(x == 40);
  controllers.End();
  CHECK(x == 40);
}

TEST_CASE("one controller leaves everything as it is") {
  ParameterSet parameters = One(2);
  float& x = parameters.all()[0].value(0, 0);
  Controllers controllers(1, parameters);
  controllers.Begin();
  x = 3;
  controllers.End();
  CHECK(x == 3);
  controllers.TakeShared();
  CHECK(x == 3);
}

TEST_CASE("a policy gradient's updates are those of old parameters, added to the shared ones") {
  // Plain descent with a rate r: after the updates of two controllers both of which drew with the
  // first parameters, these have both gradients of that point.
  PolicyGradientConfig config = Plain();
  Learner one(config);
  const Matrix before = one.logits();
  one.Update(kTwo);
  const Matrix step = one.logits() - before;

  config.controllers = 2;
  Learner two(config);
  two.Update(kTwo);
  CHECK(two.logits() == before);  // the second controller's
  two.Update(kTwo);
  CHECK((two.logits() - (before + step)).cwiseAbs().maxCoeff() < 1e-6F);  // the first one's
  two.learning->TakeShared();
  CHECK((two.logits() - (before + 2 * step)).cwiseAbs().maxCoeff() < 1e-6F);
}

}  // namespace

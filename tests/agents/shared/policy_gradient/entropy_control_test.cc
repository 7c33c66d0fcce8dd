#include "agents/shared/policy_gradient/entropy_control.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the target falls in equal ratios and stays at its end") {
  const EntropyControl control({.begin = 1.6, .end = 0.1, .updates = 40});
  // A sixteenth in 40 updates: a half in 10.
  CHECK(control.Target(0) == doctest::Approx(1.6));
  CHECK(control.Target(10) == doctest::Approx(0.8));
  CHECK(control.Target(30) == doctest::Approx(0.2));
  CHECK(control.Target(40) == doctest::Approx(0.1));
  CHECK(control.Target(400) == doctest::Approx(0.1));
  CHECK_FALSE(control.Complete(39));
  CHECK(control.Complete(40));
}

TEST_CASE("the factor rises below the target and falls above it, within bounds") {
  EntropyControl control({.begin = 2, .end = 2, .updates = 1, .rate = 0.1});
  CHECK(control.factor() == 1);
  control.Observe(1, 3);  // (2 - 1) / 2
  CHECK(control.factor() == doctest::Approx(std::exp(0.05)));
  control.Observe(9, 4);  // -3.5 counts as -1
  CHECK(control.factor() == doctest::Approx(std::exp(-0.05)));
  for (int i = 1; i < 200; ++i) control.Observe(9, i);
  CHECK(control.factor() == doctest::Approx(1e-4));
  for (int i = 1; i < 400; ++i) control.Observe(0, i);
  CHECK(control.factor() == doctest::Approx(1e4));
  control.Begin(1000);
  control.Observe(2, 1);
  CHECK(control.factor() == 1);
}

TEST_CASE("a lower entropy of the first update is where the target begins") {
  EntropyControl control({.begin = 1.6, .end = 0.1, .updates = 40});
  control.Observe(0.4, 0);
  CHECK(control.factor() == 1);
  CHECK(control.Target(0) == doctest::Approx(0.4));
  CHECK(control.Target(20) == doctest::Approx(0.2));  // sqrt(0.4 * 0.1)
  control.Observe(5, 0);                              // later ones do not raise it
  CHECK(control.Target(0) == doctest::Approx(0.4));
  control.Begin(1000);
  control.Observe(0.01, 0);  // never below the end
  CHECK(control.Target(0) == doctest::Approx(0.1));
  control.Begin(1000);
  CHECK(control.Target(0) == doctest::Approx(1.6));
}

TEST_CASE("a plan takes no more than its share of what the budget leaves") {
  EntropyControl control({.begin = 1.6, .end = 0.1, .updates = 40, .share = 0.5});
  control.Begin(41);  // floor(20.5) updates
  CHECK(control.Target(5) == doctest::Approx(0.8));
  CHECK_FALSE(control.Complete(19));
  CHECK(control.Complete(20));
  control.Begin(0);
  CHECK(control.Complete(1));
  control.Begin(1'000'000);
  CHECK_FALSE(control.Complete(39));
}

TEST_CASE("begin 0 is no control") {
  EntropyControl control({});
  control.Observe(0.5, 3);
  CHECK(control.factor() == 1);
  CHECK(control.Complete(0));
}

}  // namespace

#include "framework/base/interrupt.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;

TEST_CASE("an interrupt throws when an end is wanted, and by default never") {
  static bool wanted = false;
  const Interrupt interrupt([] { return wanted; });
  CHECK_FALSE(interrupt.wanted());
  CHECK_NOTHROW(interrupt.Check());
  wanted = true;
  CHECK(interrupt.wanted());
  CHECK_THROWS_WITH_AS(interrupt.Check(), "interrupted", Interrupted);
  CHECK_FALSE(Interrupt().wanted());
  CHECK_NOTHROW(Interrupt().Check());
}

}  // namespace

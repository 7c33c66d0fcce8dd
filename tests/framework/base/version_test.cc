#include "framework/base/version.h"

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("every version up to the newest can be read, and no other") {
  CHECK(WhyUnreadable(1, 1).empty());
  CHECK(WhyUnreadable(1, 3).empty());
  CHECK(WhyUnreadable(3, 3).empty());
  CHECK(WhyUnreadable(2, 1) == "expected at most 1, got 2: made by a newer version of emplace");
  CHECK(WhyUnreadable(9, 3) == "expected at most 3, got 9: made by a newer version of emplace");
  CHECK(WhyUnreadable(0, 1) == "expected 1, got 0");
  CHECK(WhyUnreadable(-1, 2) == "expected 1 to 2, got -1");
}

}  // namespace

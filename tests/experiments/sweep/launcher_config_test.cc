#include "experiments/sweep/launcher_config.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"

using namespace emplace;

namespace {

TEST_CASE("options are split at blanks, but not within quotes") {
  using Words = std::vector<std::string>;
  CHECK(SplitOptions("") == Words{});
  CHECK(SplitOptions("  ") == Words{});
  CHECK(SplitOptions("--a --b=c") == Words{"--a", "--b=c"});
  CHECK(SplitOptions(" --comment='of mine' \"x y\"z ''") == Words{"--comment=of mine", "x yz", ""});
  CHECK_THROWS_WITH_AS(
      SplitOptions("--a 'b"), "launcher: a ' is not closed in: --a 'b", InputError);
}

TEST_CASE("bundles hold every run once, in order") {
  using Bundles = std::vector<std::vector<int>>;
  CHECK(MakeBundles({}, 0, 2) == Bundles{});
  CHECK(MakeBundles({3, 5, 8}, 2, 1) == Bundles{{3, 5}, {8}});
  // 10 runs, 4 workers: 2.5 each, rounded up.
  CHECK(MakeBundles({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, 4) ==
        Bundles{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9}});
  CHECK(MakeBundles({7, 9}, 0, 4) == Bundles{{7}, {9}});
}

}  // namespace

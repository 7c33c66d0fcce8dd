#include "framework/base/glob.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;

TEST_CASE("globs") {
  CHECK(MatchesGlob("*", ""));
  CHECK(MatchesGlob("gpu:*", "gpu:12"));
  CHECK(MatchesGlob("*lstm0/*", "gradients/encoder/lstm0/t1/mul"));
  CHECK(MatchesGlob("a*b*c", "a_b_b_c"));
  CHECK(MatchesGlob("?b", "ab"));
  CHECK_FALSE(MatchesGlob("?", ""));
  CHECK_FALSE(MatchesGlob("lstm0/*", "x/lstm0/t1"));
  CHECK_FALSE(MatchesGlob("a*b", "a_b_c"));
  CHECK_FALSE(MatchesGlob("", "a"));
}

}  // namespace

#include "framework/base/error.h"

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;

TEST_CASE("an unknown value is answered with the nearest choice and all choices") {
  const std::vector<std::string> kinds = {"a100", "k80", "p100"};
  CHECK(MessageOf<InputError>([&] { ThrowUnknown("c.yaml:3:4", "device kind", "k8", kinds); }) ==
        "c.yaml:3:4: unknown device kind \"k8\"; did you mean \"k80\"? choices: a100, k80, p100");
  CHECK(ChoicesHint("tpu_v4_pod", kinds) == "; choices: a100, k80, p100");
  CHECK(ChoicesHint("x", {}) == "; no choices exist");
  // Of equally near ones the first; three letters off a short word are too many.
  const std::vector<std::string> names = {"heft", "left", "cpop"};
  CHECK(ChoicesHint("weft", names) == "; did you mean \"heft\"? choices: heft, left, cpop");
  CHECK(ChoicesHint("cart", names) == "; choices: heft, left, cpop");
}

TEST_CASE("an earlier name is answered with the present one, where that is a choice") {
  const std::vector<std::string> agents = {"heft", "learned_local_search"};
  CHECK(MessageOf<InputError>([&] { ThrowUnknown("c.yaml:3:4", "agent", "learned", agents); }) ==
        "c.yaml:3:4: unknown agent \"learned\"; it is now called \"learned_local_search\"");
  const std::vector<std::string> others = {"heft", "random"};
  CHECK(ChoicesHint("learned", others) == "; choices: heft, random");
}

TEST_CASE("of many choices twenty are listed") {
  std::vector<std::string> ops;
  for (int i = 0; i < 23; ++i) ops.push_back("layer_" + std::to_string(i));
  const std::string hint = ChoicesHint("zzzzzzzzzzzzzzzzzzzzzzzzzzz", ops);
  CHECK(hint.find("layer_19 and 3 more") != std::string::npos);
  CHECK(hint.find("layer_20") == std::string::npos);
}

TEST_CASE("a seed means the same numbers everywhere") {
  // The 10000th number of mt19937_64 with the default seed, from the C++ standard, [rand.predef].
  Rng rng;
  rng.discard(9999);
  CHECK(rng() == 9981545732273789042u);
  Rng a(7), b(7);
  for (int i = 0; i < 1000; ++i) {
    const int n = UniformInt(a, 10);
    CHECK(n >= 0);
    CHECK(n < 10);
    CHECK(n == UniformInt(b, 10));
    const double u = Uniform01(a);
    CHECK(u >= 0);
    CHECK(u < 1);
    CHECK(u == Uniform01(b));
  }
}

}  // namespace
}  // namespace emplace

// All inputs that are kept, read once more: the corpora, what once was a crash, and the seeds that
// the code writes.

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/kept_inputs.h"

using namespace emplace;
using namespace emplace::fuzz;

namespace {

TEST_CASE("kept inputs are read or refused") {
  for (const FuzzTarget& target : FuzzTargets()) {
    CAPTURE(target.name);
    int read = 0;
    for (const char* what : {"corpus", "crashes"}) {
      for (const std::string& input : KeptInputs(target, what)) {
        CAPTURE(input);
        read += Reads([&] { target.read(input); });
      }
    }
    if (target.seeds != nullptr) {
      const std::vector<std::string> seeds = target.seeds();
      CHECK_FALSE(seeds.empty());
      for (const std::string& input : seeds) {
        CAPTURE(input);
        CHECK(Reads([&] { target.read(input); }));
        ++read;
      }
    }
    CHECK(read > 0);  // a corpus that is only refused tests little
  }
}

TEST_CASE("the targets are listed by name") {
  for (std::size_t i = 1; i < FuzzTargets().size(); ++i) {
    CHECK(std::string(FuzzTargets()[i - 1].name) < FuzzTargets()[i].name);
  }
  CHECK(FindTarget("graph") != nullptr);
  CHECK(FindTarget("nonsense") == nullptr);
}

}  // namespace

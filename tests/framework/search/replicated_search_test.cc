#include "framework/search/replicated_search.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/search/meter.h"
#include "tests/support/thread_ranks.h"

using namespace emplace;

namespace {

// What each rank's body threw as a RunError; empty: nothing.
std::vector<std::string> ErrorsOf(int size, const std::function<void(ReplicatedSearch&)>& body) {
  std::vector<std::string> errors(size);
  testing::RunThreadRanks(size, [&](Communicator& ranks) {
    ReplicatedSearch replicated(ranks);
    try {
      body(replicated);
    } catch (const RunError& error) {
      errors[ranks.rank()] = error.what();
    }
  });
  return errors;
}

TEST_CASE("ranks at the same place hand each other bytes") {
  const auto errors = ErrorsOf(3, [](ReplicatedSearch& replicated) {
    REQUIRE(replicated.Begin(5, true));
    const std::vector<std::byte> mine(1 + replicated.rank(), std::byte{7});
    const Gathered all = replicated.Meet({"evaluates", 4, 9}, mine);
    CHECK(all.begin == std::vector<std::size_t>{0, 1, 3, 6});
    CHECK(all.of(2).size() == 3);
    CHECK(all.of(2)[2] == std::byte{7});
    replicated.End("budget");
    REQUIRE(replicated.Begin(6, true));  // another search
    replicated.End("budget");
    std::vector<std::byte> bytes(replicated.rank() == 0 ? 2 : 0, std::byte{3});
    replicated.Broadcast("is done", bytes);
    CHECK(bytes == std::vector<std::byte>(2, std::byte{3}));
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("rank 0 alone decides that a search ends; others that are ahead learn of it") {
  for (int meetings = 0; meetings < 4; ++meetings) {
    const auto errors = ErrorsOf(4, [&](ReplicatedSearch& replicated) {
      REQUIRE(replicated.Begin(0, true));
      int made = 0;
      try {
        for (; replicated.rank() != 0 || made < meetings; ++made) replicated.Meet({"evaluates"});
        replicated.End("budget");
        CHECK(replicated.rank() == 0);
      } catch (const BudgetExhausted&) {
        CHECK(replicated.rank() != 0);
        replicated.End("told already");
      }
      CHECK(made == meetings);
      CHECK_FALSE(replicated.broken());
      CHECK_FALSE(replicated.Begin(0, replicated.rank() != 0));  // rank 0 wants no more
    });
    CHECK(errors == std::vector<std::string>(4));
  }
}

TEST_CASE("ranks that diverge: all tell both places") {
  const std::string hint = "; they must run the same program on the same files";
  auto errors = ErrorsOf(3, [](ReplicatedSearch& replicated) {
    replicated.Begin(0, true);
    replicated.Meet({replicated.rank() == 1 ? "evaluates rows" : "evaluates", 12, 255});
  });
  CHECK(errors == std::vector<std::string>(
                      3,
                      "ranks diverged at meeting 2: rank 0 evaluates (12, checksum "
                      "00000000000000ff), rank 1 evaluates rows (12, checksum 00000000000000ff)" +
                          hint));
  errors = ErrorsOf(2, [](ReplicatedSearch& replicated) {
    replicated.Begin(0, true);
    replicated.Meet({"evaluates", 12, replicated.rank() == 0 ? 1u : 2u});
  });
  CHECK(errors[0].find("rank 1 evaluates (12, checksum 0000000000000002)") != std::string::npos);
  errors = ErrorsOf(2, [](ReplicatedSearch& replicated) {
    replicated.Begin(0, true);
    if (replicated.rank() == 0) {
      replicated.Meet({"evaluates", 3, 1});
    } else {
      replicated.End("failed out of memory");
    }
  });
  CHECK(errors ==
        std::vector<std::string>(2,
                                 "ranks diverged at meeting 2: rank 0 evaluates (3, checksum "
                                 "0000000000000001), rank 1 ends its search: failed out of memory" +
                                     hint));
  errors =
      ErrorsOf(2, [](ReplicatedSearch& replicated) { replicated.Begin(replicated.rank(), true); });
  CHECK(errors[1].find(
            "ranks diverged at meeting 1: rank 0 begins (0, checksum 0000000000000000)") == 0);
}

TEST_CASE("a rank that cannot go on ends the others with its error") {
  const auto errors = ErrorsOf(3, [](ReplicatedSearch& replicated) {
    if (replicated.rank() == 2) {
      replicated.Fail("g.json: no such file");
      replicated.Fail("again");  // nobody comes any more
      return;
    }
    std::vector<std::byte> nothing;
    replicated.Broadcast("resumes", nothing);
  });
  const std::string told = "rank 2: g.json: no such file";
  CHECK(errors == std::vector<std::string>{told, told, ""});
  // All of them at once: each has its own.
  CHECK(ErrorsOf(3, [](ReplicatedSearch& replicated) { replicated.Fail("the same"); }) ==
        std::vector<std::string>(3));
}

TEST_CASE("a checksum changes with every byte, the length and the seed") {
  Rng rng(1);
  for (int size = 0; size < 70; ++size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(UniformInt(rng, 256));
    const std::uint64_t whole = Checksum(bytes);
    CHECK(Checksum(bytes, 1) != whole);
    for (int i = 0; i < size; ++i) {
      auto other = bytes;
      other[i] ^= std::byte{1};
      CHECK(Checksum(other) != whole);
    }
    bytes.push_back(std::byte{0});
    CHECK(Checksum(bytes) != whole);
  }
}

}  // namespace

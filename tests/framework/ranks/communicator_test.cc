// What every Communicator promises, of threads; tests/experiments/run/ranks_test.py has MPI's.

#include "framework/ranks/communicator.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"
#include "tests/support/thread_ranks.h"

using namespace emplace;

namespace {

std::vector<std::byte> BytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("everyone gets what everyone hands in, of any size, in the order of ranks") {
  for (const int size : {1, 2, 3, 8}) {
    testing::RunThreadRanks(size, [&](Communicator& ranks) {
      CHECK(ranks.size() == size);
      Rng rng(7);  // the same everywhere
      for (int round = 0; round < 50; ++round) {
        std::vector<std::string> texts;
        for (int r = 0; r < size; ++r) texts.push_back(std::string(UniformInt(rng, 5), 'a' + r));
        const Gathered all = ranks.AllGather(BytesOf(texts[ranks.rank()]));
        REQUIRE(all.begin.size() == size + 1);
        for (int r = 0; r < size; ++r) CHECK(TextOf(all.of(r)) == texts[r]);
        auto bytes = BytesOf(std::to_string(ranks.rank()) + texts[0]);
        ranks.Broadcast(bytes);
        CHECK(TextOf(bytes) == "0" + texts[0]);
      }
    });
  }
}

TEST_CASE("a rank that throws ends the others' next meeting; its own exception is told") {
  const auto run = [](int wrong) {
    testing::RunThreadRanks(4, [&](Communicator& ranks) {
      ranks.AllGather({});
      if (ranks.rank() == wrong) throw InputError("wrong " + std::to_string(wrong));
      ranks.AllGather({});
      ranks.AllGather({});
    });
  };
  for (int wrong = 0; wrong < 4; ++wrong) {
    CHECK(testing::MessageOf<InputError>([&] { run(wrong); }) == "wrong " + std::to_string(wrong));
  }
  CHECK(testing::MessageOf<RunError>([&] {
          testing::RunThreadRanks(2, [&](Communicator& ranks) {
            if (ranks.rank() == 0) return;
            throw RunError("rank 1 alone");
          });
        }) == "rank 1 alone");
}

}  // namespace

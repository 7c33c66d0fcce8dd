#include <vector>

#include "framework/bounds/segment_search.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("device pairs: boards may be exchanged, and the devices of each") {
  ProblemBuilder b;
  for (const char* name : {"a0", "a1", "b0", "b1"}) b.Device(name);
  for (int board = 0; board < 2; ++board) {
    const int k = b.Channel(board == 0 ? "a" : "b", 0, kGigabytePerSecond);
    b.Route(2 * board, 2 * board + 1, {k});
    b.Route(2 * board + 1, 2 * board, {k});
  }
  const int root = b.Channel("root", 5, kGigabytePerSecond);
  for (int s = 0; s < 4; ++s) {
    for (int d = 0; d < 4; ++d) {
      if (s / 2 != d / 2) b.Route(s, d, {root});
    }
  }
  b.Op("op", {10});
  const DevicePairs pairs(*b.Build());
  CHECK(pairs.exchangeable == std::vector<int>{0, 0, 2, 2});
  // The same device, the same board, another board.
  for (int s = 0; s < 4; ++s) {
    for (int d = 0; d < 4; ++d) {
      CHECK(pairs.like[s * 4 + d] == (s == d ? 0 : s / 2 == d / 2 ? 1 : 2));
    }
  }
}

TEST_CASE("device pairs: other costs tell devices apart") {
  ProblemBuilder b = Gpus(3, 0);
  b.Op("op", {10, 20, 20});
  const DevicePairs pairs(*b.Build());
  CHECK(pairs.exchangeable == std::vector<int>{0, 1, 1});
  CHECK(pairs.like == std::vector<int>{0, 1, 1, 3, 4, 5, 3, 5, 4});
}

}  // namespace

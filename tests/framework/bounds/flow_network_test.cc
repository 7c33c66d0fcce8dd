#include "framework/bounds/flow_network.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

TEST_CASE("the maximum flow is the least cut, of which the smallest side is inside") {
  Rng rng(3);
  constexpr int kNodes = 6, kSource = 0, kSink = 5;
  for (int trial = 0; trial < 200 * EMPLACE_TEST_SCALE; ++trial) {
    FlowNetwork network(kNodes - 1);
    CHECK(network.AddNode() == kSink);
    struct Arc {
      int from, to;
      Nanos capacity;
    };
    std::vector<Arc> arcs;
    for (int i = UniformInt(rng, 14); i >= 0; --i) {
      const Arc arc{UniformInt(rng, kNodes), UniformInt(rng, kNodes), UniformInt(rng, 8)};
      if (arc.from == arc.to) continue;
      CHECK(network.AddArc(arc.from, arc.to, 0) == static_cast<int>(arcs.size()));
      arcs.push_back(arc);
    }
    CHECK(network.Flow(kSource, kSink) == 0);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      network.SetCapacity(static_cast<int>(i), arcs[i].capacity);
    }
    Nanos least = kMaxNanos;
    std::uint32_t inside = 0;  // of the least cuts, the nodes inside all
    for (std::uint32_t side = 0; side < 1U << kNodes; ++side) {
      if ((side >> kSource & 1) == 0 || (side >> kSink & 1) != 0) continue;
      Nanos cut = 0;
      for (const Arc& arc : arcs) {
        if ((side >> arc.from & 1) != 0 && (side >> arc.to & 1) == 0) cut += arc.capacity;
      }
      if (cut < least) inside = side;
      if (cut == least) inside &= side;
      least = std::min(least, cut);
    }
    CHECK(network.Flow(kSource, kSink) == least);
    for (int node = 0; node < kNodes; ++node) {
      CHECK(network.IsInside(node) == ((inside >> node & 1) != 0));
    }
    if (least > 0) CHECK(network.Flow(kSource, kSink, least - 1) == least - 1);
  }
}

}  // namespace

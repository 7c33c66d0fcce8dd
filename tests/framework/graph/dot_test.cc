#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

// a -> b -> c in scopes "net/x", a -> c by control, and a loner with a nasty name.
Graph Example() {
  std::vector<Tensor> tensors(2);
  tensors[0].bytes = 1500;
  tensors[1].bytes = 20;
  std::vector<Op> ops(4);
  ops[0].name = "net/x/a";
  ops[0].kind = "MatMul";
  ops[0].flops = 2.5e9;
  ops[0].outputs = {0};
  ops[1].name = "net/x/b";
  ops[1].kind = "Relu";
  ops[1].inputs = {0};
  ops[1].outputs = {1};
  ops[2].name = "net/y/c";
  ops[2].kind = "Sum";
  ops[2].inputs = {1};
  ops[2].control_inputs = {0};
  ops[3].name = "say \"hi\"\\";
  ops[3].kind = "k";
  return Graph("ex", tensors, ops);
}

TEST_CASE("every op is a node, every dependency an edge with its bytes") {
  CHECK(FormatDot(Example(), Grouping::Identity(4)) ==
        R"(digraph "ex" {
  graph [nslimit=1, nslimit1=1, mclimit=0.5];
  node [shape=box, style="rounded,filled", fillcolor=white];
  g0 [label="net/x/a\nMatMul\n2.5 GFLOP"];
  g1 [label="net/x/b\nRelu"];
  g2 [label="net/y/c\nSum"];
  g3 [label="say \"hi\"\\\nk"];
  g0 -> g1 [xlabel="1.5 kB"];
  g0 -> g2 [style=dashed];
  g1 -> g2 [xlabel="20 B"];
}
)");
}

TEST_CASE("groups bear their most frequent scope and their device's colour") {
  const std::string dot =
      FormatDot(Example(), Grouping(std::vector<int>{0, 0, 0, 1}), {1, 0}, {"cpu:0", "gpu:0"});
  CHECK(dot.find("g0 [label=\"net/x\\n3 ops\\n2.5 GFLOP\", fillcolor=") != std::string::npos);
  CHECK(dot.find("->") == std::string::npos);
  CHECK(dot.find("subgraph cluster_legend") != std::string::npos);
  const auto color_of = [&](const std::string& node) {
    const size_t line = dot.find(node + " [");
    const size_t color = dot.find("fillcolor=", line);
    return dot.substr(color, dot.find(']', color) - color);
  };
  CHECK(dot.find("device1 [label=\"gpu:0\"") != std::string::npos);
  CHECK(color_of("  g0") == color_of("device1"));
  CHECK(color_of("  g1") == color_of("device0"));
  CHECK(color_of("  g0") != color_of("  g1"));
}

TEST_CASE("the colours of all devices that a cluster may have are hues from 0 to 1, and differ") {
  const std::vector<std::string> names(64, "d");
  const std::string dot = FormatDot(Example(), Grouping::Identity(4), {0, 1, 2, 3}, names);
  static const std::regex color(
      R"re(  device(\d+) \[label="d", fillcolor="([^"]*) 0.35 0.95"\])re");
  std::set<std::string> hues;
  for (std::sregex_iterator at(dot.begin(), dot.end(), color), end; at != end; ++at) {
    const std::string hue = (*at)[2];
    CAPTURE(hue);
    CHECK(std::regex_match(hue, std::regex(R"(0\.\d\d\d|1\.000)")));
    hues.insert(hue);
  }
  CHECK(hues.size() == 64);
  // 0.58 + 0.618 and 0.58 + 2 * 0.618, without what stands before the point.
  CHECK(dot.find("device0 [label=\"d\", fillcolor=\"0.580 ") != std::string::npos);
  CHECK(dot.find("device1 [label=\"d\", fillcolor=\"0.198 ") != std::string::npos);
  CHECK(dot.find("device2 [label=\"d\", fillcolor=\"0.816 ") != std::string::npos);
}

}  // namespace
}  // namespace emplace

#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/instances/task_graph.h"
#include "tests/framework/instances/instance_problem.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::string RefusalOfDot(const std::string& text) {
  return MessageOf<InputError>([&] { ParseWeightedDot(text, "g", "g.dot"); });
}

// The example of the header.
constexpr const char* kDot = R"(digraph "Fork_Nodes_3" {
  "TargetSystem"="Homogeneous-2";
  "Total schedule length"=11;
  a [Weight=5, Start=0, Processor=0];
  b [Weight=6, Start=5, Processor=0];
  c [Weight=3, Start=7, Processor=1];
  a -> b [Weight=2];
  a -> c [Weight=2];
})";

TEST_CASE("a file with its optimal schedule") {
  const TaskGraph graph = ParseWeightedDot(kDot, "file", "g.dot");
  CHECK(graph.name == "Fork_Nodes_3");
  REQUIRE(graph.tasks.size() == 3);
  CHECK(graph.tasks[1].name == "b");
  CHECK(graph.tasks[1].time == 6000);
  REQUIRE(graph.messages.size() == 2);
  CHECK(graph.messages[1].to == 2);
  CHECK(graph.messages[1].time == 2000);
  CHECK(graph.processors == 2);
  CHECK(graph.optimum == 11000);
  CHECK(graph.processor_of == std::vector<int>{0, 0, 1});
  CHECK(graph.start == std::vector<Nanos>{0, 5000, 7000});
  // a 0 to 5 and b 5 to 11 on p0; the message to c 5 to 7, c 7 to 10.
  CHECK(SimulatePlanted(MakeInstance(graph, 2, "g.dot"), Semantics::kStream) == 11000);
}

TEST_CASE("comments, chains, defaults, quotes, and processors of any numbers") {
  const TaskGraph graph = ParseWeightedDot(R"(
# a comment
strict Digraph { /* one
   over lines */ graph [TargetSystem="Homogeneous-4", "Total schedule length"=9]
  node [Weight=4; Start=0][Processor=3]  // defaults
  edge [weight="1.5"]
  "node" [Processor=1]
  "node" -> "b \"x\"" -> c_1
  d; "node" -> d [weight=.5] }
)",
                                           "file",
                                           "g.dot");
  CHECK(graph.name == "file");
  REQUIRE(graph.tasks.size() == 4);
  CHECK(graph.tasks[0].name == "node");
  CHECK(graph.tasks[1].name == "b \"x\"");
  CHECK(graph.tasks[3].time == 4000);
  REQUIRE(graph.messages.size() == 3);
  CHECK(graph.messages[1].from == 1);
  CHECK(graph.messages[1].time == 1500);
  CHECK(graph.messages[2].time == 500);
  CHECK(graph.processors == 4);
  CHECK(graph.processor_of == std::vector<int>{0, 1, 1, 1});
}

TEST_CASE("another target system or part of a schedule tells nothing") {
  const TaskGraph unequal = ParseWeightedDot(
      "digraph { TargetSystem=\"Heterogeneous-4-2\" \"Total schedule length\"=3 a [Weight=3] }",
      "g",
      "g");
  CHECK(unequal.processors == 0);
  CHECK_FALSE(unequal.optimum.has_value());
  const TaskGraph part = ParseWeightedDot(
      "digraph { TargetSystem=\"Homogeneous-2\"; \"Total schedule length\"=3;"
      "a [Weight=3, Start=0, Processor=0]; b [Weight=3] }",
      "g",
      "g");
  CHECK(part.optimum == 3000);
  CHECK(part.processor_of.empty());
  CHECK(part.start.empty());
}

TEST_CASE("damaged files are refused with line, value and what was expected (DOT)") {
  CHECK(RefusalOfDot("") == "g.dot:1: expected \"digraph\", got the end of the file");
  CHECK(RefusalOfDot("graph { }") == "g.dot:1: expected \"digraph\", got \"graph\"");
  CHECK(RefusalOfDot("digraph g\n[") == "g.dot:2: expected \"{\", got \"[\"");
  CHECK(RefusalOfDot("digraph {\na [Weight=1]\n") ==
        "g.dot:3: expected a node, an edge or \"}\", got the end of the file");
  CHECK(RefusalOfDot("digraph {\na -> [Weight=1] }") == "g.dot:2: expected a node, got \"[\"");
  CHECK(RefusalOfDot("digraph { a [Weight 1] }") == "g.dot:1: expected \"=\", got \"1\"");
  CHECK(RefusalOfDot("digraph { a [Weight=] }") == "g.dot:1: expected a value, got \"]\"");
  CHECK(RefusalOfDot("digraph { a [=1] }") == "g.dot:1: expected a name or \"]\", got \"=\"");
  CHECK(RefusalOfDot("digraph { a -- b }") ==
        "g.dot:1: expected a node, an edge or \"}\", got \"-\"");
  CHECK(RefusalOfDot("digraph { node a }") == "g.dot:1: expected \"[\", got \"a\"");
  CHECK(RefusalOfDot("digraph { subgraph x { a } }") ==
        "g.dot:1: expected a node or an edge, got \"subgraph\"");
  CHECK(RefusalOfDot("digraph { } x") == "g.dot:1: expected the end of the file, got \"x\"");
  CHECK(RefusalOfDot("digraph {\n\"a") == "g.dot:2: a text in quotes is not closed");
  CHECK(RefusalOfDot("digraph {\n\"a\\") == "g.dot:2: a text in quotes is not closed");
  CHECK(RefusalOfDot("digraph {\n/* a") == "g.dot:2: expected \"*/\", got the end of the file");
  CHECK(RefusalOfDot("digraph {\n a; }") ==
        "g.dot:2: node \"a\" has no Weight; expected a number >= 0");
  CHECK(RefusalOfDot("digraph { a [Weight=1] b [Weight=1]\n\na -> b }") ==
        "g.dot:3: edge \"a\" -> \"b\" has no Weight; expected a number >= 0");
  CHECK(RefusalOfDot("digraph { a [Weight=-2] }") ==
        "g.dot:1: node \"a\": Weight: expected a number >= 0, at most 7e13, got \"-2\"");
  CHECK(Contains(RefusalOfDot("digraph { TargetSystem=\"Homogeneous-x\" a [Weight=1] }"),
                 "TargetSystem: expected \"Homogeneous-N\" with N >= 1, got \"Homogeneous-x\""));
  CHECK(
      Contains(RefusalOfDot("digraph { TargetSystem=\"Homogeneous-1\" \"Total schedule length\"=x "
                            "a [Weight=1] }"),
               "Total schedule length: expected a number >= 0"));
  CHECK(Contains(
      RefusalOfDot("digraph { TargetSystem=\"Homogeneous-1\" \"Total schedule length\"=1\n"
                   "a [Weight=1, Start=0, Processor=0]\nb [Weight=1, Start=0, Processor=1] }"),
      "g.dot:3: node \"b\": Processor: expected at most 1 different values, as TargetSystem says"));
}

TEST_CASE("a problem as a task graph, by hand") {
  // a on both devices, mean (1000 + 3000) / 2; b on the second alone; 2,000 B take 1 us of latency
  // and 2 us.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  builder.AllToAll(1000, kGigabytePerSecond);
  builder.Op("a", {1000, 3000}, {}, 2000);
  builder.Op("b", {kMaxNanos, 4500}, {0});
  const auto problem = builder.Build();
  const std::string text = FormatWeightedDot(*problem);
  CHECK(text == "digraph \"" + problem->graph().name() +
                    "\" {\n"
                    "  \"a\" [Weight=2.000, Costs=\"1.000,3.000\", Group=0];\n"
                    "  \"b\" [Weight=4.500, Costs=\"-,4.500\", Group=1];\n"
                    "  \"a\" -> \"b\" [Weight=3.000, Bytes=2000];\n"
                    "}\n");
  const TaskGraph read = ParseWeightedDot(text, "again", "text");
  CHECK(read.tasks[1].time == 4500);
  REQUIRE(read.messages.size() == 1);
  CHECK(read.messages[0].time == 3000);
}

TEST_CASE("no text crashes the reader") {
  const std::string text = kDot;
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(RefusalOfDot(text.substr(0, size)).find("g.dot:") == 0);
  }
}

}  // namespace

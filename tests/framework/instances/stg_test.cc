#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/bounds/bounds.h"
#include "framework/instances/task_graph.h"
#include "tests/framework/instances/instance_problem.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::string RefusalOfStg(const std::string& text) {
  return MessageOf<InputError>([&] { ParseStg(text, "g", "g.stg"); });
}

// Two tasks between the dummies, the second behind the first.
constexpr const char* kStg =
    "          2\n"
    "          0          0          0\n"
    "          1         20          1          0\r\n"
    "\n"
    "          2          3          1          1\n"
    "          3          0          2          1          2\n"
    "# Standard Task Graph Set Project\n"
    "#   Tasks             : 2 (+dummy tasks : 2)\n";

TEST_CASE("a file without messages") {
  const TaskGraph graph = ParseStg(kStg, "sample", "sample.stg");
  CHECK(graph.name == "sample");
  CHECK(graph.processors == 0);
  REQUIRE(graph.tasks.size() == 4);
  CHECK(graph.tasks[1].name == "t1");
  CHECK(graph.tasks[1].time == 20000);
  REQUIRE(graph.messages.size() == 4);
  CHECK(graph.messages[1].from == 1);
  CHECK(graph.messages[1].to == 2);
  for (const auto& message : graph.messages) CHECK(message.time == 0);
  // t1 and t2 depend on each other: 20 + 3 on any number of processors.
  const auto problem = ProblemOf(MakeInstance(graph, 2, "sample.stg"));
  CHECK(ComputeBounds(*problem).best() == 23000);
  const auto simulator = MakeSimulator(problem, {});
  CHECK(simulator->Evaluate(Placement{{0, 0, 1, 0}}).step_time == 23000);
}

TEST_CASE("messages with times: pairs on the task's line and on lines of their own") {
  const TaskGraph lines =
      ParseStg("2\n0 0 0\n1 10 1\n0 5\n2 20 2\n0 1\n1 3\n3 0 1\n2 0\n", "g", "g");
  const TaskGraph inlined = ParseStg("2\n0 0 0\n1 10 1 0 5\n2 20 2 0 1 1 3\n3 0 1 2 0\n", "g", "g");
  for (const TaskGraph* graph : {&lines, &inlined}) {
    REQUIRE(graph->messages.size() == 4);
    CHECK(graph->messages[0].time == 5000);
    CHECK(graph->messages[2].from == 1);
    CHECK(graph->messages[2].to == 2);
    CHECK(graph->messages[2].time == 3000);
  }
}

TEST_CASE("the prototype set: numbers from 1 on, and the processors in the first line") {
  const TaskGraph graph = ParseStg("2 3\n1 14 0\n2 20 1 1\n3 0 1 2\n", "g", "g");
  CHECK(graph.processors == 3);
  REQUIRE(graph.tasks.size() == 3);
  CHECK(graph.tasks[0].name == "t1");
  REQUIRE(graph.messages.size() == 2);
  CHECK(graph.messages[1].from == 1);
  CHECK(graph.messages[1].to == 2);
}

TEST_CASE("damaged files are refused with line, value and what was expected") {
  CHECK(RefusalOfStg("# nothing\n") ==
        "g.stg:1: expected the number of tasks, got the end of the file");
  CHECK(Contains(RefusalOfStg("1 2 3\n"), "g.stg:1: expected the number of tasks and optionally"));
  CHECK(
      Contains(RefusalOfStg("two\n"), "g.stg:1: the number of tasks: expected an integer from 1"));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n"), "g.stg:2: expected task 1 of 2, got the end"));
  CHECK(Contains(RefusalOfStg("1\n5 0 0\n"),
                 "the first task's number: expected an integer from 0 to 1"));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n2 0 0\n"),
                 "g.stg:3: the next task's number: expected an integer from 1 to 1, got \"2\""));
  CHECK(Contains(RefusalOfStg("1\n0 0\n"), "g.stg:2: task 0: expected number, time and number of"));
  CHECK(Contains(RefusalOfStg("1\n0 -4 0\n"),
                 "g.stg:2: task 0: time: expected a number >= 0, at most 7e13, got \"-4\""));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n1 5 1 7\n"),
                 "task 1: predecessor: expected an integer from 0 to 2, got \"7\""));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n1 5 2 0 0\n"), "task 1: predecessor 0 is listed twice"));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n1 5 3 0 0 0 0\n"),
                 "task 1: number of predecessors: expected an integer from 0 to 2, got \"3\""));
  CHECK(Contains(
      RefusalOfStg("1\n0 0 0\n1 5 1 0 1 2\n"),
      "task 1: expected 1 predecessors, each optionally with the time of its message, got 3"));
  CHECK(
      Contains(RefusalOfStg("1\n0 0 0\n1 5 1\n0\n"),
               "g.stg:4: task 1: expected predecessor 1 of 1 and the time of its message, got 1"));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n1 5 1\n"), "got 0 fields"));
  CHECK(Contains(RefusalOfStg("1\n0 0 0\n1 5 0\n2 0 0\n3 0 0\n"),
                 "g.stg:5: expected the end of the file after task 2"));
}

TEST_CASE("a file that is cut off within its tasks is refused") {
  const std::string text = "2\n0 0 0\n1 10 1 0 5\n2 20 2 0 1 1 3\n3 0 1 2 7\n";
  CHECK(ParseStg(text, "g", "g.stg").messages.size() == 4);
  for (std::size_t size = 0; size < text.rfind('3'); ++size) {
    CAPTURE(size);
    CHECK(RefusalOfStg(text.substr(0, size)).find("g.stg:") == 0);
  }
}

}  // namespace

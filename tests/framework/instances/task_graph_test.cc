#include "framework/instances/task_graph.h"

#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/search/evaluator.h"
#include "simulator/simulator.h"
#include "tests/framework/instances/instance_problem.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a(5) -> b(6) with a message of 2, a -> c(3) with one of 2.
TaskGraph Fork() {
  return {.format = "dot",
          .name = "fork",
          .tasks = {{"a", 5000}, {"b", 6000}, {"c", 3000}},
          .messages = {{0, 1, 2000}, {0, 2, 2000}},
          .processors = 2,
          .optimum = 11000,
          .processor_of = {0, 0, 1},
          .start = {0, 5000, 7000}};
}

TEST_CASE("a message takes exactly its time between processors, and none within one") {
  const Instance instance = MakeInstance(Fork(), 2, "fork.dot");
  CHECK(instance.cluster.num_devices() == 2);
  CHECK(instance.cluster.num_channels() == 2);
  for (int edge = 0; edge < 2; ++edge) {
    CHECK(instance.cluster.TransferTime(0, 1, instance.graph.tensor(edge).bytes) == 2000);
  }
  const auto problem = ProblemOf(instance);
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  CHECK(simulator->Evaluate(Placement{{0, 0, 0}}).step_time == 14000);  // 5 + 6 + 3
  CHECK(simulator->Evaluate(Placement{{0, 0, 1}}).step_time == 11000);  // max(5 + 6, 5 + 2 + 3)
  CHECK(simulator->Evaluate(Placement{{0, 1, 1}}).step_time == 16000);  // 5 + 2, b 6, c 3
}

TEST_CASE("the file's schedule and optimum are kept for the same number of processors only") {
  const Instance same = MakeInstance(Fork(), 2, "fork.dot");
  CHECK(same.optimum == 11000);
  CHECK(same.device_of_op == std::vector<DeviceIndex>{0, 0, 1});
  CHECK(same.issue_order == std::vector<int>{0, 1, 2});
  CHECK(SimulatePlanted(same, Semantics::kStream) == 11000);
  CHECK(nlohmann::json::parse(same.graph.source()) ==
        nlohmann::json::parse(R"({"framework": "dot", "processors": 2,
                                   "optimum_without_contention_ns": 11000})"));
  CHECK(same.without_contention);
  const Instance other = MakeInstance(Fork(), 3, "fork.dot");
  CHECK_FALSE(other.optimum.has_value());
  CHECK(other.device_of_op.empty());
  CHECK(other.issue_order.empty());
}

TEST_CASE("an optimum with contention is a lower bound, one without messages is met") {
  // a(1) sends 4 to b(1) and 4 to c(1) on the other processor. The classical model has both there
  // at 5, so that b and c end at 6 and 7; here the second arrives at 9. (The schedule is no
  // optimum.)
  TaskGraph tasks{.name = "two",
                  .tasks = {{"a", 1000}, {"b", 1000}, {"c", 1000}},
                  .messages = {{0, 1, 4000}, {0, 2, 4000}},
                  .processors = 2,
                  .optimum = 7000,
                  .processor_of = {0, 1, 1},
                  .start = {0, 5000, 6000}};
  CHECK(SimulatePlanted(MakeInstance(tasks, 2, "x"), Semantics::kStream) == 10000);
  for (auto& message : tasks.messages) message.time = 0;
  tasks.start = {0, 1000, 2000};
  tasks.optimum = 3000;
  const Instance free = MakeInstance(tasks, 2, "x");
  CHECK_FALSE(free.without_contention);
  CHECK(nlohmann::json::parse(free.graph.source()).at("optimum_ns") == 3000);
  CHECK(SimulatePlanted(free, Semantics::kStream) == 3000);
}

TEST_CASE("ops are issued in the order of their starts, behind what they await") {
  TaskGraph tasks{.name = "order",
                  .tasks = {{"late", 1000}, {"early", 0}, {"next", 1000}},
                  .messages = {{1, 2, 0}},
                  .processors = 1,
                  .optimum = 2000,
                  .processor_of = {0, 0, 0},
                  .start = {1000, 0, 0}};
  CHECK(MakeInstance(tasks, 1, "x").issue_order == std::vector<int>{1, 2, 0});
}

TEST_CASE("weights are microseconds, read exactly") {
  CHECK(ParseWeight("3") == 3000);
  CHECK(ParseWeight("0.25") == 250);
  CHECK(ParseWeight("1e3") == 1'000'000);
  for (const char* text : {"", "-1", "3us", "x", "1e", "1e99", "nan"}) {
    CHECK(MessageOf<InputError>([&] { ParseWeight(text); }) ==
          "expected a number >= 0, at most 7e13, got \"" + std::string(text) + "\"");
  }
}

TEST_CASE("what is no instance is refused") {
  CHECK(MessageOf<InputError>([] { MakeInstance({}, 2, "x.stg"); }) == "x.stg: no tasks");
  for (int processors : {0, 65}) {
    CHECK(MessageOf<InputError>([&] { MakeInstance(Fork(), processors, "x.stg"); }) ==
          "x.stg: number of processors: expected 1 to 64, got " + std::to_string(processors));
  }
  TaskGraph cycle = Fork();
  cycle.messages.push_back({2, 0, 0});
  CHECK(MessageOf<InputError>([&] { MakeInstance(cycle, 2, "x.stg"); }).find("x.stg") == 0);
}

}  // namespace

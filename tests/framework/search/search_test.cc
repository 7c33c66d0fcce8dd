#include <map>
#include <set>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/search/agent.h"
#include "framework/search/meter.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Step time = sum of the device indices; feasible unless group 0 sits on device 2.
class SumEvaluator final : public Evaluator {
 public:
  explicit SumEvaluator(std::shared_ptr<const Problem> problem) : problem_(std::move(problem)) {}
  const Problem& problem() const override { return *problem_; }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail&) override {
    for (size_t i = 0; i < placements.size(); ++i) {
      outcomes[i] = {};
      for (DeviceIndex d : placements[i].device) outcomes[i].step_time += d;
      outcomes[i].feasible = placements[i].device[0] != 2;
      outcomes[i].devices.resize(3);
      if (!outcomes[i].feasible) outcomes[i].devices[2].deficit = 5;
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
};

std::shared_ptr<const Problem> TwoOps() {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name);
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1, 2, 3}, {}, 10);
  b.Op("b", {4, kMaxNanos, 6}, {0});
  return b.Build();
}

TEST_CASE("the meter counts, records and keeps the best") {
  SumEvaluator inner(TwoOps());
  MeteredEvaluator meter(inner, {});
  meter.Evaluate(std::vector<Placement>{{{2, 0}}, {{1, 1}}, {{0, 1}}, {{1, 0}}});
  REQUIRE(meter.records().size() == 4);
  CHECK_FALSE(meter.records()[0].feasible);
  CHECK(meter.records()[0].best_step_time == kMaxNanos);
  CHECK(meter.records()[1].best_step_time == 2);
  CHECK(meter.records()[3].best_step_time == 1);
  REQUIRE(meter.best());
  CHECK(meter.best()->placement == Placement{{0, 1}});  // the first of two with step time 1
  CHECK(meter.best()->index == 2);
}

TEST_CASE("a batch beyond the budget is cut off, what was evaluated counts") {
  SumEvaluator inner(TwoOps());
  MeteredEvaluator meter(inner, {.evaluations = 3});
  meter.Evaluate(Placement{{1, 1}});
  CHECK(meter.remaining() == 2);
  const std::vector<Placement> batch{{{1, 1}}, {{0, 1}}, {{0, 0}}};
  CHECK_THROWS_AS(meter.Evaluate(batch), BudgetExhausted);
  CHECK(meter.records().size() == 3);
  CHECK(meter.best()->outcome.step_time == 1);  // {0, 0} was not evaluated
  CHECK(meter.remaining() == 0);
  CHECK_THROWS_AS(meter.Evaluate(Placement{{0, 0}}), BudgetExhausted);
}

TEST_CASE("time and cancellation end a search, too") {
  SumEvaluator inner(TwoOps());
  MeteredEvaluator no_time(inner, {.seconds = 0});
  CHECK_THROWS_AS(no_time.Evaluate(Placement{{0, 0}}), BudgetExhausted);
  bool cancelled = false;
  MeteredEvaluator meter(inner, {}, [&] { return cancelled; });
  meter.Evaluate(Placement{{0, 0}});
  cancelled = true;
  CHECK_THROWS_AS(meter.Evaluate(Placement{{0, 0}}), BudgetExhausted);
}

TEST_CASE("a long batch is cut off within when it is cancelled") {
  SumEvaluator inner(TwoOps());
  int asked = 0;
  MeteredEvaluator meter(inner, {}, [&] { return ++asked == 3; });
  const std::vector<Placement> batch(50, Placement{{0, 0}});
  CHECK_THROWS_AS(meter.Evaluate(batch), BudgetExhausted);
  CHECK(meter.records().size() == 32);  // asked before 0, 16 and 32
  MeteredEvaluator whole(inner, {}, [] { return false; });
  CHECK(whole.Evaluate(batch).size() == 50);
  CHECK(whole.records().size() == 50);
}

TEST_CASE("a restored meter goes on as if it had never stopped") {
  SumEvaluator inner(TwoOps());
  const std::vector<Placement> batch{{{2, 0}}, {{1, 1}}, {{0, 1}}, {{1, 0}}, {{0, 0}}};
  MeteredEvaluator whole(inner, {.evaluations = 4});
  CHECK_THROWS_AS(whole.Evaluate(batch), BudgetExhausted);

  MeteredEvaluator first(inner, {.evaluations = 4}), second(inner, {.evaluations = 4});
  first.Evaluate(std::span(batch).first(2));
  second.Restore(first.best(), first.records(), 100);
  CHECK(second.remaining() == 2);
  CHECK(second.seconds() >= 100);
  CHECK_THROWS_AS(second.Evaluate(std::span(batch).subspan(2)), BudgetExhausted);
  REQUIRE(second.records().size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(second.records()[i].step_time == whole.records()[i].step_time);
    CHECK(second.records()[i].best_step_time == whole.records()[i].best_step_time);
    CHECK(second.records()[i].feasible == whole.records()[i].feasible);
  }
  CHECK(second.records()[2].wall_seconds >= 100);
  CHECK(second.best()->placement == whole.best()->placement);
  CHECK(second.best()->index == 2);

  MeteredEvaluator late(inner, {.seconds = 50});
  late.Restore({}, {}, 50);
  CHECK_THROWS_AS(late.Evaluate(batch), BudgetExhausted);
}

TEST_CASE("Better: feasible first, then the lesser deficit, then the lesser time") {
  Outcome good{.step_time = 10}, slow{.step_time = 11};
  Outcome bad{.step_time = 1, .feasible = false, .devices = {{0, 9, 4}}};
  Outcome worse{.step_time = 1, .feasible = false, .devices = {{0, 9, 2}, {0, 9, 3}}};
  CHECK(Better(good, slow));
  CHECK(Better(slow, bad));
  CHECK(Better(bad, worse));
  CHECK_FALSE(Better(good, good));
}

TEST_CASE("a problem knows what is allowed where, what it costs and who is whose neighbour") {
  const auto problem = TwoOps();
  CHECK(problem->allowed_devices(0) == 0b111);
  CHECK(problem->allowed_devices(1) == 0b101);
  CHECK(problem->group_cost(1, 1) == kMaxNanos);
  CHECK(problem->group_cost(1, 2) == 6);
  REQUIRE(problem->neighbors(0).size() == 1);
  CHECK(problem->neighbors(0)[0].neighbor == 1);
  CHECK(problem->neighbors(0)[0].bytes == 10);
  CHECK(problem->group_order()[0] == 0);
}

TEST_CASE("neighbours: each tensor once per pair of groups, in rows that mirror each other") {
  Rng rng(21);
  for (int trial = 0; trial < 50; ++trial) {
    CAPTURE(trial);
    const auto ops = RandomProblem(rng, {.num_ops = 40});
    const Graph& graph = ops->graph();
    std::vector<int> labels;
    for (int v = 0; v < graph.num_ops(); ++v) labels.push_back(UniformInt(rng, 12));
    const Grouping grouping(labels);
    const Problem problem(std::make_shared<const Graph>(graph),
                          grouping,
                          std::make_shared<const Cluster>(ops->cluster()),
                          ops->costs());
    std::map<std::pair<int, int>, std::int64_t> bytes;
    for (int v = 0; v < graph.num_ops(); ++v) {
      const int from = grouping.group_of(v);
      const auto send = [&](std::span<const int> readers, std::int64_t size) {
        std::set<int> groups;
        for (int reader : readers) groups.insert(grouping.group_of(reader));
        groups.erase(from);
        for (int to : groups) {
          bytes[{from, to}] += size;
          bytes[{to, from}] += size;
        }
      };
      for (int t : graph.op(v).outputs) send(graph.readers(t), graph.tensor(t).bytes);
      send(graph.control_readers(v), 0);
    }
    std::map<std::pair<int, int>, std::int64_t> found;
    for (int group = 0; group < problem.num_groups(); ++group) {
      int previous = -1;
      for (const Problem::Edge& edge : problem.neighbors(group)) {
        CHECK(previous < edge.neighbor);
        previous = edge.neighbor;
        found[{group, edge.neighbor}] = edge.bytes;
      }
    }
    CHECK(found == bytes);
  }
}

TEST_CASE("problems that cannot be solved are refused with their reason") {
  SUBCASE("a group without a common device") {
    ProblemBuilder b;
    b.Device("d0");
    b.Device("d1");
    b.AllToAll(0, kGigabytePerSecond);
    b.Op("left", {1, kMaxNanos});
    b.Op("right", {kMaxNanos, 1});
    CHECK(MessageOf<InputError>([&] {
            b.Build(Grouping(std::vector<int>{0, 0}));
          }) ==
          "problem: a group of 2 ops shares no allowed device: op \"right\" allows d1, the ops "
          "before it "
          "(first \"left\") leave only d0");
  }
  SUBCASE("an op without a device") {
    ProblemBuilder b;
    b.Device("d0");
    b.Op("nowhere", {kMaxNanos});
    CHECK(
        MessageOf<InputError>([&] { b.Build(); }) ==
        "problem: op \"nowhere\" (test) is allowed on no device of cluster \"test_cluster\" (d0)");
  }
  SUBCASE("a missing route that some placement needs") {
    ProblemBuilder b;
    b.Device("d0");
    b.Device("d1");
    b.Op("a", {1});
    b.Op("b", {1}, {0});
    CHECK(MessageOf<InputError>([&] { b.Build(); }) ==
          "cluster \"test_cluster\": no route from \"d0\" to \"d1\", which op \"a\" -> op \"b\" "
          "may need; "
          "add one under routes or restrict the ops' device_kinds");
  }
  SUBCASE("no route is needed within a group") {
    ProblemBuilder b;
    b.Device("d0");
    b.Device("d1");
    b.Op("a", {1});
    b.Op("b", {1}, {0});
    CHECK_NOTHROW(b.Build(Grouping(std::vector<int>{0, 0})));
  }
  SUBCASE("no route is needed where nothing can cross") {
    ProblemBuilder b;
    b.Device("d0");
    b.Device("d1");
    b.Op("a", {1, kMaxNanos});
    b.Op("b", {1, kMaxNanos}, {0});
    CHECK_NOTHROW(b.Build());
  }
  SUBCASE("a parameter larger than every device") {
    ProblemBuilder b;
    b.Device("d0", 99);
    b.Op("w", {0}, {}, 100);
    b.output(0).role = TensorRole::kParameter;
    CHECK(MessageOf<InputError>([&] { b.Build(); }) ==
          "problem: parameter \"w:0\" of op \"w\" (100 B) fits nowhere: the largest device it is "
          "allowed "
          "on (d0) has 99 B");
  }
  SUBCASE("parameters larger than all devices together") {
    ProblemBuilder b;
    b.Device("d0", 150);
    b.Op("w", {0}, {}, 100);
    b.Op("v", {0}, {}, 100);
    b.output(0).role = b.output(1).role = TensorRole::kParameter;
    CHECK(
        MessageOf<InputError>([&] { b.Build(); }) ==
        "problem: the parameters, buffers and optimiser state of graph \"test_graph\" (200 B) fit "
        "nowhere: all devices of cluster \"test_cluster\" together have 150 B");
  }
  SUBCASE("costs that overflow") {
    ProblemBuilder b;
    b.Device("d0");
    b.Op("a", {kMaxNanos - 1});
    b.Op("b", {kMaxNanos - 1});
    CHECK(MessageOf<InputError>([&] { b.Build(); }).find("64-bit integers") != std::string::npos);
  }
}

TEST_CASE("the registry is sorted and answers an unknown name with the choices") {
  AgentRegistry registry;
  for (const char* name : {"zeta", "alpha"}) registry.Add({name, "a sentence", {}, {}, {}});
  CHECK(registry.entries()[0].name == "alpha");
  CHECK(registry.Find("zeta", "x").sentence == "a sentence");
  CHECK(MessageOf<InputError>([&] { registry.Find("alpa", "run.yaml:3:5"); }) ==
        "run.yaml:3:5: unknown agent \"alpa\"; did you mean \"alpha\"? choices: alpha, zeta");
}

}  // namespace

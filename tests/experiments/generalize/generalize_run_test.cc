#include "experiments/generalize/generalize_run.h"

#include <cmath>
#include <sstream>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "tests/experiments/generalize/generalize_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Loaded {
  GeneralizeFiles files;
  GeneralizePlan plan;
  Family family;
  Loaded() : plan(ReadGeneralizePlan(files.folder / "gen.yaml", {}, AllAgents())) {
    family = LoadFamily(plan.families[0]);
  }
  Training TrainOn(int train, std::uint64_t seed, int threads = 1) const {
    Training training{.label = "x"};
    Train(family, plan.train[train], seed, threads, training, [](std::int64_t) {});
    return training;
  }
};

TEST_CASE("a family's graphs become problems, passes applied") {
  Loaded loaded;
  REQUIRE(loaded.family.train.size() == 2);
  REQUIRE(loaded.family.test.size() == 2);
  CHECK(loaded.family.test[1]->graph().name() == "a3");
  CHECK(loaded.family.test[1]->num_groups() == 19);
  loaded.files.WriteFamily("a", "coarsen: [{merge_cheapest: {groups: 5}}]\n");
  loaded.plan = ReadGeneralizePlan(loaded.files.folder / "gen.yaml", {}, AllAgents());
  for (const auto& problem : LoadFamily(loaded.plan.families[0]).train) {
    CHECK(problem->num_groups() == 5);
  }
}

TEST_CASE("training makes the updates, tells of each, and goes on from a checkpoint bit for bit") {
  const Loaded loaded;
  for (int train = 0; train < 2; ++train) {
    std::vector<std::int64_t> told;
    Training whole{.label = "x"};
    Train(loaded.family, loaded.plan.train[train], 1, 1, whole, [&](std::int64_t updates) {
      told.push_back(updates);
    });
    const std::int64_t updates = loaded.plan.train[train].updates;
    CHECK(std::ssize(told) == updates);
    CHECK(told.back() == updates);
    CHECK(whole.done());
    CHECK(whole.checkpoint.text.empty());
    CHECK(whole.updates.num_rows() == updates);

    const AgentSpec& agent = loaded.plan.train[train].agent;
    const auto trainer = agent.entry->make_trainer({loaded.family.train, 1, 1}, agent.settings);
    std::ostringstream saved;
    trainer->Save(saved);
    Training resumed{.label = "x", .checkpoint = {saved.str()}, .seconds = 100};
    Train(loaded.family, loaded.plan.train[train], 1, 2, resumed, [](std::int64_t) {});
    CHECK(resumed.policy.text == whole.policy.text);
    CHECK(resumed.seconds >= 100);
    CHECK(loaded.TrainOn(train, 2).policy.text != whole.policy.text);
  }
}

TEST_CASE("a checkpoint of other graphs is refused with the training and the family") {
  const Loaded loaded;
  const TrainPlan& train = loaded.plan.train[0];
  std::ostringstream saved;
  train.agent.entry->make_trainer({loaded.family.test, 0, 1}, train.agent.settings)->Save(saved);
  Training training{.label = "gnn.seed0", .checkpoint = {saved.str()}};
  const std::string message = MessageOf<RunError>(
      [&] { Train(loaded.family, train, 0, 1, training, [](std::int64_t) {}); });
  CAPTURE(message);
  CHECK(message.find("gnn.seed0 on family a: ") == 0);
  CHECK(message.find("other problems") != std::string::npos);
}

TEST_CASE("a search hands over its best placement, not the last candidate") {
  const Loaded loaded;
  const auto run = [&](int method) {
    return RunTest(loaded.family, loaded.plan.test[method], 1, 7, "");
  };
  const std::optional<Test> single = run(4), random = run(3);
  REQUIRE(single);
  CHECK(single->graph == 1);
  CHECK(single->seed == 7);
  CHECK(single->evaluations == 1);
  const auto simulator = MakeSimulator(loaded.family.test[1], {});
  // Device 1 is the first GPU.
  const Placement all_on_gpu{
      std::vector<DeviceIndex>(loaded.family.test[1]->num_groups(), DeviceIndex{1})};
  CHECK(single->final_step_time == static_cast<double>(simulator->Evaluate(all_on_gpu).step_time));
  CHECK(single->best_step_time == single->final_step_time);
  REQUIRE(random);
  CHECK(random->evaluations == 5);
  // The last of the five is not the best of them.
  const SearchResult searched =
      RunSearch(loaded.family.test[1], {}, loaded.plan.test[3].agent, 7, {.evaluations = 5});
  REQUIRE(searched.records.size() == 5);
  const EvaluationRecord& last = searched.records.back();
  REQUIRE(last.step_time > last.best_step_time);
  CHECK(random->best_step_time == static_cast<double>(last.best_step_time));
  CHECK(random->final_step_time == random->best_step_time);
}

TEST_CASE("a policy that ends after its updates hands over its last placement") {
  const Loaded loaded;
  const auto policy = loaded.files.folder / "gnn.policy";
  WriteText(policy, loaded.TrainOn(0, 0).policy.text);
  for (const int method : {0, 1}) {
    const TestPlan& plan = loaded.plan.test[method];
    AgentSpec spec = plan.agent;
    spec.settings = SettingsWithPolicy(plan, policy);
    const SearchResult searched = RunSearch(loaded.family.test[1], {}, spec, 7, plan.budget);
    REQUIRE(searched.status == SearchStatus::kFinished);
    const std::optional<Test> test = RunTest(loaded.family, plan, 1, 7, policy);
    REQUIRE(test);
    CHECK(test->final_step_time == static_cast<double>(searched.records.back().step_time));
    CHECK(test->best_step_time == static_cast<double>(searched.records.back().best_step_time));
    if (searched.records.size() == 1) continue;
    // Cut off by its budget, it has not come to a placement of its own.
    TestPlan cut = plan;
    cut.budget.evaluations = searched.records.size() - 1;
    const std::optional<Test> part = RunTest(loaded.family, cut, 1, 7, policy);
    REQUIRE(part);
    CHECK(part->final_step_time == part->best_step_time);
  }
}

TEST_CASE("what does not fit has no time") {
  Loaded loaded;
  std::string cluster = ClusterYaml("1kB");
  WriteText(loaded.files.folder / "c.yaml", cluster.replace(cluster.find("8GiB"), 4, "1kB"));
  loaded.family = LoadFamily(loaded.plan.families[0]);
  const std::optional<Test> test = RunTest(loaded.family, loaded.plan.test[4], 0, 0, "");
  REQUIRE(test);
  CHECK(std::isnan(test->final_step_time));
  CHECK(std::isnan(test->best_step_time));
}

TEST_CASE("a test that fails names the method and the graph") {
  const Loaded loaded;
  const std::string message = MessageOf<RunError>([&] {
    RunTest(loaded.family, loaded.plan.test[0], 1, 0, loaded.files.folder / "no.policy");
  });
  CAPTURE(message);
  CHECK(message.find("zero_shot.seed0 on graph \"a3\": ") == 0);
  CHECK(message.find("no.policy") != std::string::npos);
}

}  // namespace

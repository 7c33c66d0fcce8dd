#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/search/agent.h"
#include "framework/search/meter.h"
#include "framework/search/outcome_table.h"
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
      outcomes[i].devices[1] = {.busy = outcomes[i].step_time, .peak = 7};
      if (!outcomes[i].feasible) outcomes[i].devices[2] = {.peak = 105, .deficit = 5};
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
};

// As one that measures: it never says the same time twice.
class DriftingEvaluator final : public Evaluator {
 public:
  explicit DriftingEvaluator(std::shared_ptr<const Problem> problem)
      : problem_(std::move(problem)) {}
  const Problem& problem() const override { return *problem_; }
  void Evaluate(std::span<const Placement>,
                std::span<Outcome> outcomes,
                const OutcomeDetail&) override {
    for (Outcome& outcome : outcomes) {
      outcome = {.step_time = ++time_, .devices = std::vector<DeviceOutcome>(3)};
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
  Nanos time_ = 0;
};

std::shared_ptr<const Problem> TwoOps() {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name, 100);
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1, 2, 3}, {}, 10);
  b.Op("b", {4, kMaxNanos, 6}, {0});
  return b.Build();
}

// Two evaluators for two threads.
class PairOfEvaluators final : public Evaluator {
 public:
  explicit PairOfEvaluators(const std::shared_ptr<const Problem>& problem)
      : first_(problem), second_(problem) {}
  const Problem& problem() const override { return first_.problem(); }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    first_.Evaluate(placements, outcomes, detail);
  }
  std::vector<Evaluator*> ConcurrentEvaluators(int count) override {
    return count == 1 ? std::vector<Evaluator*>{&first_}
                      : std::vector<Evaluator*>{&first_, &second_};
  }

 private:
  SumEvaluator first_, second_;
};

// A search that evaluates these, one after another.
std::function<void(Evaluator&)> Evaluating(std::vector<Placement> placements) {
  return [placements](Evaluator& evaluator) {
    for (const Placement& placement : placements) evaluator.Evaluate(placement);
  };
}

TEST_CASE("evaluations of concurrent searches are counted in turns for any number of threads") {
  // Times 3, 0 (does not fit), 2; and 2, 1.
  const std::vector<ConcurrentSearch> searches = {{Evaluating({{{1, 2}}, {{2, 0}}, {{1, 1}}})},
                                                  {Evaluating({{{0, 2}}, {{0, 1}}})}};
  SumEvaluator alone(TwoOps());
  PairOfEvaluators pair(TwoOps());
  for (Evaluator* inner : {static_cast<Evaluator*>(&alone), static_cast<Evaluator*>(&pair)}) {
    MeteredEvaluator meter(*inner, {});
    meter.Evaluate(Placement{{1, 2}});  // 3
    meter.RunConcurrently(searches);
    std::vector<Nanos> times, best;
    for (const EvaluationRecord& record : meter.records()) {
      times.push_back(record.step_time);
      best.push_back(record.best_step_time);
    }
    CHECK(times == std::vector<Nanos>{3, 3, 2, 2, 1, 2});
    CHECK(best == std::vector<Nanos>{3, 3, 2, 2, 1, 1});
    CHECK(std::ranges::is_sorted(meter.records(), {}, &EvaluationRecord::wall_seconds));
    CHECK(meter.best()->index == 4);
    CHECK(meter.best()->placement == Placement{{0, 1}});
    CHECK(meter.best()->outcome.step_time == 1);
    CHECK(meter.remaining() == INT64_MAX - 6);
    meter.Evaluate(Placement{{0, 0}});
    CHECK(meter.best()->index == 6);
  }
}

TEST_CASE("evaluations of concurrent searches beyond the budget are cut off") {
  const std::vector<ConcurrentSearch> searches = {{Evaluating({{{1, 2}}, {{0, 0}}})},
                                                  {Evaluating({{{0, 2}}, {{1, 0}}})}};
  for (int allowed = 0; allowed <= 4; ++allowed) {
    SumEvaluator inner(TwoOps());
    MeteredEvaluator meter(inner, {.evaluations = allowed});
    if (allowed < 4) {
      CHECK_THROWS_AS(meter.RunConcurrently(searches), BudgetExhausted);
    } else {
      meter.RunConcurrently(searches);
    }
    // In turns: 3, 2, 0, 1.
    REQUIRE(meter.records().size() == allowed);
    CHECK(meter.best().has_value() == (allowed > 0));
    if (allowed > 0) CHECK(meter.best()->outcome.step_time == std::vector{0, 3, 2, 0, 0}[allowed]);
  }
}

TEST_CASE("a concurrent search that ends by time or throws keeps the results of the others") {
  PairOfEvaluators inner(TwoOps());
  bool cancel = false;
  MeteredEvaluator meter(inner, {}, [&] { return cancel; });
  const std::vector<ConcurrentSearch> out_of_budget = {
      {[](Evaluator&) { throw BudgetExhausted(); }}, {Evaluating({{{0, 2}}, {{0, 1}}})}};
  CHECK_THROWS_AS(meter.RunConcurrently(out_of_budget), BudgetExhausted);
  CHECK(meter.records().size() == 2);
  const std::vector<ConcurrentSearch> wrong = {{Evaluating({{{0, 2}}})},
                                               {[](Evaluator&) { throw InputError("wrong"); }},
                                               {Evaluating({{{0, 2}}})},
                                               {Evaluating({{{0, 2}}})}};
  CHECK_THROWS_WITH_AS(meter.RunConcurrently(wrong), "wrong", InputError);
  cancel = true;
  CHECK_THROWS_AS(meter.RunConcurrently(out_of_budget), BudgetExhausted);
  CHECK(meter.records().size() == 2);
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

// A chain of 2^14 ops: 64 placements are 2^20 ops.
std::shared_ptr<const Problem> LongChain() {
  ProblemBuilder b;
  b.Device("d0");
  for (int v = 0; v < 1 << 14; ++v) {
    b.Op("op" + std::to_string(v), {1}, v > 0 ? std::vector{v - 1} : std::vector<int>{});
  }
  return b.Build();
}

TEST_CASE("a long batch is cut off within when it is cancelled: a look every 2^20 ops") {
  SumEvaluator inner(LongChain());
  const Placement zeros{std::vector<DeviceIndex>(1 << 14, 0)};
  int asked = 0;
  MeteredEvaluator meter(inner, {}, [&] { return ++asked == 3; });
  CHECK_THROWS_AS(meter.Evaluate(std::vector(150, zeros)), BudgetExhausted);
  CHECK(meter.records().size() == 128);  // asked before 0, 64 and 128
  MeteredEvaluator whole(inner, {}, [] { return false; });
  CHECK(whole.Evaluate(std::vector(150, zeros)).size() == 150);
  CHECK(whole.records().size() == 150);

  asked = 0;
  MeteredEvaluator neighbors(inner, {}, [&] { return ++asked == 2; });
  const std::vector<int> begin(151, 0);
  CHECK_THROWS_AS(neighbors.EvaluateNeighbors({zeros, begin, {}}, {}), BudgetExhausted);
  CHECK(neighbors.records().size() == 64);
}

TEST_CASE("a batch of small problems is one part") {
  SumEvaluator inner(TwoOps());
  int asked = 0;
  MeteredEvaluator meter(inner, {}, [&] { return ++asked == 2; });
  CHECK(meter.Evaluate(std::vector(5000, Placement{{0, 0}})).size() == 5000);
}

// Random neighbours of {0, 0} on three devices: their moves, and the same as placements and rows.
struct SmallBatch {
  explicit SmallBatch(int count) {
    Rng rng(31);
    for (int i = 0; i < count; ++i) {
      Placement placement = base;
      for (int left = UniformInt(rng, 3); left > 0; --left) {
        moves.push_back({UniformInt(rng, 2), static_cast<DeviceIndex>(UniformInt(rng, 3))});
        placement.device[moves.back().group] = moves.back().device;
      }
      begin.push_back(static_cast<int>(moves.size()));
      rows.insert(rows.end(), placement.device.begin(), placement.device.end());
      placements.push_back(placement);
    }
  }

  const Placement base{{2, 2}};
  std::vector<int> begin{0};
  std::vector<Move> moves;
  std::vector<Placement> placements;
  std::vector<DeviceIndex> rows;
};

void CheckSameSearch(const MeteredEvaluator& a, const MeteredEvaluator& b) {
  REQUIRE(a.records().size() == b.records().size());
  for (std::size_t i = 0; i < a.records().size(); ++i) {
    CAPTURE(i);
    CHECK(a.records()[i].step_time == b.records()[i].step_time);
    CHECK(a.records()[i].best_step_time == b.records()[i].best_step_time);
    CHECK(a.records()[i].feasible == b.records()[i].feasible);
    if (i > 0) CHECK(a.records()[i].wall_seconds >= a.records()[i - 1].wall_seconds);
  }
  REQUIRE(a.best().has_value() == b.best().has_value());
  if (!a.best()) return;
  CHECK(a.best()->placement == b.best()->placement);
  CHECK(a.best()->index == b.best()->index);
  CHECK(a.best()->outcome.step_time == b.best()->outcome.step_time);
  CHECK(a.best()->outcome.feasible == b.best()->outcome.feasible);
  REQUIRE(a.best()->outcome.devices.size() == b.best()->outcome.devices.size());
  for (std::size_t d = 0; d < a.best()->outcome.devices.size(); ++d) {
    CHECK(a.best()->outcome.devices[d].busy == b.best()->outcome.devices[d].busy);
    CHECK(a.best()->outcome.devices[d].peak == b.best()->outcome.devices[d].peak);
    CHECK(a.best()->outcome.devices[d].deficit == b.best()->outcome.devices[d].deficit);
  }
}

TEST_CASE("rows and neighbours are metered as placements are, whatever columns are wanted") {
  SumEvaluator inner(TwoOps());
  const int count = 40;
  const SmallBatch batch(count);
  for (const std::int64_t budget : {0, 1, 7, 39, 40, 1000}) {
    CAPTURE(budget);
    for (const int columns : {0, 1, 2, 4, 7}) {
      MeteredEvaluator plain(inner, {.evaluations = budget});
      MeteredEvaluator rows(inner, {.evaluations = budget});
      MeteredEvaluator neighbors(inner, {.evaluations = budget});
      std::vector<Nanos> step_time(columns & 1 ? count : 0);
      std::vector<std::int64_t> deficit(columns & 2 ? count : 0);
      std::vector<std::int64_t> peak(columns & 4 ? 3 * count : 0);
      std::vector<Nanos> busy(columns & 4 ? 3 * count : 0);
      const auto run = [&](const auto& evaluate) {
        if (budget < count) {
          CHECK_THROWS_AS(evaluate(), BudgetExhausted);
        } else {
          evaluate();
        }
      };
      std::vector<Outcome> outcomes(count);
      run([&] { plain.Evaluate(batch.placements, outcomes); });
      run([&] {
        rows.EvaluateRows({batch.rows.data(), count, 2}, {step_time, deficit, peak, busy});
      });
      CheckSameSearch(rows, plain);
      step_time.assign(step_time.size(), -1);
      deficit.assign(deficit.size(), -1);
      run([&] {
        neighbors.EvaluateNeighbors({batch.base, batch.begin, batch.moves},
                                    {step_time, deficit, peak, busy});
      });
      CheckSameSearch(neighbors, plain);
      const auto made = static_cast<std::size_t>(std::min<std::int64_t>(budget, count));
      for (std::size_t i = 0; i < step_time.size(); ++i) {
        CHECK(step_time[i] == (i < made ? outcomes[i].step_time : -1));
      }
      for (std::size_t i = 0; i < deficit.size(); ++i) {
        CHECK(deficit[i] == (i < made ? outcomes[i].deficit() : -1));
      }
    }
  }
}

TEST_CASE("a second batch of neighbours goes on from the best of the first") {
  SumEvaluator inner(TwoOps());
  MeteredEvaluator meter(inner, {});
  const Placement base{{1, 1}};
  const std::vector<int> begin{0, 1, 2};
  const std::vector<Move> first{{0, 2}, {1, 0}}, second{{0, 0}, {0, 0}};
  meter.EvaluateNeighbors({base, begin, first}, {});
  CHECK(meter.best()->placement == Placement{{1, 0}});  // step time 1; the other is infeasible
  CHECK(meter.best()->outcome.devices.size() == 3);
  meter.EvaluateNeighbors({base, begin, second}, {});
  CHECK(meter.best()->index == 1);  // both have 1, too
  CHECK(meter.records().size() == 4);
}

// A step takes as long as the first op of its issue order has an id, and 5 in its own order.
class OrderedEvaluator final : public Evaluator {
 public:
  const Problem& problem() const override { return *problem_; }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail&) override {
    for (size_t i = 0; i < placements.size(); ++i) {
      outcomes[i] = {.step_time = first_, .devices = {{.busy = first_}, {}, {}}};
    }
  }
  bool SetIssueOrder(std::span<const int> order) override {
    first_ = order.empty() ? 5 : order[0];
    return true;
  }

 private:
  std::shared_ptr<const Problem> problem_ = TwoOps();
  int first_ = 5;
};

TEST_CASE("the best is kept with the issue order in which it is so good") {
  OrderedEvaluator inner;
  MeteredEvaluator meter(inner, {});
  const Placement placement{{0, 0}};
  const std::vector<int> begin{0, 1};
  const std::vector<Move> moves{{0, 0}};
  meter.Evaluate(placement);
  CHECK(meter.best()->issue_order.empty());
  CHECK(meter.SetIssueOrder(std::vector<int>{1, 0}));
  meter.Evaluate(placement);
  CHECK(meter.best()->issue_order == std::vector<int>{1, 0});
  CHECK(meter.SetIssueOrder({}));
  meter.Evaluate(placement);
  CHECK(meter.best()->issue_order == std::vector<int>{1, 0});
  CHECK(meter.SetIssueOrder(std::vector<int>{0, 1}));
  meter.EvaluateNeighbors({placement, begin, moves}, {});
  CHECK(meter.best()->issue_order == std::vector<int>{0, 1});
  SumEvaluator without(TwoOps());
  CHECK_FALSE(MeteredEvaluator(without, {}).SetIssueOrder(std::vector<int>{1, 0}));
}

TEST_CASE("the best outcome is completed in its own issue order, and not counted") {
  OrderedEvaluator inner;
  MeteredEvaluator meter(inner, {});
  const Placement placement{{0, 0}};
  CHECK(meter.SetIssueOrder(std::vector<int>{1, 0}));
  CHECK(meter.ScoreAt(placement).step_time == 1);
  CHECK(meter.SetIssueOrder({}));
  CHECK(meter.ScoreAt(placement).step_time == 5);
  REQUIRE(meter.best()->outcome.devices.size() == 3);
  CHECK(meter.best()->outcome.devices[0].busy == 1);
  CHECK(meter.ScoreAt(placement).step_time == 5);
  CHECK(meter.records().size() == 3);
}

TEST_CASE("the best outcome has the step time that the search was told") {
  DriftingEvaluator inner(TwoOps());
  MeteredEvaluator meter(inner, {});
  const Placement base{{1, 1}};
  const std::vector<int> begin{0, 1, 2};
  const std::vector<Move> moves{{0, 2}, {1, 0}};
  std::vector<Nanos> step_time(2);
  meter.EvaluateNeighbors({base, begin, moves}, {.step_time = step_time});
  REQUIRE(step_time == std::vector<Nanos>{1, 2});
  CHECK(meter.best()->index == 0);
  CHECK(meter.best()->outcome.step_time == 1);
  CHECK(meter.best()->outcome.devices.size() == 3);
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

TEST_CASE("scores are in the order of Better()") {
  Rng rng(33);
  const auto draw = [&] {
    Outcome outcome{.step_time = UniformInt(rng, 3), .devices = {{}, {}}};
    for (DeviceOutcome& device : outcome.devices) device.deficit = UniformInt(rng, 2);
    outcome.feasible = outcome.deficit() == 0;
    return outcome;
  };
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<Outcome> outcomes{draw(), draw(), draw()};
    const std::vector<Score> scores{
        ScoreOf(outcomes[0]), ScoreOf(outcomes[1]), ScoreOf(outcomes[2])};
    CHECK((scores[0] < scores[1]) == Better(outcomes[0], outcomes[1]));
    const std::size_t best = IndexOfBest(scores);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      CHECK_FALSE(Better(outcomes[i], outcomes[best]));
      if (i < best) CHECK(Better(outcomes[best], outcomes[i]));
    }
  }
}

TEST_CASE("an outcome is read off a table") {
  ProblemBuilder b;
  b.Device("d0", 100);
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1});
  const auto problem = b.Build();
  OutcomeTable table;
  const OutcomeColumns columns = table.Columns(3, *problem);
  std::ranges::copy(std::vector<Nanos>{9, 5, 5}, columns.step_time.begin());
  std::ranges::copy(std::vector<std::int64_t>{20, 0, 0}, columns.deficit.begin());
  std::ranges::copy(std::vector<std::int64_t>{120, 7, 100, 300, 0, 0}, columns.peak.begin());
  std::ranges::copy(std::vector<Nanos>{1, 2, 3, 4, 5, 6}, columns.busy.begin());
  REQUIRE(table.size() == 3);
  CHECK(table.IndexOfBest() == 1);
  CHECK(table.score(0) == Score{.deficit = 20, .step_time = 9});
  Outcome outcome = {.channels = {{1, 2, 3}}, .start = {4}, .finish = {5}};
  table.Read(0, *problem, outcome);
  CHECK(outcome.step_time == 9);
  CHECK_FALSE(outcome.feasible);
  REQUIRE(outcome.devices.size() == 2);
  CHECK(outcome.devices[0].deficit == 20);  // 120 - 100
  CHECK(outcome.devices[1].deficit == 0);   // without limit
  CHECK(outcome.devices[1].peak == 7);
  CHECK(outcome.devices[1].busy == 2);
  CHECK(outcome.channels.empty());
  CHECK(outcome.start.empty());
  CHECK(outcome.finish.empty());
  table.Read(1, *problem, outcome);
  CHECK(outcome.feasible);
  CHECK(outcome.devices[0].peak == 100);
  CHECK(outcome.devices[1].peak == 300);
  CHECK(outcome.devices[0].busy == 3);

  const OutcomeColumns scores = table.ScoreColumns(2);
  CHECK(scores.peak.empty());
  CHECK(scores.busy.empty());
  std::ranges::copy(std::vector<Nanos>{4, 6}, scores.step_time.begin());
  std::ranges::copy(std::vector<std::int64_t>{3, 0}, scores.deficit.begin());
  REQUIRE(table.size() == 2);
  CHECK(table.IndexOfBest() == 1);
  CHECK(table.score(0) == Score{.deficit = 3, .step_time = 4});
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

// Devices "d0", "d1", ... without a route.
ProblemBuilder Apart(int count, std::int64_t memory = kUnlimitedMemory) {
  ProblemBuilder b;
  for (int d = 0; d < count; ++d) b.Device("d" + std::to_string(d), memory);
  return b;
}

TEST_CASE("problems that cannot be solved are refused with their reason") {
  const auto refusal = [](const ProblemBuilder& b) {
    return MessageOf<InputError>([&] { b.Build(); });
  };
  const Grouping one_group(std::vector<int>{0, 0});

  ProblemBuilder disjoint = Gpus(2);
  disjoint.Op("left", {1, kMaxNanos});
  disjoint.Op("right", {kMaxNanos, 1});
  CHECK(MessageOf<InputError>([&] { disjoint.Build(one_group); }) ==
        "problem: the ops of a group of 2 have no allowed device in common: op \"right\" allows "
        "gpu:1, but the ops before it (first \"left\") leave only gpu:0");

  ProblemBuilder nowhere = Apart(1);
  nowhere.Op("nowhere", {kMaxNanos});
  CHECK(refusal(nowhere) ==
        "problem: op \"nowhere\" (test) is not allowed on any device of cluster \"test_cluster\" "
        "(d0)");

  ProblemBuilder unrouted = Apart(2);
  unrouted.Op("a", {1});
  unrouted.Op("b", {1}, {0});
  CHECK(refusal(unrouted) ==
        "cluster \"test_cluster\": no route from \"d0\" to \"d1\", which op \"a\" -> op \"b\" "
        "may need; add one under routes or restrict the ops' device_kinds or devices");
  CHECK_NOTHROW(unrouted.Build(one_group));  // within a group nothing crosses
  ProblemBuilder bound = Apart(2);
  bound.Op("a", {1, kMaxNanos});
  bound.Op("b", {1, kMaxNanos}, {0});
  CHECK_NOTHROW(bound.Build());

  ProblemBuilder large = Apart(1, 99);
  large.Op("w", {0}, {}, 100);
  large.output(0).role = TensorRole::kParameter;
  CHECK(refusal(large) ==
        "problem: parameter \"w:0\" of op \"w\" (100 B) does not fit on any device: the largest "
        "one on which it is allowed (d0) has 99 B");
  ProblemBuilder sum = Apart(1, 150);
  for (const char* name : {"w", "v"}) {
    sum.output(sum.Op(name, {0}, {}, 100)).role = TensorRole::kParameter;
  }
  CHECK(refusal(sum) ==
        "problem: the parameters, buffers and optimiser state of graph \"test_graph\" (200 B) do "
        "not fit: all devices of cluster \"test_cluster\" together have 150 B");

  ProblemBuilder slow = Apart(1);
  for (const char* name : {"a", "b"}) slow.Op(name, {kMaxNanos - 1});
  CHECK(refusal(slow).find("64-bit integers") != std::string::npos);
}

TEST_CASE("the registry is sorted and answers an unknown name with the choices") {
  AgentRegistry registry;
  for (const char* name : {"zeta", "alpha"}) registry.Add({name, "a sentence", {}, {}, {}});
  CHECK(registry.entries()[0].name == "alpha");
  CHECK(registry.Find("zeta", "x").sentence == "a sentence");
  CHECK(MessageOf<InputError>([&] { registry.Find("alpa", "run.yaml:3:5"); }) ==
        "run.yaml:3:5: unknown agent \"alpa\"; did you mean \"alpha\"? choices: alpha, zeta");
}

TEST_CASE("a loader makes the agents of its prefix, each once, and the last loader counts") {
  AgentRegistry registry;
  registry.Add({"alpha", "a sentence", {}, {}, {}});
  int made = 0;
  const auto loader = [&](const std::string& by) {
    return [&made, by](const std::string& name, const std::string& where) {
      if (name == "other:none") throw InputError(where + ": no such agent");
      ++made;
      return AgentEntry{name, by, {}, {}, {}};
    };
  };
  registry.AddLoader("other:", loader("first"));
  registry.AddLoader("other:", loader("second"));
  const AgentEntry& entry = registry.Find("other:a.B", "x");
  CHECK(entry.name == "other:a.B");
  CHECK(entry.sentence == "second");
  registry.Find("other:c.D", "x");
  CHECK(&registry.Find("other:a.B", "x") == &entry);
  CHECK(made == 2);
  CHECK(registry.entries().size() == 1);
  CHECK(MessageOf<InputError>([&] { registry.Find("other:none", "f.yaml:1:2"); }) ==
        "f.yaml:1:2: no such agent");
  CHECK(MessageOf<InputError>([&] { registry.Find("othe", "x"); }).find("unknown agent") == 3);
}

}  // namespace

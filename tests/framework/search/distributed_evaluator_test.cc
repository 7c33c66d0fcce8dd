#include "framework/search/distributed_evaluator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/interrupt.h"
#include "framework/base/raw_stream.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "tests/support/neighbors.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/thread_ranks.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Runs body on ranks that are within a search.
void OnRanks(int size,
             const std::shared_ptr<const Problem>& problem,
             const std::function<void(DistributedEvaluator&)>& body,
             std::uint64_t least_work = 1) {
  RunThreadRanks(size, [&](Communicator& ranks) {
    ReplicatedSearch replicated(ranks);
    const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
    DistributedEvaluator evaluator(*simulator, replicated, least_work);
    REQUIRE(replicated.Begin(0, true));
    body(evaluator);
    replicated.End("done");
  });
}

struct Columns {
  explicit Columns(std::size_t n, int num_devices)
      : step_time(n), busy(n * num_devices), deficit(n), peak(n * num_devices) {}
  OutcomeColumns all() { return {step_time, deficit, peak, busy}; }
  bool operator==(const Columns&) const = default;

  std::vector<Nanos> step_time, busy;
  std::vector<std::int64_t> deficit, peak;
};

bool Same(const Outcome& a, const Outcome& b) {
  const auto same = [](const DeviceOutcome& x, const DeviceOutcome& y) {
    return x.busy == y.busy && x.peak == y.peak && x.deficit == y.deficit;
  };
  return a.step_time == b.step_time && a.feasible == b.feasible &&
         std::ranges::equal(a.devices, b.devices, same) && a.start == b.start &&
         a.finish == b.finish && a.channels.size() == b.channels.size();
}

// One placement behind the other.
std::vector<DeviceIndex> RowsOf(const std::vector<Placement>& placements) {
  std::vector<DeviceIndex> rows;
  for (const Placement& placement : placements) {
    rows.insert(rows.end(), placement.device.begin(), placement.device.end());
  }
  return rows;
}

TEST_CASE("outcomes are those of the evaluator alone, on every rank, for batches of any size") {
  Rng rng(11);
  for (int round = 0; round < 6; ++round) {
    const auto problem =
        RandomProblem(rng, {.num_ops = 30, .num_devices = 3, .tight_memory = round % 2 == 0});
    const auto alone = MakeSimulator(problem, {.semantics = Semantics::kStream});
    for (const int size : {0, 1, 2, 7, 16, 33, 150}) {
      std::vector<Placement> batch;
      for (int i = 0; i < size; ++i) batch.push_back(RandomPlacement(rng, *problem));
      const std::vector<DeviceIndex> rows = RowsOf(batch);
      const auto groups = static_cast<std::size_t>(problem->num_groups());
      const PlacementRows placements{rows.data(), batch.size(), groups};
      const Placement base = RandomPlacement(rng, *problem);
      const RandomNeighbors moves(rng, *problem, size);
      const OutcomeDetail detail{.channels = round % 3 == 1, .op_times = round % 3 == 2};
      const std::vector<Outcome> outcomes = alone->Evaluate(batch, detail);
      Columns by_row(batch.size(), 3), by_move(batch.size(), 3);
      alone->EvaluateRows(placements, by_row.all());
      alone->EvaluateNeighbors({base, moves.begin, moves.moves}, by_move.all());
      for (const int ranks : {1, 2, 4, 8}) {
        OnRanks(ranks, problem, [&](DistributedEvaluator& evaluator) {
          const std::vector<Outcome> found = evaluator.Evaluate(batch, detail);
          for (int i = 0; i < size; ++i) CHECK(Same(found[i], outcomes[i]));
          Columns own_rows(batch.size(), 3), own_moves(batch.size(), 3);
          evaluator.EvaluateRows(placements, own_rows.all());
          CHECK(own_rows == by_row);
          evaluator.EvaluateNeighbors({base, moves.begin, moves.moves}, own_moves.all());
          CHECK(own_moves == by_move);
          // Only what is wanted.
          std::vector<Nanos> times(batch.size());
          evaluator.EvaluateRows(placements, {.step_time = times});
          CHECK(times == by_row.step_time);
        });
      }
    }
  }
}

TEST_CASE("a placement that is refused is refused on every rank, with the same words") {
  Rng rng(3);
  const auto problem = RandomProblem(rng, {.num_ops = 12, .num_devices = 2});
  std::vector<Placement> batch(40, RandomPlacement(rng, *problem));
  batch[35].device[4] = 9;
  const auto alone = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const std::string words = MessageOf<InputError>([&] { alone->Evaluate(batch); });
  CHECK(words.find("group 4") != std::string::npos);
  for (const int ranks : {1, 2, 4}) {
    OnRanks(ranks, problem, [&](DistributedEvaluator& evaluator) {
      CHECK(MessageOf<InputError>([&] { evaluator.Evaluate(batch); }) == words);
      // The ranks are together again.
      CHECK(evaluator.Evaluate(std::vector<Placement>(batch.begin(), batch.begin() + 30)).size() ==
            30);
    });
  }
}

TEST_CASE("ranks that are asked for different batches: an error that names both") {
  Rng rng(5);
  const auto problem = RandomProblem(rng, {.num_ops = 12, .num_devices = 2});
  const std::vector<Placement> batch(40, RandomPlacement(rng, *problem));
  const auto diverge = [&](const std::function<void(DistributedEvaluator&)>& body) {
    return MessageOf<RunError>([&] { OnRanks(2, problem, body); });
  };
  CHECK(diverge([&](DistributedEvaluator& evaluator) {
          evaluator.Evaluate(std::span(batch).first(20 + evaluator.ranks().rank));
        }).find("ranks diverged at meeting 2: rank 0 evaluates (20, checksum") == 0);
  CHECK(diverge([&](DistributedEvaluator& evaluator) {
          auto own = batch;
          if (evaluator.ranks().rank == 1) own[39].device[0] ^= 1;
          evaluator.Evaluate(own);
        }).find("rank 1 evaluates (40, checksum") != std::string::npos);
  CHECK(diverge([&](DistributedEvaluator& evaluator) {
          if (evaluator.ranks().rank == 0) evaluator.Evaluate(batch);
        }).find("rank 1 ends its search: done") != std::string::npos);
}

TEST_CASE("ranks that evaluate small batches each for itself hear of the end") {
  Rng rng(8);
  const auto problem = RandomProblem(rng, {.num_ops = 64, .num_devices = 2});
  const Placement placement = RandomPlacement(rng, *problem);
  // 2^20 of work are 16,384 placements of 64 ops.
  OnRanks(
      3,
      problem,
      [&](DistributedEvaluator& evaluator) {
        const bool first = evaluator.ranks().rank == 0;
        int made = 0;
        try {
          for (; !first || made < 20'000; ++made) evaluator.Evaluate(placement);
          CHECK(first);
        } catch (const BudgetExhausted&) {
          CHECK_FALSE(first);
          CHECK(made == 2 * 16'384 - 1);  // at the second meeting
        }
      },
      DistributedEvaluator::kLeastWork);
  // Steps that evaluate nothing.
  OnRanks(3, problem, [&](DistributedEvaluator& evaluator) {
    const bool first = evaluator.ranks().rank == 0;
    int steps = 0;
    try {
      for (; !first || steps < 5; ++steps) evaluator.BetweenSteps();
    } catch (const BudgetExhausted&) {
      CHECK(steps == 5);
    }
  });
}

// Searches that each evaluate some placements and keep the sum of their times.
struct SumSearch {
  std::vector<Placement> placements;
  Nanos sum = 0;
  int made_here = 0;

  ConcurrentSearch ConcurrentEvaluators() {
    return {[this](Evaluator& evaluator) {
              ++made_here;
              for (const Placement& p : placements) sum += evaluator.Evaluate(p).step_time;
            },
            [this](std::ostream& out) { WriteRaw(out, sum); },
            [this](std::istream& in) { sum = ReadRaw<Nanos>(in); }};
  }
};

TEST_CASE(
    "concurrent searches run on one rank each, and all ranks have their state and their records") {
  Rng rng(2);
  const auto problem = RandomProblem(rng, {.num_ops = 20, .num_devices = 3});
  std::vector<std::vector<Placement>> placements(5);
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 3 + i; ++k) placements[i].push_back(RandomPlacement(rng, *problem));
  }
  const auto run = [&](Evaluator& evaluator, int allowed) {
    std::vector<SumSearch> searches(5);
    std::vector<ConcurrentSearch> concurrent;
    for (int i = 0; i < 5; ++i) searches[i].placements = placements[i];
    for (SumSearch& search : searches) concurrent.push_back(search.ConcurrentEvaluators());
    MeteredEvaluator meter(evaluator, {.evaluations = allowed});
    bool ended = false;
    try {
      meter.RunConcurrently(concurrent);
    } catch (const BudgetExhausted&) {
      ended = true;
    }
    const EvaluatorRanks ranks = evaluator.ranks();
    std::string told = ended ? "ended" : "";
    for (int i = 0; i < 5; ++i) {
      CHECK(searches[i].made_here == (i % ranks.size == ranks.rank));
      told += " " + std::to_string(searches[i].sum);
    }
    for (const EvaluationRecord& record : meter.records()) {
      told += " " + std::to_string(record.step_time) + "/" + std::to_string(record.best_step_time);
    }
    if (meter.best()) told += " best " + std::to_string(meter.best()->index);
    return told;
  };
  for (const int allowed : {0, 4, 24, 25, 100}) {
    const auto alone = MakeSimulator(problem, {.semantics = Semantics::kStream});
    const std::string expected = run(*alone, allowed);
    CHECK((expected.find("ended") == 0) == (allowed < 25));  // 3 + 4 + 5 + 6 + 7
    for (const int ranks : {1, 2, 4, 8}) {
      OnRanks(ranks, problem, [&](DistributedEvaluator& evaluator) {
        CHECK(run(evaluator, allowed) == expected);
      });
    }
  }
}

TEST_CASE("an exception of a concurrent search is thrown on every rank") {
  Rng rng(2);
  const auto problem = RandomProblem(rng, {.num_ops = 20, .num_devices = 3});
  const auto nothing = [](auto&) {};
  const std::vector<ConcurrentSearch> wrong = {
      {nothing, nothing, nothing},
      {[](Evaluator&) { throw InputError("first"); }, nothing, nothing},
      {[](Evaluator&) { throw RunError("second"); }, nothing, nothing}};
  const std::vector<ConcurrentSearch> stopped = {
      {nothing, nothing, nothing}, {[](Evaluator&) { throw Interrupted(); }, nothing, nothing}};
  for (const int ranks : {1, 2, 3}) {
    OnRanks(ranks, problem, [&](DistributedEvaluator& evaluator) {
      CHECK(MessageOf<InputError>([&] { evaluator.RunConcurrently(wrong); }) == "first");
      CHECK_THROWS_AS(evaluator.RunConcurrently(stopped), Interrupted);
      CHECK(MessageOf<RunError>([&] { evaluator.RunConcurrently(std::span(wrong).subspan(2)); }) ==
            "second");
    });
  }
}

}  // namespace

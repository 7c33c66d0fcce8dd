#include "tests/support/lane_problems.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/period/period.h"
#include "simulator/reference/reference.h"
#include "tests/support/neighbors.h"
#include "tests/support/paths.h"

namespace emplace::testing {

std::shared_ptr<const Problem> RandomLaneProblem(Rng& rng, int round) {
  RandomProblemOptions options{.num_ops = 1 + UniformInt(rng, 60),
                               .num_devices = 1 + UniformInt(rng, 6)};
  const bool plain = round % 3 == 0;
  if (plain) {
    options.slots = options.shared_channels = options.hops = options.broadcast = false;
    options.occupies = false;
    options.setups = round % 2 == 1;
    options.host_costs = round % 8 < 4;
    options.gaps = round % 4 < 2;
    if (round % 2 == 1) {
      options.shared_channels = true;
      options.sharing = 1;
      options.num_devices = round % 12 == 3 ? 5 : 3;
    }
  }
  if (round % 11 == 0) options.num_devices = 9 + UniformInt(rng, 12);
  if (plain && round % 2 == 0) options.num_devices = 4;
  options.forbidden = round % 5 == 4;
  if (round % 8 == 6) {  // some steps and most memories do not fit into 32 bits
    options.num_ops += 40;
    options.ties = false;
    options.longest = 100'000'000;
    options.largest = 500'000'000;
  }
  const auto single = RandomProblem(rng, options);
  return options.forbidden || round % 2 == 0 ? single : InGroups(rng, *single);
}

std::shared_ptr<const Problem> InGroups(Rng& rng, const Problem& single) {
  std::vector<int> label;
  const int groups = 1 + UniformInt(rng, single.num_ops());
  for (int v = 0; v < single.num_ops(); ++v) label.push_back(UniformInt(rng, groups));
  return std::make_shared<Problem>(std::make_shared<Graph>(single.graph()),
                                   Grouping(label),
                                   std::make_shared<Cluster>(single.cluster()),
                                   single.costs(),
                                   Objective::kStepTime,
                                   ProblemChecks::kPlacementOnly);
}

std::vector<Outcome> ReferenceOutcomes(const Problem& problem,
                                       const std::vector<Placement>& placements,
                                       const SimulatorOptions& options) {
  std::vector<Outcome> outcomes;
  for (const Placement& placement : placements) {
    const auto devices = ExpandPlacement(placement, problem.grouping());
    if (problem.objective() == Objective::kPeriod) {
      EvaluatePeriod(problem, devices, {.channels = true}, outcomes.emplace_back());
    } else {
      outcomes.push_back(SimulateReference(problem, devices, options).outcome);
    }
  }
  return outcomes;
}

std::string Difference(const Outcome& outcome, const Outcome& expected) {
  if (outcome.step_time != expected.step_time) {
    return fmt::format("step time {} instead of {}", outcome.step_time, expected.step_time);
  }
  for (size_t d = 0; d < expected.devices.size(); ++d) {
    const auto &a = outcome.devices[d], &b = expected.devices[d];
    if (a.busy != b.busy) return fmt::format("busy of device {}: {} not {}", d, a.busy, b.busy);
    if (a.peak != b.peak) return fmt::format("peak of device {}: {} not {}", d, a.peak, b.peak);
    if (a.deficit != b.deficit) return fmt::format("deficit of device {}", d);
  }
  for (size_t k = 0; k < outcome.channels.size(); ++k) {
    const auto &a = outcome.channels[k], &b = expected.channels[k];
    if (a.busy != b.busy || a.transfers != b.transfers || a.bytes != b.bytes) {
      return fmt::format("channel {}", k);
    }
  }
  if (!outcome.start.empty() && outcome.start != expected.start) return "start times";
  if (!outcome.finish.empty() && outcome.finish != expected.finish) return "finish times";
  return outcome.feasible == expected.feasible ? "" : "feasible";
}

ColumnStorage::ColumnStorage(std::size_t n, int num_devices)
    : step_time(n, -1), busy(n * num_devices, -1), deficit(n, -1), peak(n * num_devices, -1) {
}

OutcomeColumns ColumnStorage::columns() {
  return {.step_time = step_time, .deficit = deficit, .peak = peak, .busy = busy};
}

Outcome ColumnStorage::row(std::size_t i, const Problem& problem) const {
  const int num_devices = problem.num_devices();
  Outcome outcome{.step_time = step_time[i], .feasible = deficit[i] == 0};
  for (int d = 0; d < num_devices; ++d) {
    const std::int64_t bytes = peak[i * num_devices + d];
    const std::int64_t missing =
        std::max<std::int64_t>(0, bytes - problem.cluster().device(d).memory);
    outcome.devices.push_back({busy[i * num_devices + d], bytes, missing});
  }
  return outcome;
}

Compared CheckEvaluator(Evaluator& evaluator, const SimulatorOptions& options, Rng& rng, int most) {
  const Problem& problem = evaluator.problem();
  const auto num_groups = static_cast<size_t>(problem.num_groups());
  Compared compared;
  const auto compare = [&](const Outcome& outcome, const Outcome& expected) {
    REQUIRE(Difference(outcome, expected) == "");
    ++compared.outcomes;
    compared.unfit += !expected.feasible;
  };
  std::vector<Placement> placements;
  std::vector<DeviceIndex> rows;
  for (int i = UniformInt(rng, most); i >= 0; --i) {
    placements.push_back(RandomPlacement(rng, problem));
    const auto& device = placements.back().device;
    rows.insert(rows.end(), device.begin(), device.end());
  }
  std::vector<Outcome> expected = ReferenceOutcomes(problem, placements, options);
  const std::vector<Outcome> outcomes = evaluator.Evaluate(placements);
  ColumnStorage storage(placements.size(), problem.num_devices());
  evaluator.EvaluateRows({rows.data(), placements.size(), num_groups}, storage.columns());
  for (size_t i = 0; i < placements.size(); ++i) {
    CAPTURE(i);
    compare(outcomes[i], expected[i]);
    compare(storage.row(i, problem), expected[i]);
    if (i >= 3) continue;
    Outcome outcome = evaluator.Evaluate(placements[i], {.channels = true, .op_times = true});
    REQUIRE(outcome.channels.size() == expected[i].channels.size());
    REQUIRE(outcome.start.size() == expected[i].start.size());
    compare(outcome, expected[i]);
    evaluator.Evaluate(std::span(&placements[i], 1), std::span(&outcome, 1), {});
    REQUIRE(outcome.channels.empty());
    REQUIRE((outcome.start.empty() && outcome.finish.empty()));
    compare(outcome, expected[i]);
  }
  Placement base = placements[0];
  for (int step = 0; step < 4; ++step) {
    CAPTURE(step);
    const RandomNeighbors neighbors(rng, problem, 1 + UniformInt(rng, most));
    const Neighbors asked{base, neighbors.begin, neighbors.moves};
    placements = neighbors.Placements(base);
    expected = ReferenceOutcomes(problem, placements, options);
    ColumnStorage all(placements.size(), problem.num_devices()), some = all;
    evaluator.EvaluateNeighbors(asked, all.columns());
    evaluator.EvaluateNeighbors(asked, {.step_time = some.step_time, .deficit = some.deficit});
    for (size_t i = 0; i < placements.size(); ++i) {
      CAPTURE(i);
      compare(all.row(i, problem), expected[i]);
      REQUIRE(some.step_time[i] == expected[i].step_time);
      REQUIRE(some.deficit[i] == expected[i].deficit());
    }
    REQUIRE(std::ranges::count(some.busy, -1) == std::ssize(some.busy));
    // In between, the evaluator does something else.
    evaluator.EvaluateRows({placements[0].device.data(), 1, num_groups},
                           {.deficit = {some.deficit.data(), 1}});
    REQUIRE(some.deficit[0] == expected[0].deficit());
    // The next base: a neighbour, another one, or the same.
    if (step == 0) base = placements[UniformInt(rng, neighbors.size())];
    if (step == 1) base = RandomPlacement(rng, problem);
  }
  return compared;
}

void CheckRefusals(
    const std::function<std::unique_ptr<Evaluator>(std::shared_ptr<const Problem>)>& make,
    Objective objective) {
  ProblemBuilder b = Gpus(2);
  b.Op("a", {1, kMaxNanos});
  b.Op("b", {1, 1}, {0}, 10);
  const auto evaluator = make(WithObjective(*b.Build(), objective));
  const auto place = [&](std::vector<DeviceIndex> device) {
    const Placement placement{std::move(device)};
    const PlacementRows rows{placement.device.data(), 1, placement.device.size()};
    const auto message = MessageOf<InputError>([&] { evaluator->Evaluate(placement); });
    CHECK(message == MessageOf<InputError>([&] { evaluator->EvaluateRows(rows, {}); }));
    return message;
  };
  const auto move = [&](std::vector<DeviceIndex> device, Move to) {
    const Placement base{std::move(device)};
    const std::vector<int> begin{0, 1};
    const std::vector<Move> moves{to};
    return MessageOf<InputError>([&] { evaluator->EvaluateNeighbors({base, begin, moves}, {}); });
  };
  const std::string size = "placement: has 1 groups, but the problem has 2";
  const std::string forbidden =
      "placement: group 0 (op \"a\", test) may not run on device \"gpu:1\"";
  const std::string unknown =
      "placement: group 1 (op \"b\", test) may not run on device 7: there are 2";
  CHECK(place({0, 1}) == "(nothing was thrown)");
  CHECK(place({0}) == size);
  CHECK(place({1, 0}) == forbidden);
  CHECK(place({0, 7}) == unknown);
  CHECK(move({0, 0}, {1, 1}) == "(nothing was thrown)");
  CHECK(move({0}, {0, 0}) == size);
  CHECK(move({0, 0}, {0, 1}) == forbidden);
  CHECK(move({0, 0}, {1, 7}) == unknown);
  CHECK(move({0, 0}, {2, 0}) == "move: group 2 does not exist; the problem has 2 groups");
}

}  // namespace emplace::testing

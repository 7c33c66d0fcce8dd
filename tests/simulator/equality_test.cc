// The engine of every semantics against its plain implementation, to the nanosecond and the byte.

#include <fmt/format.h>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Compares all that both say; the message names the first difference.
std::string Difference(const Outcome& fast, const Outcome& reference) {
  if (fast.step_time != reference.step_time) {
    return fmt::format("step time {} instead of {}", fast.step_time, reference.step_time);
  }
  if (fast.feasible != reference.feasible) return "feasible";
  for (size_t d = 0; d < reference.devices.size(); ++d) {
    const auto &a = fast.devices[d], &b = reference.devices[d];
    if (a.busy != b.busy) return fmt::format("busy of device {}", d);
    if (a.peak != b.peak) return fmt::format("peak of device {}: {} not {}", d, a.peak, b.peak);
    if (a.deficit != b.deficit) return fmt::format("deficit of device {}", d);
  }
  for (size_t k = 0; k < reference.channels.size(); ++k) {
    const auto &a = fast.channels[k], &b = reference.channels[k];
    if (a.busy != b.busy || a.transfers != b.transfers || a.bytes != b.bytes) {
      return fmt::format("channel {}", k);
    }
  }
  if (fast.start != reference.start) return "start times";
  if (fast.finish != reference.finish) return "finish times";
  return "";
}

// @param orders  in any issue order
void CompareOnRandomProblems(SimulatorOptions simulator_options,
                             RandomProblemOptions options,
                             bool orders = false) {
  Rng rng(1 + static_cast<int>(simulator_options.semantics));
  for (int round = 0; round < 150 * EMPLACE_TEST_SCALE; ++round) {
    options.num_ops = 1 + UniformInt(rng, 40);
    options.num_devices = 1 + UniformInt(rng, 5);
    const auto problem = RandomProblem(rng, options);
    if (orders) simulator_options.issue_order = RandomIssueOrder(rng, problem->graph());
    const auto simulator = MakeSimulator(problem, simulator_options);
    for (int i = 0; i < 4; ++i) {
      const Placement placement = RandomPlacement(rng, *problem);
      const Outcome fast = simulator->Evaluate(placement, {.channels = true, .op_times = true});
      const Timeline reference = SimulateReference(
          *problem, ExpandPlacement(placement, problem->grouping()), simulator_options);
      const std::string difference = Difference(fast, reference.outcome);
      CAPTURE(round);
      REQUIRE_MESSAGE(difference.empty(), difference);
    }
  }
}

TEST_CASE("the fast engines equal the reference on random problems full of ties") {
  for (const Semantics semantics : AllSemantics()) {
    for (bool count_gaps : {false, true}) {
      CAPTURE(ToString(semantics));
      for (bool contention : {true, false}) {
        CompareOnRandomProblems(
            {.semantics = semantics, .count_gaps = count_gaps, .channel_contention = contention},
            {.forbidden = true});
      }
    }
  }
}

TEST_CASE("the fast engines equal the reference on random problems without ties") {
  for (const Semantics semantics : AllSemantics()) {
    CAPTURE(ToString(semantics));
    CompareOnRandomProblems({semantics}, {.ties = false});
  }
}

TEST_CASE("the fast engines equal the reference where reads may be cold") {
  for (const Semantics semantics : AllSemantics()) {
    CAPTURE(ToString(semantics));
    CompareOnRandomProblems({semantics}, {.cold_reads = true});
    CompareOnRandomProblems({semantics}, {.ties = false, .cold_reads = true});
  }
}

TEST_CASE("the fast engines equal the reference where devices interfere") {
  for (const Semantics semantics : AllSemantics()) {
    CAPTURE(ToString(semantics));
    for (const bool contention : {true, false}) {
      const SimulatorOptions options{.semantics = semantics, .channel_contention = contention};
      CompareOnRandomProblems(options, {.interference = true});
      CompareOnRandomProblems(options, {.ties = false, .cold_reads = true, .interference = true});
    }
  }
}

TEST_CASE("the fast engines equal the reference in any issue order") {
  int compared = 0;
  for (const Semantics semantics : AllSemantics()) {
    if (!EntryOf(semantics).has_issue_order) continue;
    CAPTURE(ToString(semantics));
    CompareOnRandomProblems({semantics}, {.forbidden = true}, true);
    ++compared;
  }
  CHECK(compared > 0);
}

TEST_CASE("an issue order set later is as one that the simulator was made with") {
  Rng rng(41);
  for (int round = 0; round < 40 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.num_ops = 1 + UniformInt(rng, 30)});
    std::vector<Placement> placements;
    for (int i = 0; i < 20; ++i) placements.push_back(RandomPlacement(rng, *problem));
    for (const Semantics semantics : AllSemantics()) {
      const SimulatorOptions own{.semantics = semantics,
                                 .issue_order = EntryOf(semantics).has_issue_order
                                                    ? RandomIssueOrder(rng, problem->graph())
                                                    : std::vector<int>{},
                                 .order_may_change = true};
      const auto simulator = MakeSimulator(problem, own);
      for (std::vector<int> order : {RandomIssueOrder(rng, problem->graph()), std::vector<int>{}}) {
        REQUIRE(simulator->SetIssueOrder(order) == EntryOf(semantics).has_issue_order);
        SimulatorOptions options = own;
        if (EntryOf(semantics).has_issue_order && !order.empty()) options.issue_order = order;
        const auto expected = MakeSimulator(problem, options)->Evaluate(placements);
        const auto outcomes = simulator->Evaluate(placements);
        for (size_t i = 0; i < placements.size(); ++i) {
          const std::string difference = Difference(outcomes[i], expected[i]);
          REQUIRE_MESSAGE(difference.empty(), difference);
        }
      }
    }
  }
}

TEST_CASE("batch = one by one, any number of threads, any order of the batch") {
  Rng rng(3);
  const auto problem = RandomProblem(rng, {.num_ops = 60, .num_devices = 4});
  std::vector<Placement> placements;
  for (int i = 0; i < 50; ++i) placements.push_back(RandomPlacement(rng, *problem));
  for (const Semantics semantics : AllSemantics()) {
    const auto single = MakeSimulator(problem, {semantics});
    const auto threaded = MakeSimulator(problem, {.semantics = semantics, .threads = 3});
    const auto batch = threaded->Evaluate(placements);
    std::vector<Placement> reversed(placements.rbegin(), placements.rend());
    const auto backward = threaded->Evaluate(reversed);
    for (size_t i = 0; i < placements.size(); ++i) {
      const Outcome alone = single->Evaluate(placements[i]);
      REQUIRE(Difference(batch[i], alone) == "");
      REQUIRE(Difference(backward[placements.size() - 1 - i], alone) == "");
    }
  }
}

TEST_CASE("peaks can be left out") {
  Rng rng(4);
  const auto problem = RandomProblem(rng, {});
  const Placement placement = RandomPlacement(rng, *problem);
  for (const Semantics semantics : AllSemantics()) {
    const auto with = MakeSimulator(problem, {semantics});
    const auto without = MakeSimulator(problem, {.semantics = semantics, .memory = false});
    CHECK(with->Evaluate(placement).step_time == without->Evaluate(placement).step_time);
    CHECK(without->Evaluate(placement).feasible);
  }
}

}  // namespace

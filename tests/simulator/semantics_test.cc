// The table of semantics, and what every semantics in it must do. Equality of each engine with its
// plain implementation: equality_test.cc.

#include "simulator/semantics.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <string>

#include "framework/base/error.h"
#include "tests/simulator/simulate.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("every semantics has a name of its own, a meaning, and all that the simulator asks for") {
  std::set<std::string_view> names;
  for (const Semantics semantics : AllSemantics()) {
    const SemanticsEntry& entry = EntryOf(semantics);
    CAPTURE(entry.name);
    CHECK(ToString(semantics) == entry.name);
    CHECK(ParseSemantics(entry.name, "test") == semantics);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.name.empty());
    CHECK(std::ranges::all_of(entry.name, [](unsigned char c) { return std::islower(c) != 0; }));
    CHECK_FALSE(entry.meaning.empty());
    CHECK(entry.most_hops >= 1);
    const bool is_complete = entry.op_order && entry.make_engine && entry.simulate_reference &&
                             entry.add_reference_memory;
    CHECK(is_complete);
  }
  CHECK(names.contains("queue"));
  CHECK(names.contains("stream"));
}

TEST_CASE("an unknown name is answered with all names") {
  std::string choices;
  for (const Semantics semantics : AllSemantics()) {
    choices += (choices.empty() ? "" : ", ") + std::string(ToString(semantics));
  }
  CHECK_THROWS_WITH_AS(
      ParseSemantics("queu", "run.yaml:3:12"),
      ("run.yaml:3:12: unknown semantics \"queu\"; did you mean \"queue\"? choices: " + choices)
          .c_str(),
      InputError);
}

TEST_CASE("help texts list all names, the last behind an \"or\"") {
  std::string names, help;
  const auto all = AllSemantics();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string before = i == 0 ? "" : i + 1 == all.size() ? " or " : ", ";
    const SemanticsEntry& entry = EntryOf(all[i]);
    names += before + std::string(entry.name);
    help += before + std::string(entry.name) + " (" + std::string(entry.meaning) + ")";
  }
  CHECK(SemanticsNames() == names);
  CHECK(SemanticsHelp() == help);
}

TEST_CASE("the page defines every semantics of the table, and no other") {
  const auto rows = TableOf(SectionOf(ReadPage("simulator/README.md"), "Simulation"));
  std::vector<std::string> defined, listed;
  for (const auto& row : rows) defined.push_back(CodeSpans(row.at("name")).at(0));
  for (const Semantics semantics : AllSemantics()) listed.emplace_back(ToString(semantics));
  CHECK(defined == listed);
}

TEST_CASE("an engine's order holds every op once") {
  Rng rng(21);
  const auto problem = RandomProblem(rng, {.num_ops = 40});
  std::vector<int> ids(problem->num_ops());
  std::iota(ids.begin(), ids.end(), 0);
  for (const Semantics semantics : AllSemantics()) {
    CAPTURE(ToString(semantics));
    CHECK(std::ranges::is_permutation(EntryOf(semantics).op_order(problem->graph()), ids));
  }
}

TEST_CASE("an issue order is one of the graph, and only for semantics that have one") {
  ProblemBuilder b = Devices(1);
  b.Op("a", {1});
  b.Op("b", {2}, {0});
  b.Op("c", {4}, {0});
  const auto problem = b.Build();
  const auto error_of = [&](Semantics semantics, std::vector<int> order) {
    const SimulatorOptions options{.semantics = semantics, .issue_order = std::move(order)};
    const std::string error = MessageOf<InputError>([&] { MakeSimulator(problem, options); });
    CHECK(error == MessageOf<InputError>([&] {
            SimulateReference(*problem, std::vector<DeviceIndex>{0, 0, 0}, options);
          }));
    return error;
  };
  CHECK(error_of(Semantics::kQueue, {0, 2, 1}) ==
        "issue order: queue semantics has none; expected stream or interference semantics");
  CHECK(error_of(Semantics::kStream, {0, 1}) ==
        "issue order: has 2 ops, expected each of the 3 ops of graph \"test_graph\" once");
  CHECK(error_of(Semantics::kStream, {0, 3, 1}) ==
        "issue order: position 1 is op 3, expected 0 to 2");
  CHECK(error_of(Semantics::kStream, {0, 2, 2}) ==
        "issue order: op \"c\" is listed twice, again at position 2");
  CHECK(error_of(Semantics::kStream, {1, 0, 2}) ==
        "issue order: op \"b\" at position 0 depends on op \"a\", which comes after it");
  for (const Semantics semantics : AllSemantics()) {
    if (!EntryOf(semantics).has_issue_order) continue;
    // a 0-1, c 1-5, b 5-7.
    const Timeline t =
        Simulate(problem, {0, 0, 0}, {.semantics = semantics, .issue_order = {0, 2, 1}});
    CHECK(t.outcome.start == std::vector<Nanos>{0, 5, 1});
  }
}

// Two ops on two devices; a's 8 bytes cross `hops` channels to b, with 1 ns of latency each.
std::shared_ptr<const Problem> ChainOfHops(int hops) {
  ProblemBuilder b;
  b.Device("left");
  b.Device("right");
  std::vector<int> channels;
  for (int hop = 0; hop < hops; ++hop) {
    channels.push_back(b.Channel("k" + std::to_string(hop), 1, kGigabytePerSecond));
  }
  b.Route(0, 1, channels);
  b.Op("a", {5}, {}, 8);
  b.Op("b", {1}, {0});
  return b.Build(Grouping::Identity(2), ProblemChecks::kPlacementOnly);
}

TEST_CASE("a route may have as many hops as the semantics allows; a longer one is refused") {
  for (const SimulatorOptions& options : EverySemantics()) {
    const SemanticsEntry& entry = EntryOf(options.semantics);
    CAPTURE(entry.name);
    const bool limited = entry.most_hops < 1000;
    const int hops = limited ? entry.most_hops : 100;
    // a 0-5, then 1 + 8 ns per hop.
    const Timeline longest = Simulate(ChainOfHops(hops), {0, 1}, options);
    CHECK(longest.outcome.start == std::vector<Nanos>{0, 5 + 9 * hops});
    if (!limited) continue;
    const std::string message =
        "cluster \"test_cluster\": the route from \"left\" to \"right\" has " +
        std::to_string(hops + 1) + " hops; " + std::string(entry.name) +
        " semantics allows at most " + std::to_string(hops);
    const auto longer = ChainOfHops(hops + 1);
    CHECK_THROWS_WITH_AS(MakeSimulator(longer, options), message.c_str(), InputError);
    // The period knows no events. Device "left" has the op and the transfer out.
    const auto pipelined =
        std::make_shared<const Problem>(std::make_shared<const Graph>(longer->graph()),
                                        longer->grouping(),
                                        std::make_shared<const Cluster>(longer->cluster()),
                                        longer->costs(),
                                        Objective::kPeriod,
                                        ProblemChecks::kPlacementOnly);
    CHECK(MakeSimulator(pipelined, options)->Evaluate(Placement{{0, 1}}).step_time ==
          5 + 9 * (hops + 1));
  }
  CHECK(EntryOf(Semantics::kQueue).most_hops == 63);
}

}  // namespace

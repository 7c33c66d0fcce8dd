#include "profilers/measure/interference_phase.h"

#include <doctest/doctest.h>

#include "profilers/measure/calibrated_cluster.h"
#include "tests/profilers/measure/virtual_machine.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

bool IsLoad(const LoneOp& op) {
  return op.input_bytes == std::vector<std::int64_t>{64 << 20};
}
bool IsTransfer(const LoneOp& op) {
  return op.input_bytes == std::vector<std::int64_t>{1 << 20};
}

// CPU devices slow one another down; the load takes 1.8 times as long beside the load. Ops have
// sensitivity 0.5 and pressure 0.25, transfers 0.75 and 0.5: against the load 0.8 and 1.
VirtualMachine SharingMachine() {
  VirtualMachine machine = MakeVirtualMachine(1);
  machine.times.slowdown = [](const LoneOp& timed, const LoneOp& beside) {
    if (timed.device > 1 || beside.device > 1) return 1.0;
    const double sensitivity = IsLoad(timed) ? 0.8 : IsTransfer(timed) ? 0.75 : 0.5;
    const double pressure = IsLoad(beside) ? 1 : IsTransfer(beside) ? 0.5 : 0.25;
    return 1 + sensitivity * pressure;
  };
  return machine;
}

CostTable ProfileOf(const VirtualMachine& machine, ProfileOptions options = {}) {
  Rng rng(3);
  const std::shared_ptr<const Graph> graph = RandomMatrixGraph(rng, 20, "g");
  options.links = options.dispatch = false;
  options.max_link_bytes = 1 << 22;
  options.in_situ_placements = 0;
  return ProfileMachine(machine.Make(), std::span(&graph, 1), options);
}

TEST_CASE("figures of ops and classes, and who are neighbours") {
  const VirtualMachine machine = SharingMachine();
  const CostTable table = ProfileOf(machine);
  CHECK(AreNeighbors(table, "cpu:0", "cpu:1"));
  CHECK_FALSE(AreNeighbors(table, "cpu:0", "gpu:0"));
  int ops = 0;
  for (const OpMeasurement& op : table.Find("cpu")->ops) {
    REQUIRE(op.interference);
    // A virtual time is in whole ns, and short: 0.5 and 0.25 within the rounding.
    CHECK(InterferenceNumber(op.interference->sensitivity) == doctest::Approx(0.5).epsilon(0.02));
    CHECK(InterferenceNumber(op.interference->pressure) == doctest::Approx(0.25).epsilon(0.02));
    ++ops;
  }
  CHECK(ops > 3);
  const auto& classes = table.Find("cpu")->kind.interference;
  CHECK(InterferenceNumber(classes.at("matmul").sensitivity) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(InterferenceNumber(classes.at("transfer").sensitivity) ==
        doctest::Approx(0.75).epsilon(0.01));
  CHECK(InterferenceNumber(classes.at("transfer").pressure) == doctest::Approx(0.5).epsilon(0.01));
  for (const OpMeasurement& op : table.Find("gpu")->ops) CHECK_FALSE(op.interference);
  CHECK(table.Find("gpu")->kind.interference.empty());

  const Cluster cluster = CalibratedCluster(table, *machine.Make(), "c");
  CHECK(cluster.device(0).neighbors == 2);
  CHECK(cluster.device(1).neighbors == 1);
  CHECK(cluster.device(2).neighbors == 0);
  CHECK(cluster.kind_of(0).interference == classes);
}

TEST_CASE("classes beside classes: measured, with an interval, and as modelled") {
  const CostTable table = ProfileOf(SharingMachine());
  int pairs = 0;
  for (const Slowdown& slowdown : table.interference) {
    if (slowdown.victim.ends_with(" load")) continue;
    CAPTURE(slowdown.victim);
    CHECK(slowdown.victim.starts_with("cpu:0 "));
    CHECK(slowdown.aggressor.starts_with("cpu:1 "));
    CHECK(slowdown.factor == doctest::Approx(1 + 0.5 * 0.25).epsilon(0.01));
    CHECK(slowdown.modelled == doctest::Approx(1 + 0.5 * 0.25).epsilon(0.01));
    CHECK(slowdown.low <= slowdown.factor);
    CHECK(slowdown.high >= slowdown.factor);
    ++pairs;
  }
  CHECK(pairs >= 4);
}

TEST_CASE("devices that share nothing, or hardly anything, are no neighbours") {
  VirtualMachine machine = MakeVirtualMachine(1);
  CHECK(ProfileOf(machine).interference.empty());
  machine.times.slowdown = [](const LoneOp&, const LoneOp&) { return 1.02; };
  const CostTable table = ProfileOf(machine);
  CHECK_FALSE(table.interference.empty());
  CHECK_FALSE(AreNeighbors(table, "cpu:0", "cpu:1"));
  CHECK_FALSE(CalibratedCluster(table, *machine.Make(), "c").has_neighbors());
}

TEST_CASE("it can be left out, and what is known is not measured again") {
  VirtualMachine machine = SharingMachine();
  CHECK(ProfileOf(machine, {.interference = false}).interference.empty());
  const CostTable first = ProfileOf(machine);
  machine.times.slowdown = [](const LoneOp&, const LoneOp&) { return 5.0; };
  Rng rng(3);
  const std::shared_ptr<const Graph> graph = RandomMatrixGraph(rng, 20, "g");
  ProfileOptions options{.links = false, .max_link_bytes = 1 << 22, .dispatch = false};
  options.in_situ_placements = 0;
  const CostTable again = ProfileMachine(machine.Make(), std::span(&graph, 1), options, first);
  CHECK(again.interference.size() == first.interference.size());
  CHECK(again.Find("cpu")->ops[0].interference == first.Find("cpu")->ops[0].interference);
  CHECK(again.Find("cpu")->kind.interference == first.Find("cpu")->kind.interference);
}

TEST_CASE("a kernel that fails beside another leaves that op without figures") {
  VirtualMachine machine = SharingMachine();
  machine.times.slowdown = [known = machine.times.slowdown](const LoneOp& timed,
                                                            const LoneOp& beside) {
    if (!IsLoad(timed) && !IsTransfer(timed)) throw RunError("no more memory");
    return known(timed, beside);
  };
  const CostTable table = ProfileOf(machine);
  CHECK(AreNeighbors(table, "cpu:0", "cpu:1"));
  for (const OpMeasurement& op : table.Find("cpu")->ops) CHECK_FALSE(op.interference);
  const bool is_told = std::ranges::any_of(table.warnings, [](const std::string& warning) {
    return warning.find("interference of ") != std::string::npos &&
           warning.find("no more memory") != std::string::npos;
  });
  CHECK(is_told);
}

}  // namespace

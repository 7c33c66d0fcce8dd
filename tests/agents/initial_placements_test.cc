#include "agents/initial_placements/initial_placements.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/file.h"
#include "framework/config/setting_error.h"
#include "framework/placement/placement.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("every name works on every cluster but a missing class") {
  Rng rng(2);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  for (const std::string& name : StartNames()) {
    for (const Placement& placement : MakeStarts(*problem, {name}, rng)) {
      for (int g = 0; g < problem->num_groups(); ++g) {
        CHECK(problem->allowed(g, placement.device[g]));
      }
    }
  }
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  builder.Op("a", {1});
  const auto cpu = builder.Build();
  for (const std::string& name : StartNames()) {
    if (name != "single_gpu") CHECK(MakeStarts(*cpu, {name}, rng).front().device[0] == 0);
  }
  ProblemBuilder net;  // the cheapest device is no processor
  for (const auto device_class : {DeviceClass::kNetwork, DeviceClass::kCpu, DeviceClass::kGpu}) {
    net.kind(net.Device(fmt::format("d{}", static_cast<int>(device_class)))).device_class =
        device_class;
  }
  net.AllToAll(1, kGigabytePerSecond);
  net.Op("a", {kMaxNanos, 90, 9});
  net.Op("sum", {1, kMaxNanos, kMaxNanos}, {0}, 4);
  const auto networked = net.Build();
  for (const std::string& name : StartNames()) {
    const auto starts = MakeStarts(*networked, {name}, rng);
    for (const Placement& placement : starts) CHECK(placement.device[1] == 0);
    const bool draws = name == "random" || name == "none";
    if (!draws) CHECK(starts.front().device[0] == (name == "single_cpu" ? 1 : 2));
  }
  const auto refusal = [&](const std::vector<std::string>& names) {
    return MessageOf<SettingError>([&] { ValidateStarts(*cpu, "start", names); });
  };
  CHECK(refusal({"heft", "single_cpu"}) == "(nothing was thrown)");
  CHECK(refusal({"heft", "single_gpu"}).starts_with("start: "));
  CHECK(refusal({"hefd"}).starts_with("start: unknown start \"hefd\""));
  CHECK(refusal({"none"}) == "(nothing was thrown)");
  CHECK(refusal({"heft", "none"}) == "start: expected \"none\" alone, got others with it");
  CHECK(refusal({}).starts_with("start: expected at least one of \"contiguous\", \"cpop\""));
}

TEST_CASE("a start may be a placement file") {
  Rng rng(4);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  const TempDir folder;
  const std::string file = (folder / "start.json").string();
  const Placement given = MakeStarts(*problem, {"random"}, rng).front();
  std::vector<DeviceIndex> device_of_op = ExpandPlacement(given, problem->grouping());
  const auto write = [&] {
    WriteFileAtomically(file, FormatPlacement(device_of_op, problem->graph(), problem->cluster()));
  };
  const auto refusal = [&] {
    return MessageOf<SettingError>([&] { ValidateStarts(*problem, "start", {"heft", file}); });
  };
  CHECK(refusal().starts_with("start: " + file));  // there is no such file
  write();
  CHECK(refusal() == "(nothing was thrown)");
  CHECK(MakeStarts(*problem, {file}, rng) == std::vector{given});

  ProblemBuilder builder;  // 4 + 2 ns of the group are on d0, 5 ns on d1
  builder.Device("d0");
  builder.Device("d1");
  for (const auto& [name, cost] : {std::pair("a", 4), std::pair("b", 5), std::pair("c", 2)}) {
    builder.Op(name, {cost, cost});
  }
  const auto group = builder.Build(Grouping(std::vector<int>{0, 0, 0}));
  const std::string split = (folder / "split.json").string();
  WriteFileAtomically(split,
                      R"({"format": "emplace-placement", "version": 1,
                          "devices": {"a": "d0", "b": "d1", "c": "d0"}})");
  CHECK(MakeStarts(*group, {split}, rng) == std::vector{Placement{{0}}});

  for (int g = 0; g < problem->num_groups(); ++g) {
    for (int d = 0; d < problem->num_devices(); ++d) {
      if (problem->allowed(g, d)) continue;
      for (const int op : problem->grouping().members(g)) device_of_op[op] = d;
    }
  }
  write();
  CHECK(refusal().find("\" may not run on \"") != std::string::npos);
}

TEST_CASE("the best of the heuristics is the best that any of them makes") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  const auto simulator = MakeSimulator(problem, {});
  Evaluator& evaluator = *simulator;
  const auto time = [&](const std::string& name) {
    return BestStart(*problem, {name}, evaluator, rng)->score.step_time;
  };
  Nanos best = kMaxNanos;
  for (const char* name : {"contiguous", "cpop", "etf", "heft", "pipeline_stages", "single"}) {
    best = std::min(best, time(name));
  }
  CHECK(time("heuristics") == best);
  CHECK(MakeStarts(*problem, {"single", "heuristics"}, rng).size() == 7);
  CHECK(!BestStart(*problem, {"none"}, evaluator, rng).has_value());
}

}  // namespace

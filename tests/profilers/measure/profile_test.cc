#include "profilers/measure/profile.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/cost/op_signature.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/calibrate.h"
#include "simulator/simulator.h"
#include "tests/profilers/measure/virtual_machine.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Graphs = std::vector<std::shared_ptr<const Graph>>;

ProfileOptions SmallOptions() {
  ProfileOptions options;
  options.max_link_bytes = 1 << 16;
  options.in_situ_placements = 8;
  options.in_situ_rounds = 3;
  options.settle_seconds = 0;
  return options;
}

Graphs OneGraph(std::uint64_t seed, int num_ops = 60) {
  Rng rng(seed);
  return {RandomMatrixGraph(rng, num_ops, "matrices")};
}

// The signatures with work of a graph.
std::set<std::string> Signatures(const Graph& graph) {
  std::set<std::string> signatures;
  for (int op = 0; op < graph.num_ops(); ++op) {
    if (!WorkOf(graph, op).calls.empty()) signatures.insert(OpSignature(graph, op));
  }
  return signatures;
}

bool HasWarning(const CostTable& table, const std::string& part) {
  return std::any_of(table.warnings.begin(), table.warnings.end(), [&](const std::string& w) {
    return w.find(part) != std::string::npos;
  });
}

TEST_CASE("profile, calibrate, simulate: the step times of other placements to the nanosecond") {
  Rng rng(11);
  for (int round = 0; round < 6; ++round) {
    const int num_gpus = round % 3;
    const VirtualMachine machine = MakeVirtualMachine(num_gpus);
    const auto backend = machine.Make();
    const Graphs graphs{RandomMatrixGraph(rng, 40 + UniformInt(rng, 80), "matrices")};
    const Graph& graph = *graphs[0];
    const CostTable table = ProfileMachine(backend, graphs, SmallOptions());
    CHECK(table.complete);
    CHECK(table.warnings == std::vector<std::string>{});

    const auto problem = Calibrate(table, backend, DispatchMode::kGraph, "virtual")
                             .MakeProblem(graphs[0], Semantics::kStream);
    for (int op = 0; op < graph.num_ops(); ++op) {
      for (int d = 0; d < problem->num_devices(); ++d) {
        REQUIRE(problem->costs().at(op, d) == InventedTime(WorkOf(graph, op), d < 2));
      }
    }
    for (int k = 0; k < problem->cluster().num_channels(); ++k) {
      const Channel& channel = problem->cluster().channel(k);
      const bool from_cpu = channel.name.starts_with("cpu");
      CAPTURE(channel.name);
      CHECK(channel.latency == 0);
      CHECK(channel.setup == (from_cpu ? 500 : 300));
      CHECK(channel.bandwidth == Bandwidth{from_cpu ? 2'000'000'000 : 1'000'000'000, 1});
      CHECK(channel.gap == (from_cpu ? 7 : 40));
    }
    for (int d = 0; d < problem->num_devices(); ++d) {
      CHECK(problem->cluster().kind_of(d).gap == (d < 2 ? 7 : 40));
      CHECK(problem->cluster().kind_of(d).launch == 0);
      CHECK(problem->cluster().kind_of(d).issue == 0);
    }

    // Placements of another seed than the profile's.
    std::vector<Placement> placements;
    for (const LabelledPlacement& drawn : DrawPlacements(*problem, 20, 99)) {
      placements.push_back(drawn.placement);
    }
    Executor executor(problem, backend, {.warmup = 0, .rounds = 1, .traced_rounds = 1});
    const auto measured = executor.Measure(placements);
    const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
    const std::vector<Outcome> simulated = simulator->Evaluate(placements);
    for (size_t i = 0; i < placements.size(); ++i) {
      CHECK(measured[i].step.median == static_cast<double>(simulated[i].step_time));
      for (int d = 0; d < problem->num_devices(); ++d) {
        CHECK(measured[i].busy[d] == simulated[i].devices[d].busy);
      }
    }
  }
}

TEST_CASE("with noise: every cost within the noise, links within it") {
  VirtualMachine machine = MakeVirtualMachine(1);
  machine.times.noise = 0.05;
  const auto backend = machine.Make();
  const Graphs graphs = OneGraph(5, 80);
  const CostTable table = ProfileMachine(backend, graphs, SmallOptions());
  for (const std::string& signature : Signatures(*graphs[0])) {
    for (const char* kind : {"cpu", "gpu"}) {
      const OpMeasurement* op = table.Find(kind)->Find(signature);
      REQUIRE(op != nullptr);
      REQUIRE(op->isolated);
      REQUIRE(op->in_situ);
      CHECK(op->isolated->median == doctest::Approx(op->in_situ->median).epsilon(0.06));
      CHECK(op->isolated->low <= op->isolated->median);
      CHECK(op->isolated->high >= op->isolated->median);
    }
  }
  const Cluster cluster = CalibratedCluster(table, *backend, "noisy");
  for (const Channel& channel : cluster.channels()) {
    const double slope = channel.name.starts_with("cpu") ? 2e9 : 1e9;
    CHECK(channel.bandwidth.BytesPerSecond() == doctest::Approx(slope).epsilon(0.1));
  }
}

TEST_CASE("what is measured: each signature once per kind, no views, all links, dispatch") {
  VirtualMachine machine = MakeVirtualMachine(1);
  machine.times.contention = [](int link, int beside) { return 1 + 0.25 * link + 0.5 * beside; };
  machine.times.dispatch = [](int device, DispatchQuantity quantity) -> std::optional<double> {
    if (device < 2 && quantity == DispatchQuantity::kGraphLaunch) return std::nullopt;
    return 100.0 * (device + 1) + static_cast<int>(quantity);
  };
  ScriptedBackend* backend = nullptr;
  const auto shared = std::make_shared<ScriptedBackend>(machine.Make());
  backend = shared.get();
  // Two graphs with common signatures: the second is the first once more.
  const Graphs one = OneGraph(6), graphs{one[0], one[0]};
  ProfileOptions options = SmallOptions();
  options.cold = true;
  const CostTable table = ProfileMachine(shared, graphs, options);

  const std::set<std::string> signatures = Signatures(*one[0]);
  CHECK(backend->ops == static_cast<int>(2 * signatures.size()));
  CHECK(backend->cold_ops == backend->ops);
  for (const char* kind : {"cpu", "gpu"}) {
    REQUIRE(table.Find(kind) != nullptr);
    std::set<std::string> measured;
    for (const OpMeasurement& op : table.Find(kind)->ops) {
      measured.insert(op.signature);
      REQUIRE(op.cold);
      CHECK(op.cold->median == 2 * op.isolated->median);
    }
    CHECK(measured == signatures);
  }
  // Alone: every link at 1 B .. 64 KiB.
  int alone = 0;
  for (const LinkMeasurement& link : table.links) {
    if (link.memory == kInSituMemory) continue;
    ++alone;
    REQUIRE(link.points.size() == 17);
    CHECK(link.points[0].first == 1);
    CHECK(link.points[16].first == 1 << 16);
    CHECK_FALSE(link.ranges.empty());
    CHECK(link.max_relative_error < 0.01);
  }
  CHECK(alone == 6);
  CHECK(table.link_contention.size() == 30);
  for (const Slowdown& slowdown : table.link_contention) {
    const auto index = [&](const std::string& name) {
      for (size_t i = 0; i < machine.links.size(); ++i) {
        if (ChannelName(*backend, machine.links[i]) == name) return static_cast<int>(i);
      }
      FAIL("no link " << name);
      return -1;
    };
    CHECK(slowdown.factor ==
          doctest::Approx(1 + 0.25 * index(slowdown.victim) + 0.5 * index(slowdown.aggressor)));
  }
  REQUIRE(table.dispatch.size() == 2);
  CHECK(table.dispatch[0].device_kind == "cpu");
  CHECK(table.dispatch[0].launch_ns == 101);
  CHECK(table.dispatch[0].graph_launch_ns == 0);   // it has none
  CHECK(table.dispatch[1].null_kernel_ns == 300);  // of gpu:0, the third device
  CHECK(table.dispatch[1].graph_launch_ns == 303);
  CHECK(table.machine.find("cpu:0 (virtual cpu), cpu:1 (virtual cpu), gpu:0 (virtual gpu)") !=
        std::string::npos);
  CHECK(table.properties.at("cpu") == "virtual");
  CHECK(table.properties.at("dispatch") == "graph");
  CHECK(table.properties.at("clock at start, gpu:0") == "1000 MHz, 40 C");
  CHECK(table.properties.contains("date"));

  // The whole table survives its file.
  CHECK(FormatCostTable(ParseCostTable(FormatCostTable(table), "test")) == FormatCostTable(table));
}

TEST_CASE("only what is wanted") {
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  ProfileOptions options = SmallOptions();
  options.links = options.dispatch = false;
  options.in_situ_placements = 0;
  options.max_link_bytes = 1 << 22;
  const CostTable table = ProfileMachine(backend, OneGraph(7), options);
  CHECK(table.complete);
  CHECK(backend->loads == 0);
  CHECK(table.dispatch.empty());
  CHECK(table.link_contention.empty());
  REQUIRE(table.links.size() == 2);
  CHECK(table.links[0].points.size() == 3);
  for (const OpMeasurement& op : table.Find("cpu")->ops) CHECK_FALSE(op.in_situ);
  // Enough for a cluster; of 500.5 ns for the single byte a whole one was left over.
  CHECK(CalibratedCluster(table, *backend, "c").channel(0).setup == 501);
}

TEST_CASE("ops keep to the devices they may run on") {
  Rng rng(3);
  const auto any = RandomMatrixGraph(rng, 40, "any");
  std::vector<Op> ops(any->ops().begin(), any->ops().end());
  for (Op& op : ops) {
    if (op.kind == "aten.mm") op.device_kinds = {"gpu"};
  }
  const Graphs graphs{std::make_shared<const Graph>(
      "restricted", std::vector<Tensor>(any->tensors().begin(), any->tensors().end()), ops)};
  const CostTable table = ProfileMachine(MakeVirtualMachine(1).Make(), graphs, SmallOptions());
  CHECK(table.warnings.empty());
  const auto count_products = [&](const char* kind) {
    const auto& measured = table.Find(kind)->ops;
    return std::count_if(measured.begin(), measured.end(), [](const OpMeasurement& op) {
      return op.kind == "aten.mm";
    });
  };
  CHECK(count_products("cpu") == 0);
  CHECK(count_products("gpu") > 0);
}

TEST_CASE("a stopped profile goes on where it was, and ends as one that was not stopped") {
  const Graphs graphs = OneGraph(8);
  const CostTable whole = ProfileMachine(MakeVirtualMachine(1).Make(), graphs, SmallOptions());
  for (int polls = 1; polls < 400; polls = polls * 3 / 2 + 1) {
    CAPTURE(polls);
    const auto first = std::make_shared<ScriptedBackend>(MakeVirtualMachine(1).Make());
    ProfileEvents events;
    int left = polls;
    events.stop = [&] { return --left < 0; };
    const CostTable part = ProfileMachine(first, graphs, SmallOptions(), {}, events);
    const CostTable read = ParseCostTable(FormatCostTable(part), "test");
    CHECK(part.complete == (left >= 0));
    const auto second = std::make_shared<ScriptedBackend>(MakeVirtualMachine(1).Make());
    const CostTable rest = ProfileMachine(second, graphs, SmallOptions(), read);
    CHECK(rest.complete);
    CHECK(first->ops + second->ops == static_cast<int>(2 * Signatures(*graphs[0]).size()));
    REQUIRE(rest.kinds.size() == whole.kinds.size());
    for (size_t k = 0; k < whole.kinds.size(); ++k) {
      REQUIRE(rest.kinds[k].ops.size() == whole.kinds[k].ops.size());
      for (size_t i = 0; i < whole.kinds[k].ops.size(); ++i) {
        const OpMeasurement &a = whole.kinds[k].ops[i], &b = rest.kinds[k].ops[i];
        CHECK(a.signature == b.signature);
        REQUIRE(b.in_situ);
        CHECK(a.isolated->median == b.isolated->median);
        CHECK(a.in_situ->median == b.in_situ->median);
      }
    }
    CHECK(rest.links.size() == whole.links.size());
    CHECK(rest.link_contention.size() == whole.link_contention.size());
  }
}

TEST_CASE("held-out steps: once per graph, old ones replaced, those of other graphs kept") {
  Rng rng(9);
  const Graphs graphs{RandomMatrixGraph(rng, 40, "g"), RandomMatrixGraph(rng, 60, "h")};
  CostTable resume;
  resume.held_out = {{"g", "old", 1, 1, 1}, {"other", "old", 1, 1, 1}};
  const CostTable table =
      ProfileMachine(MakeVirtualMachine(1).Make(), graphs, SmallOptions(), resume);
  REQUIRE(table.held_out.size() == 17);
  CHECK(table.held_out[0].graph == "other");
  for (int i = 1; i < 17; ++i) {
    CHECK(table.held_out[i].graph == (i < 9 ? "g" : "h"));
    CHECK(table.held_out[i].samples == 3);
  }
}

TEST_CASE("progress and checkpoints: seconds, and partial tables that say so") {
  ProfileEvents events;
  double last = 0;
  int reports = 0, checkpoints = 0;
  std::set<std::string> notes;
  events.progress = [&](double done, double total, const std::string& note) {
    CHECK(done >= last);
    CHECK(total >= done);
    last = done;
    notes.insert(note.substr(0, note.find(" (")));
    ++reports;
  };
  std::int64_t ops = 0;
  events.checkpoint = [&](const CostTable& table) {
    CHECK_FALSE(table.complete);
    CHECK(ParseCostTable(FormatCostTable(table), "checkpoint").machine == table.machine);
    const auto now = static_cast<std::int64_t>(table.Find("cpu")->ops.size());
    CHECK(now >= ops);
    ops = now;
    ++checkpoints;
  };
  ProfileMachine(MakeVirtualMachine(0).Make(), OneGraph(9), SmallOptions(), {}, events);
  CHECK(checkpoints >= 4);  // one per phase
  CHECK(reports > 20);
  CHECK(ops > 0);
  CHECK(notes.contains("aten.mm on cpu:0"));
  CHECK(notes.contains("cpu:0->cpu:1"));
  CHECK(notes.contains("steps of matrices"));
  CHECK(notes.contains("done"));
}

TEST_CASE("the time left of the steps is that of the ops, as soon as these are measured") {
  // 60 ops of at most 50 us on a CPU device, (1 + 3 + 3) rounds of 8 placements: below 0.2 s.
  ProfileEvents events;
  std::optional<double> left;
  events.progress = [&](double done, double total, const std::string& note) {
    if (note.starts_with("steps of ") && !left) left = total - done;
  };
  const Graphs graphs = OneGraph(9);
  ProfileMachine(MakeVirtualMachine(0).Make(), graphs, SmallOptions(), {}, events);
  REQUIRE(left);
  CHECK(*left > 0);
  CHECK(*left < 0.2);
}

TEST_CASE("a profile of another machine is refused, naming both") {
  const Graphs graphs = OneGraph(10, 20);
  const auto two = MakeVirtualMachine(0).Make();
  const CostTable table = ProfileMachine(two, graphs, SmallOptions());
  const auto three = MakeVirtualMachine(1).Make();
  CHECK(MessageOf<InputError>([&] { ProfileMachine(three, graphs, SmallOptions(), table); }) ==
        "the profile to resume is of machine \"" + DescribeMachine(*two) + "\", but this is \"" +
            DescribeMachine(*three) + "\"");
  const auto newer = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  newer->properties["cpu"] = "other";
  CHECK(MessageOf<InputError>([&] { ProfileMachine(newer, graphs, SmallOptions(), table); }) ==
        "the profile to resume is of machine \"" + DescribeMachine(*two) +
            "\" with cpu \"virtual\", which now has \"other\"");
}

TEST_CASE("options that make no sense are refused") {
  const auto message = [](const auto& change) {
    ProfileOptions options;
    change(options);
    return MessageOf<InputError>(
        [&] { ProfileMachine(MakeVirtualMachine(0).Make(), OneGraph(1, 12), options); });
  };
  CHECK(message([](ProfileOptions& o) { o.max_link_bytes = 1; }) ==
        "profile: max_link_bytes is 1, expected at least 2");
  CHECK(message([](ProfileOptions& o) { o.in_situ_placements = -1; }) ==
        "profile: in_situ_placements is -1, expected at least 0");
  CHECK(message([](ProfileOptions& o) { o.in_situ_rounds = 0; }) ==
        "profile: in_situ_rounds is 0, expected at least 1");
  CHECK(message([](ProfileOptions& o) { o.rule.max_seconds = 0; }).starts_with("stopping rule: "));
}

TEST_CASE("a kernel that fails is left out with a warning") {
  const Graphs graphs = OneGraph(12);
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->on_op = [](int, const OpWork& work) {
    if (work.calls[0].kind == KernelKind::kElementwise) throw RunError("no such kernel");
  };
  const CostTable table = ProfileMachine(backend, graphs, SmallOptions());
  CHECK(table.complete);
  CHECK(HasWarning(table, "left out: op aten.relu"));
  CHECK(HasWarning(table, " on cpu:0: no such kernel"));
  int products = 0;
  for (const OpMeasurement& op : table.Find("cpu")->ops) {
    CHECK(op.isolated.has_value() == (op.op_class == OpClass::kMatmul));
    products += op.isolated.has_value();
  }
  CHECK(products > 0);
}

TEST_CASE("a device that fails ends the profile, after a checkpoint") {
  const Graphs graphs = OneGraph(13);
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->on_op = [&](int, const OpWork&) {
    if (backend->ops > 5) throw RunError("the device fell off the bus");
  };
  std::optional<CostTable> kept;
  ProfileEvents events;
  events.checkpoint = [&](const CostTable& table) { kept = table; };
  const std::string message =
      MessageOf<RunError>([&] { ProfileMachine(backend, graphs, SmallOptions(), {}, events); });
  CHECK(message.starts_with("device \"cpu:0\" failed at op aten."));
  CHECK(message.ends_with(
      ": the device fell off the bus; afterwards it failed at the reference product: the device "
      "fell off the bus"));
  REQUIRE(kept);
  CHECK_FALSE(kept->complete);
  CHECK(kept->Find("cpu")->ops.size() == 5);
}

TEST_CASE("copies, dispatch and steps that fail are left out, too") {
  const Graphs graphs = OneGraph(14);
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->on_copy = [](int link, std::int64_t bytes) {
    if (link == 1 && bytes > 4096) throw RunError("out of memory");
  };
  backend->on_dispatch = [](DispatchQuantity) { throw RunError("no timer"); };
  backend->on_load = [] { throw RunError("cpu:1: 5 B are missing"); };
  const CostTable table = ProfileMachine(backend, graphs, SmallOptions());
  CHECK(table.complete);
  CHECK(HasWarning(
      table,
      "left out: copies of at least 8192 B over cpu:1->cpu:0 on cpu:1, cpu:0: out of memory"));
  CHECK(HasWarning(table, "left out: dispatch on cpu:0: no timer"));
  CHECK(HasWarning(table,
                   "left out: whole steps of graph \"matrices\" on cpu:0: cpu:1: 5 B are missing"));
  CHECK(table.links[1].points.size() == 13);
  CHECK(table.dispatch.empty());
  for (const OpMeasurement& op : table.Find("cpu")->ops) {
    CHECK(op.isolated);
    CHECK_FALSE(op.in_situ);
  }
}

TEST_CASE("drift: clocks and the reference product are watched") {
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  int reads = 0;
  backend->clock_mhz = [&] { return reads++ < 2 ? 2000 : 1800; };
  backend->slowdown = [&](int) { return backend->copies > 0 ? 1.08 : 1.0; };
  const CostTable table = ProfileMachine(backend, OneGraph(15, 20), SmallOptions());
  CHECK(HasWarning(
      table, "after the ops: the clock of cpu:0 is at 1800 MHz; it was at 2000 MHz at the start"));
  CHECK(HasWarning(table, "after the links: the reference product on cpu:0 takes "));
  CHECK(HasWarning(table, " us, +8.0 % compared with the start"));
  CHECK_FALSE(HasWarning(table, "after the ops: the reference product"));
  // Within the tolerance nothing is said.
  const auto calm = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  reads = 0;
  calm->clock_mhz = [&] { return reads++ < 2 ? 2000 : 1910; };
  CHECK(ProfileMachine(calm, OneGraph(15, 20), SmallOptions()).warnings.empty());
}

TEST_CASE("drift: a phase that was disturbed is measured again, and then as if nothing had been") {
  const Graphs graphs = OneGraph(15, 20);
  const auto calm = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  const CostTable expected = ProfileMachine(calm, graphs, SmallOptions());
  REQUIRE(expected.warnings.empty());

  // While the links are measured for the first time, everything takes a quarter longer.
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->slowdown = [&](int) {
    return backend->copies > 0 && backend->copies <= calm->copies ? 1.25 : 1.0;
  };
  ProfileOptions options = SmallOptions();
  options.settle_seconds = 60;  // which are not waited for: the first look finds the machine calm
  int looks = 0;
  backend->on_op = [&](int, const OpWork& work) {
    looks += ScriptedBackend::IsReferenceProduct(work) && backend->copies == calm->copies;
    if (looks != 2) return;
    ++backend->copies;  // after the check of the links, calm again
    ++looks;
  };
  CostTable table = ProfileMachine(backend, graphs, options);
  CHECK(table.complete);
  CHECK(backend->copies == 2 * calm->copies + 1);
  CHECK(backend->ops == calm->ops);  // the phase before was not disturbed
  CHECK(HasWarning(table,
                   "phase \"links\" was measured again: the reference product on cpu:0 takes "));
  CHECK_FALSE(table.properties.contains("drift"));
  // Nothing else is different.
  table.warnings.clear();
  table.properties = expected.properties;
  CHECK(FormatCostTable(table) == FormatCostTable(expected));
}

TEST_CASE("drift: what is slower for good ends the profile, and keeps what was measured before") {
  const Graphs graphs = OneGraph(15, 20);
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->slowdown = [&](int) { return backend->copies > 0 ? 1.25 : 1.0; };
  std::optional<CostTable> kept;
  ProfileEvents events;
  events.checkpoint = [&](const CostTable& table) { kept = table; };
  const std::string message =
      MessageOf<DriftError>([&] { ProfileMachine(backend, graphs, SmallOptions(), {}, events); });
  CHECK(message.starts_with(
      "the machine changed while it was profiled: phase \"links\", attempt 3 of 3: "
      "the reference product on cpu:0 takes "));
  CHECK(message.ends_with(" us, +25.0 % compared with the start, expected at most 10 %"));
  REQUIRE(kept);
  CHECK_FALSE(kept->complete);
  CHECK(kept->links.empty());
  CHECK(kept->Find("cpu")->ops.size() == Signatures(*graphs[0]).size());

  // Resumed on the slow machine: not a part of the same profile.
  const CostTable part = ParseCostTable(FormatCostTable(*kept), "test");
  CHECK(MessageOf<DriftError>([&] { ProfileMachine(backend, graphs, SmallOptions(), part); })
            .starts_with("the machine changed while it was profiled: at the start: the reference "
                         "product on cpu:0 takes "));
  // Resumed on the machine as it was.
  backend->slowdown = {};
  CHECK(ProfileMachine(backend, graphs, SmallOptions(), part).complete);
}

TEST_CASE("drift: on request it is kept, and said") {
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->slowdown = [&](int) { return backend->copies > 0 ? 1.25 : 1.0; };
  ProfileOptions options = SmallOptions();
  options.keep_drifted = true;
  options.repeats = 0;
  const CostTable table = ProfileMachine(backend, OneGraph(15, 20), options);
  CHECK(table.complete);
  CHECK(table.properties.at("drift").starts_with(
      "phase \"links\", attempt 1 of 1: the reference product on cpu:0 takes "));
  CHECK(table.links.size() > 0);
}

TEST_CASE("drift: a start that was disturbed is taken again, since nothing depends on it") {
  const Graphs graphs = OneGraph(15, 20);
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  backend->slowdown = [&](int) { return backend->ops == 0 ? 1.5 : 1.0; };
  const CostTable table = ProfileMachine(backend, graphs, SmallOptions());
  CHECK(table.complete);
  CHECK(backend->ops == static_cast<int>(2 * Signatures(*graphs[0]).size()));  // each twice
  CHECK(table.warnings.size() == 1);
  CHECK(
      HasWarning(table, "phase \"ops\" was measured again: the reference product on cpu:0 takes "));
  CHECK(HasWarning(table, "us, -33.3 % compared with the start"));
}

TEST_CASE("slow steps are taken of fewer placements, which is said") {
  const Graphs graphs = OneGraph(16);
  ProfileOptions options = SmallOptions();
  options.in_situ_seconds = 1e-9;
  const auto backend = std::make_shared<ScriptedBackend>(MakeVirtualMachine(0).Make());
  const CostTable table = ProfileMachine(backend, graphs, options);
  CHECK(HasWarning(table, "graph \"matrices\": executed 3 instead of 8 placements"));
  CHECK(backend->loads == 3);
}

TEST_CASE("placements that do not fit a device's memory are left out, which is said") {
  const Graphs graphs = OneGraph(17);
  VirtualMachine machine = MakeVirtualMachine(0);
  std::int64_t resident = 0;
  for (const Tensor& tensor : graphs[0]->tensors()) {
    if (tensor.role == TensorRole::kParameter) resident += tensor.bytes;
  }
  machine.devices[1].memory = resident;  // without room for anything else
  const CostTable table = ProfileMachine(machine.Make(), graphs, SmallOptions());
  CHECK(HasWarning(table, "graph \"matrices\": placement \"all on cpu:1\" left out: it takes "));
  CHECK(table.complete);
  for (const OpMeasurement& op : table.Find("cpu")->ops) CHECK(op.in_situ);
}

}  // namespace

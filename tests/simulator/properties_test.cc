// What must hold for every problem and placement.

#include <algorithm>
#include <map>
#include <tuple>

#include "framework/bounds/bounds.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kRounds = 200 * EMPLACE_TEST_SCALE;

std::vector<DeviceIndex> Expand(const Placement& placement) {
  return placement.device;
}

template <class Body>
void ForRandomProblems(std::uint64_t seed, RandomProblemOptions options, Body body) {
  Rng rng(seed);
  for (int round = 0; round < kRounds; ++round) {
    options.num_ops = 1 + UniformInt(rng, 30);
    options.num_devices = 1 + UniformInt(rng, 4);
    const auto problem = RandomProblem(rng, options);
    body(*problem, Expand(RandomPlacement(rng, *problem)), rng);
  }
}

TEST_CASE("no server does two things at once; nothing starts before it is ready") {
  for (const SimulatorOptions& options : EverySemantics()) {
    ForRandomProblems(11, {}, [&](const Problem& problem, const auto& devices, Rng&) {
      const Timeline t = SimulateReference(problem, devices, options);
      struct Work {
        Nanos start, finish, free;
      };
      std::map<std::pair<int, int>, std::vector<Work>> work;  // by (device, slot)
      for (const OpEvent& e : t.ops) {
        REQUIRE(e.start >= e.ready);
        const Nanos gap = e.finish > e.start ? problem.cluster().kind_of(e.device).gap : 0;
        work[{e.device, e.slot}].push_back({e.start, e.finish, e.finish + gap});
      }
      for (const TransferEvent& e : t.transfers) {
        REQUIRE(e.start >= e.ready);
        const Nanos sent = e.start + e.wire;
        const Occupies occupies = problem.cluster().channel(e.channel).occupies;
        REQUIRE((e.source_slot >= 0) == OccupiesSource(occupies));
        REQUIRE((e.destination_slot >= 0) == OccupiesDestination(occupies));
        if (e.source_slot >= 0) work[{e.source, e.source_slot}].push_back({e.start, sent, sent});
        if (e.destination_slot < 0) continue;
        REQUIRE(e.destinations.size() == 1);
        work[{e.destinations[0], e.destination_slot}].push_back({e.start, sent, sent});
      }
      for (auto& [server, works] : work) {
        REQUIRE(server.second < problem.cluster().device(server.first).slots);
        std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
          return std::tie(a.start, a.finish) < std::tie(b.start, b.finish);
        });
        for (size_t i = 1; i < works.size(); ++i) REQUIRE(works[i].start >= works[i - 1].free);
      }
      std::map<int, Nanos> channel_free;
      auto transfers = t.transfers;
      std::stable_sort(transfers.begin(), transfers.end(), [](const auto& a, const auto& b) {
        return std::tie(a.start, a.wire) < std::tie(b.start, b.wire);
      });
      for (const TransferEvent& e : transfers) {
        const Channel& channel = problem.cluster().channel(e.channel);
        REQUIRE(e.start >= channel_free[e.channel]);
        REQUIRE(e.arrival == e.start + channel.latency + WireTime(e.bytes, channel));
        channel_free[e.channel] = e.start + e.wire + channel.gap;
      }
    });
  }
}

TEST_CASE("Q: the ready time of what is served never decreases") {
  ForRandomProblems(12, {}, [&](const Problem& problem, const auto& devices, Rng&) {
    const Timeline t = SimulateReference(problem, devices, kQ);
    for (size_t i = 1; i < t.ops.size(); ++i) REQUIRE(t.ops[i].ready >= t.ops[i - 1].ready);
    for (size_t i = 1; i < t.transfers.size(); ++i) {
      REQUIRE(t.transfers[i].ready >= t.transfers[i - 1].ready);
    }
  });
}

TEST_CASE("replaying the timeline reproduces every number") {
  for (const SimulatorOptions& options : EverySemantics()) {
    ForRandomProblems(13, {}, [&](const Problem& problem, const auto& devices, Rng&) {
      const Timeline t = SimulateReference(problem, devices, options);
      Nanos step = 0;
      std::vector<Nanos> busy(problem.num_devices(), 0);
      for (const OpEvent& e : t.ops) {
        step = std::max(step, e.finish);
        busy[e.device] += e.finish - e.start;
        // Every input has arrived: local ones with the producer's finish, others by a transfer.
        for (int tensor : problem.graph().reads(e.op)) {
          const int producer = problem.graph().tensor(tensor).producer;
          if (producer < 0) continue;
          if (devices[producer] == e.device) {
            REQUIRE(t.outcome.finish[producer] <= e.start);
            continue;
          }
          const bool arrived = std::ranges::any_of(t.transfers, [&](const TransferEvent& x) {
            const auto route = problem.cluster().route(devices[producer], e.device);
            return x.tensor == tensor && x.hop + 1 == static_cast<int>(route.size()) &&
                   std::ranges::count(x.destinations, e.device) == 1 && x.arrival <= e.start;
          });
          REQUIRE(arrived);
        }
      }
      for (const TransferEvent& e : t.transfers) {
        step = std::max(step, e.arrival);
        if (e.source_slot >= 0) busy[e.source] += e.wire;
        if (e.destination_slot >= 0) busy[e.destinations[0]] += e.wire;
      }
      REQUIRE(step == t.outcome.step_time);
      std::vector<std::int64_t> peak(problem.num_devices(), 0);
      std::vector<Nanos> last(problem.num_devices(), 0);
      for (const MemoryEvent& e : t.memory) {
        REQUIRE(e.bytes >= 0);
        REQUIRE(e.time >= last[e.device]);
        last[e.device] = e.time;
        peak[e.device] = std::max(peak[e.device], e.bytes);
      }
      for (int d = 0; d < problem.num_devices(); ++d) {
        REQUIRE(busy[d] == t.outcome.devices[d].busy);
        REQUIRE(peak[d] == t.outcome.devices[d].peak);
      }
    });
  }
}

TEST_CASE("no step is shorter than the bounds") {
  for (const SimulatorOptions& options : EverySemantics()) {
    ForRandomProblems(
        14, {.forbidden = true}, [&](const Problem& problem, const auto& devices, Rng&) {
          const Bounds bounds = ComputeBounds(problem);
          REQUIRE(SimulateReference(problem, devices, options).outcome.step_time >= bounds.best());
        });
  }
}

// The problem with changed costs or an added control edge.
std::shared_ptr<const Problem> Changed(const Problem& problem,
                                       int slower_op,
                                       Nanos by,
                                       std::pair<int, int> edge = {-1, -1}) {
  const Graph& graph = problem.graph();
  std::vector<Op> ops(graph.ops().begin(), graph.ops().end());
  if (edge.first >= 0) ops[edge.second].control_inputs.push_back(edge.first);
  Costs costs = problem.costs();
  if (slower_op >= 0) {
    for (int d = 0; d < problem.num_devices(); ++d) {
      Nanos& time = costs.time[size_t(slower_op) * problem.num_devices() + d];
      if (time < kMaxNanos) time += by;
    }
  }
  return std::make_shared<Problem>(
      std::make_shared<Graph>(graph.name(),
                              std::vector<Tensor>(graph.tensors().begin(), graph.tensors().end()),
                              std::move(ops)),
      problem.grouping(),
      std::make_shared<Cluster>(problem.cluster()),
      std::move(costs),
      Objective::kStepTime,
      ProblemChecks::kPlacementOnly);
}

TEST_CASE("S: slowing an op never shortens the step") {
  // With slots an op may change its slot and with it the order on a slot; zero costs carry no gap.
  const RandomProblemOptions options{.zero_costs = false, .slots = false};
  ForRandomProblems(15, options, [&](const Problem& problem, const auto& devices, Rng& rng) {
    const Nanos before = SimulateReference(problem, devices, kS).outcome.step_time;
    const auto slower =
        Changed(problem, UniformInt(rng, problem.num_ops()), 1 + UniformInt(rng, 20));
    REQUIRE(SimulateReference(*slower, devices, kS).outcome.step_time >= before);
  });
}

TEST_CASE("S: without contention on the channels no step is longer") {
  SimulatorOptions alone = kS;
  alone.channel_contention = false;
  int shorter = 0;
  ForRandomProblems(18, {}, [&](const Problem& problem, const auto& devices, Rng&) {
    const Nanos with = SimulateReference(problem, devices, kS).outcome.step_time;
    const Nanos without = SimulateReference(problem, devices, alone).outcome.step_time;
    REQUIRE(without <= with);
    shorter += without < with;
  });
  CHECK(shorter > 0);
}

TEST_CASE("S: a further dependency that agrees with the issue order never shortens the step") {
  const RandomProblemOptions options{.slots = false};
  ForRandomProblems(16, options, [&](const Problem& problem, const auto& devices, Rng& rng) {
    const Timeline before = SimulateReference(problem, devices, kS);
    if (problem.num_ops() < 2) return;
    const int later = 1 + UniformInt(rng, problem.num_ops() - 1);
    const int u = before.ops[UniformInt(rng, later)].op, v = before.ops[later].op;
    const auto more = Changed(problem, -1, 0, {u, v});
    const Timeline after = SimulateReference(*more, devices, kS);
    std::vector<int> order, order_after;
    for (const OpEvent& e : before.ops) order.push_back(e.op);
    for (const OpEvent& e : after.ops) order_after.push_back(e.op);
    if (order != order_after) return;  // the edge changed which ops were available when
    REQUIRE(after.outcome.step_time >= before.outcome.step_time);
  });
}

TEST_CASE("permuting op ids changes nothing when no ties exist") {
  const RandomProblemOptions options{
      .ties = false, .zero_costs = false, .slots = false, .control_edges = false};
  int compared = 0;
  ForRandomProblems(17, options, [&](const Problem& problem, const auto& devices, Rng& rng) {
    const Graph& graph = problem.graph();
    const int n = graph.num_ops();
    // Ops without predecessors are all ready at 0, a tie: give each its own time by a chain of
    // control edges through them, in id order.
    std::vector<int> sources;
    for (int v = 0; v < n; ++v) {
      if (graph.predecessors(v).empty()) sources.push_back(v);
    }
    if (sources.size() != 1) return;
    std::vector<int> new_id(n);
    for (int v = 0; v < n; ++v) new_id[v] = v;
    for (int v = n - 1; v > 0; --v) std::swap(new_id[v], new_id[UniformInt(rng, v + 1)]);
    std::vector<Op> ops(n);
    Costs costs = problem.costs();
    std::vector<DeviceIndex> permuted(n);
    for (int v = 0; v < n; ++v) {
      ops[new_id[v]] = graph.op(v);
      permuted[new_id[v]] = devices[v];
      for (int d = 0; d < problem.num_devices(); ++d) {
        costs.time[size_t(new_id[v]) * problem.num_devices() + d] = problem.costs().at(v, d);
      }
    }
    const Problem other(
        std::make_shared<Graph>("permuted",
                                std::vector<Tensor>(graph.tensors().begin(), graph.tensors().end()),
                                std::move(ops)),
        Grouping::Identity(n),
        std::make_shared<Cluster>(problem.cluster()),
        costs,
        Objective::kStepTime,
        ProblemChecks::kPlacementOnly);
    const Timeline a = SimulateReference(problem, devices, kQ);
    const Timeline b = SimulateReference(other, permuted, kQ);
    // Two outputs of one op leave together and two destinations of one tensor, too; their order is
    // by tensor and device, which did not change.
    std::map<std::pair<int, Nanos>, int> at;
    for (const OpEvent& e : a.ops) ++at[{e.device, e.ready}];
    for (const auto& [key, count] : at) {
      if (count > 1) return;
    }
    ++compared;
    REQUIRE(a.outcome.step_time == b.outcome.step_time);
    for (int v = 0; v < n; ++v) REQUIRE(a.outcome.start[v] == b.outcome.start[new_id[v]]);
  });
  CHECK(compared > 0);
}

}  // namespace

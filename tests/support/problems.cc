#include "tests/support/problems.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/schedule/issue_order.h"

namespace emplace::testing {

int ProblemBuilder::Op(const std::string& name,
                       std::vector<Nanos> costs,
                       std::vector<int> inputs,
                       std::int64_t output_bytes) {
  const int id = static_cast<int>(ops_.size());
  emplace::Op op;
  op.name = name;
  op.kind = "test";
  for (int producer : inputs) op.inputs.push_back(ops_[producer].outputs[0]);
  ops_.push_back(op);
  costs_.push_back(std::move(costs));
  AddOutput(id, name + ":0", output_bytes);
  return id;
}

int ProblemBuilder::Input(const std::string& name, std::int64_t bytes) {
  Tensor tensor;
  tensor.name = name;
  tensor.bytes = bytes;
  tensor.role = TensorRole::kInput;
  tensors_.push_back(tensor);
  return static_cast<int>(tensors_.size()) - 1;
}

int ProblemBuilder::AddOutput(int op_id, const std::string& name, std::int64_t bytes) {
  const int id = Input(name, bytes);
  tensors_[id].role = TensorRole::kActivation;
  ops_[op_id].outputs.push_back(id);
  return id;
}

int ProblemBuilder::Device(const std::string& name, std::int64_t memory, int slots) {
  DeviceKind kind;
  kind.name = "kind_" + name;
  kinds_.push_back(kind);
  devices_.push_back({name, static_cast<int>(kinds_.size()) - 1, memory, slots});
  return static_cast<int>(devices_.size()) - 1;
}

void ProblemBuilder::Share(int a, int b) {
  devices_[a].neighbors |= std::uint64_t{1} << b;
  devices_[b].neighbors |= std::uint64_t{1} << a;
}

void ProblemBuilder::Interfere(int op, std::vector<Interference> by_device) {
  interference_[op] = std::move(by_device);
}

int ProblemBuilder::Channel(const std::string& name,
                            Nanos latency,
                            Bandwidth bandwidth,
                            Nanos gap,
                            bool broadcast) {
  channels_.push_back({.name = name,
                       .latency = latency,
                       .bandwidth = bandwidth,
                       .gap = gap,
                       .broadcast = broadcast});
  return static_cast<int>(channels_.size()) - 1;
}

void ProblemBuilder::Route(int from, int to, std::vector<int> channels) {
  routes_.push_back({from, to, std::move(channels)});
}

namespace {

template <class Routes>
bool HasRoute(const Routes& routes, int from, int to) {
  return std::ranges::any_of(routes, [&](const auto& r) { return r.from == from && r.to == to; });
}

}  // namespace

void ProblemBuilder::AllToAll(Nanos latency, Bandwidth bandwidth, Nanos gap) {
  const int count = static_cast<int>(devices_.size());
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to || HasRoute(routes_, from, to)) continue;
      const std::string name = devices_[from].name + "->" + devices_[to].name;
      Route(from, to, {Channel(name, latency, bandwidth, gap)});
    }
  }
}

void ProblemBuilder::EgressBus(Nanos latency, Bandwidth bandwidth, Nanos gap, bool broadcast) {
  const int count = static_cast<int>(devices_.size());
  for (int from = 0; from < count; ++from) {
    const int bus = Channel(devices_[from].name + "->*", latency, bandwidth, gap, broadcast);
    for (int to = 0; to < count; ++to) {
      if (from != to && !HasRoute(routes_, from, to)) Route(from, to, {bus});
    }
  }
}

std::shared_ptr<const Graph> ProblemBuilder::BuildGraph() const {
  return std::make_shared<Graph>("test_graph", tensors_, ops_);
}

std::shared_ptr<const Cluster> ProblemBuilder::BuildCluster() const {
  const size_t count = devices_.size();
  std::vector<std::vector<int>> routes(count * count);
  for (const RouteEntry& route : routes_) routes[route.from * count + route.to] = route.channels;
  return std::make_shared<Cluster>("test_cluster", kinds_, devices_, channels_, routes);
}

std::shared_ptr<const Problem> ProblemBuilder::Build() const {
  return Build(Grouping::Identity(static_cast<int>(ops_.size())));
}

std::shared_ptr<const Problem> ProblemBuilder::Build(const Grouping& grouping,
                                                     ProblemChecks checks) const {
  Costs costs;
  costs.num_ops = static_cast<int>(ops_.size());
  costs.num_devices = static_cast<int>(devices_.size());
  for (const auto& row : costs_) {
    for (int d = 0; d < costs.num_devices; ++d)
      costs.time.push_back(row.size() == 1 ? row[0] : row[d]);
  }
  if (BuildCluster()->has_neighbors()) {
    costs.interference.resize(costs.time.size());
    for (const auto& [op, by_device] : interference_) {
      std::ranges::copy(by_device, costs.interference.begin() + op * costs.num_devices);
    }
  }
  costs.source.assign(costs.time.size(), CostSource::kMeasured);
  costs.uncertainty.assign(costs.time.size(), 0.0f);
  return std::make_shared<Problem>(
      BuildGraph(), grouping, BuildCluster(), costs, Objective::kStepTime, checks);
}

ProblemBuilder Gpus(int count, Nanos latency) {
  ProblemBuilder builder;
  for (int d = 0; d < count; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(latency, kGigabytePerSecond);
  return builder;
}

namespace {

// Draws one problem; a class of its own so that every choice reads as one line.
class Generator {
 public:
  Generator(Rng& rng, const RandomProblemOptions& options) : rng_(rng), o_(options) {}

  std::shared_ptr<const Problem> Generate() {
    MakeDevices();
    MakeLinks();
    MakeOps();
    // Parameters that fit nowhere are welcome: such a placement is an outcome with a deficit.
    return builder_.Build(Grouping::Identity(o_.num_ops), ProblemChecks::kPlacementOnly);
  }

 private:
  bool Chance(double probability) { return Uniform01(rng_) < probability; }
  // Small numbers make many ties; large ones none to speak of.
  Nanos Duration(int small) {
    return o_.ties ? UniformInt(rng_, small) : UniformInt(rng_, static_cast<int>(o_.longest)) + 1;
  }
  std::int64_t Bytes() { return o_.ties ? UniformInt(rng_, 8) * 10 : UniformInt(rng_, o_.largest); }

  void MakeDevices() {
    for (int d = 0; d < o_.num_devices; ++d) {
      const std::int64_t memory = o_.tight_memory && Chance(0.5)
                                      ? UniformInt(rng_, o_.ties ? 600 : 1'000'000'000)
                                      : kUnlimitedMemory;
      builder_.Device(fmt::format("d{}", d), memory, o_.slots && Chance(0.3) ? 2 : 1);
      if (o_.gaps && Chance(0.5)) builder_.kind(d).gap = Duration(4);
      if (o_.cold_reads && Chance(0.7)) {
        builder_.kind(d).cold_read = Bandwidth{100'000'000LL * (1 + UniformInt(rng_, 30)), 1};
      }
      if (o_.interference && Chance(0.7)) {
        builder_.kind(d).interference[kTransferClass] = Figures();
      }
      for (int e = 0; e < d && o_.interference; ++e) {
        if (Chance(0.8)) builder_.Share(d, e);
      }
      if (o_.host_costs && Chance(0.5)) {
        builder_.kind(d).issue = Duration(3);
        builder_.kind(d).launch = Duration(5);
      }
    }
  }

  int MakeChannel(bool broadcast, Occupies occupies = Occupies::kNone) {
    const Bandwidth bandwidth{UniformInt(rng_, 20) * 500'000'000LL + 1'000'000'007, 1};
    const Nanos latency = Chance(0.5) ? Duration(6) : 0,
                gap = o_.gaps && Chance(0.5) ? Duration(6) : 0;
    const int k =
        builder_.Channel(fmt::format("k{}", num_channels_++), latency, bandwidth, gap, broadcast);
    builder_.channel(k).occupies = occupies;
    if (o_.setups && Chance(0.5)) builder_.channel(k).setup = Duration(6);
    return k;
  }

  // Round figures, so that times coincide, or any.
  Interference Figures() {
    const auto figure = [&] {
      return o_.ties ? 512 * UniformInt(rng_, 6) : UniformInt(rng_, kMostInterference + 1);
    };
    const int sensitivity = figure();
    return {sensitivity, figure()};
  }
  // Routes that occupy devices: over a channel of the two alone, or from the source's channel
  // and into the destination's, which it shares with other routes.
  void MakeOccupyingLinks() {
    std::vector<int> out, in;
    for (int d = 0; d < o_.num_devices; ++d) {
      out.push_back(MakeChannel(o_.broadcast && Chance(0.5), Occupies::kSource));
      in.push_back(MakeChannel(false, Occupies::kDestination));
    }
    for (int from = 0; from < o_.num_devices; ++from) {
      for (int to = 0; to < o_.num_devices; ++to) {
        if (from == to || Chance(0.4)) continue;
        switch (UniformInt(rng_, o_.hops ? 4 : 3)) {
          case 0:
            builder_.Route(from, to, {MakeChannel(false, Occupies::kBoth)});
            break;
          case 1:
            builder_.Route(from, to, {out[from]});
            break;
          case 2:
            builder_.Route(from, to, {in[to]});
            break;
          default:
            builder_.Route(from, to, {out[from], in[to]});
        }
      }
    }
  }

  void MakeLinks() {
    std::vector<int> shared;
    for (int i = 0; i < 3; ++i) {  // broadcasting ones can only be first hops
      shared.push_back(MakeChannel(!o_.hops && o_.broadcast && Chance(0.3)));
    }
    for (int from = 0; from < o_.num_devices; ++from) {
      const int bus = o_.broadcast && Chance(0.5) ? MakeChannel(true) : -1;
      const int egress = o_.egress && Chance(0.5) ? MakeChannel(false) : -1;
      for (int to = 0; to < o_.num_devices; ++to) {
        if (from == to) continue;
        std::vector<int> route;
        if (bus >= 0 && Chance(0.8)) {
          route.push_back(bus);
        } else if (egress >= 0 && Chance(0.8)) {
          route.push_back(egress);
        } else if (o_.shared_channels && Chance(o_.sharing)) {
          route.push_back(shared[UniformInt(rng_, 3)]);
        } else {
          route.push_back(MakeChannel(false));
        }
        while (o_.hops && Chance(0.3)) {
          route.push_back(Chance(0.5) ? shared[UniformInt(rng_, 3)] : MakeChannel(false));
        }
        builder_.Route(from, to, route);
      }
    }
    if (o_.occupies && Chance(0.6)) MakeOccupyingLinks();  // later routes replace earlier ones
  }

  void MakeOps() {
    std::vector<int> tensors;  // those that may be read
    if (o_.resident) {
      for (int i = 0; i < 2; ++i) tensors.push_back(builder_.Input(fmt::format("x{}", i), Bytes()));
    }
    const auto num_inputs = static_cast<int>(tensors.size());
    // Ids in an order of their own, so that listing order and topological order differ.
    for (int v = 0; v < o_.num_ops; ++v) {
      std::vector<Nanos> costs;
      for (int d = 0; d < o_.num_devices; ++d) {
        costs.push_back(o_.zero_costs && Chance(0.25) ? 0 : Duration(10) + !o_.zero_costs);
      }
      if (o_.forbidden && Chance(0.2)) costs[UniformInt(rng_, o_.num_devices)] = kMaxNanos;
      if (std::ranges::all_of(costs, [](Nanos c) { return c == kMaxNanos; })) costs[0] = 1;
      builder_.Op(fmt::format("op{}", v), costs, {}, Bytes());
      if (!o_.interference) continue;
      std::vector<Interference> figures(o_.num_devices);
      for (Interference& on_device : figures) on_device = Chance(0.8) ? Figures() : Interference{};
      builder_.Interfere(v, figures);
    }
    std::vector<int> order(o_.num_ops);
    for (int v = 0; v < o_.num_ops; ++v) order[v] = v;
    for (int v = o_.num_ops - 1; v > 0; --v) std::swap(order[v], order[UniformInt(rng_, v + 1)]);
    for (int position = 0; position < o_.num_ops; ++position) {
      const int v = order[position];
      emplace::Op& op = builder_.op(v);
      const int reads = UniformInt(rng_, 4);
      for (int i = 0; i < reads && !tensors.empty(); ++i) {
        const int recent = std::min<int>(static_cast<int>(tensors.size()), 12);
        op.inputs.push_back(tensors[tensors.size() - 1 - UniformInt(rng_, recent)]);
      }
      if (num_inputs > 0 && Chance(0.2)) op.inputs.push_back(tensors[UniformInt(rng_, num_inputs)]);
      if (o_.control_edges && position > 0 && Chance(0.3)) {
        op.control_inputs.push_back(order[UniformInt(rng_, position)]);
      }
      if (Chance(0.2)) builder_.AddOutput(v, fmt::format("op{}:1", v), Bytes());
      if (o_.resident) Decorate(v);
      for (int t : builder_.op(v).outputs) tensors.push_back(t);
    }
  }

  void Decorate(int v) {
    emplace::Op& op = builder_.op(v);
    if (Chance(0.3)) op.workspace_bytes = Bytes();
    Tensor& output = builder_.output(v);
    const double choice = Uniform01(rng_);
    if (choice < 0.1) {
      output.role = TensorRole::kParameter;
    } else if (choice < 0.15) {
      output.role = TensorRole::kOptimizerState;
    } else if (choice < 0.25) {
      output.role = TensorRole::kOutput;
    } else if (choice < 0.45 && !op.inputs.empty()) {
      output.alias_of = op.inputs[0];
      if (choice < 0.3) output.role = TensorRole::kOutput;  // keeps the buffer
    }
  }

  Rng& rng_;
  const RandomProblemOptions& o_;
  ProblemBuilder builder_;
  int num_channels_ = 0;
};

}  // namespace

std::shared_ptr<const Problem> WithObjective(const Problem& problem, Objective objective) {
  return std::make_shared<Problem>(std::make_shared<Graph>(problem.graph()),
                                   problem.grouping(),
                                   std::make_shared<Cluster>(problem.cluster()),
                                   problem.costs(),
                                   objective,
                                   ProblemChecks::kPlacementOnly);
}

std::shared_ptr<const Problem> WithEqualKinds(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  std::vector<Device> devices(cluster.devices().begin(), cluster.devices().end());
  for (Device& device : devices) device.kind = 0;
  std::vector<std::vector<int>> routes;
  for (int i = 0; i < problem.num_devices(); ++i) {
    for (int j = 0; j < problem.num_devices(); ++j) {
      const auto route = cluster.route(i, j);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<Problem>(
      std::make_shared<Graph>(problem.graph()),
      problem.grouping(),
      std::make_shared<Cluster>("equal",
                                std::vector{cluster.kind_of(0)},
                                devices,
                                std::vector(cluster.channels().begin(), cluster.channels().end()),
                                routes),
      problem.costs(),
      problem.objective());
}

std::shared_ptr<const Problem> RandomProblem(Rng& rng, const RandomProblemOptions& options) {
  return Generator(rng, options).Generate();
}

Placement RandomPlacement(Rng& rng, const Problem& problem) {
  Placement placement;
  for (int group = 0; group < problem.num_groups(); ++group) {
    int device = UniformInt(rng, problem.num_devices());
    while (!problem.allowed(group, device)) device = (device + 1) % problem.num_devices();
    placement.device.push_back(static_cast<DeviceIndex>(device));
  }
  return placement;
}

std::vector<Placement> AllPlacements(const Problem& problem) {
  std::vector<Placement> placements(1);
  for (int g = 0; g < problem.num_groups(); ++g) {
    std::vector<Placement> longer;
    for (const Placement& placement : placements) {
      for (int d = 0; d < problem.num_devices(); ++d) {
        if (!problem.allowed(g, d)) continue;
        longer.push_back(placement);
        longer.back().device.push_back(static_cast<DeviceIndex>(d));
      }
    }
    placements = std::move(longer);
  }
  return placements;
}

std::vector<int> RandomIssueOrder(Rng& rng, const Graph& graph) {
  std::vector<std::int64_t> priority(graph.num_ops());
  for (std::int64_t& p : priority) p = UniformInt(rng, 1'000'000);
  return IssueOrder(graph, priority);
}

}  // namespace emplace::testing

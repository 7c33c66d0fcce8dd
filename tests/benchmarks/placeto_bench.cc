// Learning speed, one thread: one episode of Placeto's policy and the update from it. T states,
// each drawn from the one before, go through the network one after another without gradients; then
// all of them again in batches, with loss = mean(advantage * log p) - weight * entropy, backward,
// and Adam with clipped norm. Without the simulator: start times are drawn. `episodes` is episodes
// per second. The counters T (groups), D (devices), F (features of a group, and width), rounds and
// batch (states) tell scripts/compare_pytorch.py the shapes.

#include <algorithm>
#include <string>

#include <benchmark/benchmark.h>

#include "agents/placeto/placeto_network.h"
#include "framework/learn/categorical.h"
#include "framework/learn/optimizer.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kBatchRows = 1024;  // as agents/placeto/placeto_learner.cc

// Four chains with links between them: group v reads v - 4 and every third one v - 7.
std::shared_ptr<const Problem> LinkedChains(int num_ops, int num_devices) {
  ProblemBuilder builder;
  for (int d = 0; d < num_devices; ++d) builder.Device("gpu:" + std::to_string(d));
  builder.AllToAll(1'000, kGigabytePerSecond);
  for (int v = 0; v < num_ops; ++v) {
    std::vector<int> inputs;
    if (v >= 4) inputs.push_back(v - 4);
    if (v >= 7 && v % 3 == 0) inputs.push_back(v - 7);
    builder.Op("op" + std::to_string(v), {1'000 + v % 7}, inputs, 1 + v % 11);
  }
  return builder.Build();
}

void DrawStarts(std::vector<Nanos>& start, Rng& rng) {
  for (Nanos& time : start) time = UniformInt(rng, 1'000'000);
}

void BM_PlacetoEpisode(benchmark::State& state) {
  const int num_groups = static_cast<int>(state.range(0));
  const int num_devices = static_cast<int>(state.range(1));
  const auto problem = LinkedChains(num_groups, num_devices);
  const PlacetoNetworkConfig config;
  const PlacetoGraph graph(*problem, config.mean());
  const PlacetoFeatures features(*problem, graph, config.features, "features");
  Rng rng(1);
  ParameterSet parameters;
  const PlacetoNetwork network(config, num_devices, parameters, rng);
  Optimizer optimizer({.schedule = {.learning_rate = 1e-4}}, parameters, "optimizer");
  Matrix advantages(num_groups, 1);
  for (float& advantage : advantages.reshaped())
    advantage = static_cast<float>(Uniform01(rng) - 0.5);
  const PlacetoState first{.placement = RandomPlacement(rng, *problem),
                           .start = std::vector<Nanos>(num_groups),
                           .visited = std::vector<bool>(num_groups)};
  const int batch_states = std::max(1, kBatchRows / num_groups);

  for (auto _ : state) {
    std::vector<PlacetoState> states;
    std::vector<int> chosen;
    PlacetoState now = first;
    for (int group = 0; group < num_groups; ++group) {
      now.current = group;
      DrawStarts(now.start, rng);
      states.push_back(now);
      Tape tape(false);
      const PlacetoState* only[] = {&now};
      const PlacetoBatch batch = features.Batch(only);
      const Var choices = network.LogProbabilities(tape, graph, batch);
      chosen.push_back(SampleRows(tape.value(choices), rng)[0]);
      now.placement.device[group] = chosen.back();
      now.visited[group] = true;
    }
    Tape tape;
    for (int begin = 0; begin < num_groups; begin += batch_states) {
      const int count = std::min(batch_states, num_groups - begin);
      std::vector<const PlacetoState*> some;
      for (int t = begin; t < begin + count; ++t) some.push_back(&states[t]);
      const PlacetoBatch batch = features.Batch(some);
      const Var choices = network.LogProbabilities(tape, graph, batch);
      const Var picked =
          Pick(tape, choices, {chosen.begin() + begin, chosen.begin() + begin + count});
      const Var costs = Multiply(tape, picked, tape.Constant(advantages.middleRows(begin, count)));
      const Var loss = Subtract(tape, costs, Scale(tape, Entropy(tape, choices), 0.01F));
      tape.Backward(Scale(tape, SumAll(tape, loss), 1.0F / static_cast<float>(num_groups)));
      tape.Clear();
    }
    benchmark::DoNotOptimize(optimizer.Step().gradient_norm);
  }
  state.counters["episodes"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["T"] = num_groups;
  state.counters["D"] = num_devices;
  state.counters["F"] = PlacetoFeatures::group_width(config.features, num_devices);
  state.counters["rounds"] = config.rounds;
  state.counters["batch"] = batch_states;
}

// The size of the generated families' graphs, with 2 and 5 devices.
BENCHMARK(BM_PlacetoEpisode)
    ->Args({128, 2})
    ->Args({128, 5})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

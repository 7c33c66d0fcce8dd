// Learning speed, one thread: one update of the sequence-to-sequence policy. K placements sampled
// in one pass, loss = mean(advantage * log p) - weight * entropy, backward, Adam with clipped norm;
// without evaluations. `samples` is placements per second. The counters T (groups), D (devices), F
// (width of a group's features), H (hidden), A (attention), K tell scripts/compare_pytorch.py the
// shapes.

#include <string>

#include <benchmark/benchmark.h>

#include "agents/seq2seq/seq2seq_network.h"
#include "framework/learn/optimizer.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kNumKinds = 20;

std::shared_ptr<const Problem> Chain(int num_ops, int num_devices) {
  ProblemBuilder builder;
  for (int d = 0; d < num_devices; ++d) builder.Device("gpu:" + std::to_string(d));
  builder.AllToAll(1'000, kGigabytePerSecond);
  for (int v = 0; v < num_ops; ++v) {
    const std::vector<int> inputs = v > 0 ? std::vector<int>{v - 1} : std::vector<int>{};
    builder.op(builder.Op("op" + std::to_string(v), {1'000 + v % 7}, inputs, 1 + v % 11)).kind =
        "kind" + std::to_string(v % kNumKinds);
  }
  return builder.Build();
}

void BM_Seq2SeqUpdate(benchmark::State& state) {
  const auto arg = [&](int i) { return static_cast<int>(state.range(i)); };
  const int num_groups = arg(0), num_devices = arg(1), width = arg(2), samples = arg(5);
  const auto problem = Chain(num_groups, num_devices);
  Seq2SeqNetworkConfig config{.hidden = arg(3), .attention = arg(4), .aligned = false};
  config.features = {.output_sizes = 0,
                     .adjacency = false,
                     .device_costs = false,
                     .resident_bytes = false,
                     .position = false};
  config.features.output_sizes = width - config.type_vector;

  Rng rng(1);
  ParameterSet parameters;
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
  const Seq2SeqInputs inputs(*problem, vocabulary, config.features);
  const Seq2SeqNetwork network(config, vocabulary, parameters, rng);
  const OptimizerConfig optimizer_config{.schedule = {.learning_rate = 1e-4}};
  Optimizer optimizer(optimizer_config, parameters, "optimizer");
  Matrix advantages(samples, 1);
  for (float& advantage : advantages.reshaped())
    advantage = static_cast<float>(Uniform01(rng) - 0.5);

  Tape tape;
  for (auto _ : state) {
    const Seq2SeqNetwork::Rollout rollout = network.Sample(tape, inputs, samples, rng);
    const Var cost =
        MeanAll(tape, Multiply(tape, rollout.log_probability, tape.ConstantView(advantages)));
    const Var entropy = Scale(tape, MeanAll(tape, rollout.entropy), 0.01F);
    tape.Backward(Subtract(tape, cost, entropy));
    benchmark::DoNotOptimize(optimizer.Step().gradient_norm);
    tape.Clear();
  }
  state.counters["samples"] = benchmark::Counter(static_cast<double>(state.iterations() * samples),
                                                 benchmark::Counter::kIsRate);
  const std::vector<std::string> names = {"T", "D", "F", "H", "A", "K"};
  for (std::size_t i = 0; i < names.size(); ++i)
    state.counters[names[i]] = arg(static_cast<int>(i));
  state.counters["kinds"] = kNumKinds;
  state.counters["type_vector"] = config.type_vector;
  state.counters["device_vector"] = config.device_vector;
}

// The groups of ICML 2017's RNNLM and NMT, with 2 and 4 GPUs and the CPU; and a small one.
BENCHMARK(BM_Seq2SeqUpdate)
    ->Args({188, 3, 300, 256, 256, 8})
    ->Args({280, 5, 400, 256, 256, 8})
    ->Args({128, 3, 100, 64, 64, 8})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

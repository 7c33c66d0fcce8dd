#include "experiments/plan/plan_model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "framework/cost/cost_model.h"
#include "framework/plan/micro_batches.h"
#include "framework/plan/recompute.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

// Adds the bytes of tensors that cross between layers to forward_cut and backward_cut.
void AddCuts(const Graph& graph, const std::vector<int>& layer, LayerCosts& costs) {
  std::vector<std::int64_t> forward(costs.num_layers + 1), backward(costs.num_layers + 1);
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer < 0 || layer[tensor.producer] < 0) continue;
    const Op& producer = graph.op(tensor.producer);
    if (producer.IsStorage() || producer.phase == Phase::kUpdate) continue;
    int least = layer[tensor.producer], most = least;
    for (int reader : graph.readers(t)) {
      if (layer[reader] < 0) continue;
      least = std::min(least, layer[reader]);
      most = std::max(most, layer[reader]);
    }
    // Difference arrays: a cut l is between layers l and l + 1.
    forward[layer[tensor.producer]] += tensor.bytes;
    forward[most] -= tensor.bytes;
    backward[least] += tensor.bytes;
    backward[layer[tensor.producer]] -= tensor.bytes;
  }
  std::int64_t running_forward = 0, running_backward = 0;
  for (int l = 0; l < costs.num_layers; ++l) {
    costs.forward_cut.push_back(running_forward += forward[l]);
    costs.backward_cut.push_back(running_backward += backward[l]);
  }
}

// Sums of the layers of a stage.
struct StageCosts {
  Nanos forward = 0, backward = 0, sum = 0, update = 0;
  std::int64_t resident = 0, gradient = 0, kept = 0;
};

StageCosts SumStage(const LayerCosts& costs, int begin, int end, int device) {
  StageCosts stage;
  for (int l = begin; l < end; ++l) {
    stage.forward += costs.forward[costs.at(l, device)];
    stage.backward += costs.backward[costs.at(l, device)];
    stage.sum += costs.sum[costs.at(l, device)];
    stage.update += costs.update[costs.at(l, device)];
    stage.resident += costs.resident[l];
    stage.gradient += costs.gradient[l];
    stage.kept += costs.kept[l];
  }
  return stage;
}

}  // namespace

LayerCosts SumLayers(const PlanSetting& setting,
                     const ModelLayers& layers,
                     std::span<const std::string> recompute,
                     bool several) {
  const PlannedGraph planned =
      CopyMicroBatches(Recompute(*setting.step, recompute), several ? 2 : 1);
  const Graph& graph = planned.graph;
  const Costs times =
      ComputeCosts(graph,
                   *setting.cluster,
                   setting.where,
                   {.table = setting.table.get(), .apart = CountsNeighbors(setting.semantics)});
  LayerCosts costs;
  costs.num_layers = layers.num_layers();
  costs.num_devices = times.num_devices;
  const std::size_t size = costs.at(costs.num_layers, 0);
  for (auto* of : {&costs.forward, &costs.backward, &costs.sum, &costs.update}) of->resize(size);
  for (auto* of : {&costs.resident, &costs.gradient, &costs.kept}) of->resize(costs.num_layers);
  std::vector<int> layer(graph.num_ops());  // -1: of a further micro-batch
  for (int op = 0; op < graph.num_ops(); ++op) {
    const PlannedOp& origin = planned.ops[op];
    const bool sum = origin.role == PlannedRole::kAccumulate;
    layer[op] = origin.micro_batch > 0 ? -1 : layers.layer_of_op[origin.op];
    if (origin.micro_batch > 0 && !sum) continue;
    const bool once = graph.op(op).phase == Phase::kUpdate || graph.op(op).IsStorage();
    auto& of = sum                                     ? costs.sum
               : once                                  ? costs.update
               : graph.op(op).phase == Phase::kForward ? costs.forward
                                                       : costs.backward;
    for (int d = 0; d < costs.num_devices; ++d) {
      const Nanos cost = times.at(op, d);
      costs.job_cost.push_back(cost);
      if (cost < kMaxNanos) of[costs.at(layers.layer_of_op[origin.op], d)] += cost;
    }
    costs.job_times.push_back(sum    ? LayerCosts::Times::kFurther
                              : once ? LayerCosts::Times::kOnce
                                     : LayerCosts::Times::kMicroBatches);
  }
  std::vector<bool> kept(graph.num_tensors());  // read by the backward pass, by root
  for (int t = 0; t < graph.num_tensors(); ++t) {
    for (int reader : graph.readers(t)) {
      if (graph.op(reader).phase == Phase::kBackward) kept[graph.alias_root(t)] = true;
    }
  }
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer < 0 || layer[tensor.producer] < 0 || tensor.alias_of >= 0) continue;
    const int l = layer[tensor.producer];
    if (IsResident(tensor)) {
      costs.resident[l] += tensor.bytes;
    } else if (graph.op(tensor.producer).phase == Phase::kForward) {
      if (kept[t]) costs.kept[l] += tensor.bytes;
    } else if (graph.op(tensor.producer).phase == Phase::kBackward) {
      const bool gradient = std::ranges::any_of(graph.readers(t), [&](int reader) {
        return graph.op(reader).phase == Phase::kUpdate ||
               planned.ops[reader].role == PlannedRole::kAccumulate;
      });
      if (gradient) costs.gradient[l] += tensor.bytes;
    }
  }
  AddCuts(graph, layer, costs);
  return costs;
}

Estimate EstimatePlan(const LayerCosts& costs,
                      const Cluster& cluster,
                      const Stages& stages,
                      int micro_batches,
                      Schedule schedule,
                      double reduce_ns_per_byte) {
  const int count = static_cast<int>(stages.end.size());
  std::vector<StageCosts> of;
  std::vector<Nanos> send(count), receive(count);  // message to the next stage, and back
  for (int s = 0; s < count; ++s) {
    const int begin = s > 0 ? stages.end[s - 1] : 0;
    of.push_back(SumStage(costs, begin, stages.end[s], stages.device[s]));
    if (s + 1 == count) break;
    const int last = stages.end[s] - 1, a = stages.device[s], b = stages.device[s + 1];
    if (costs.forward_cut[last] > 0) send[s] = cluster.TransferTime(a, b, costs.forward_cut[last]);
    if (costs.backward_cut[last] > 0) {
      receive[s] = cluster.TransferTime(b, a, costs.backward_cut[last]);
    }
  }
  // Ends of the passes; 0: not yet. Each stage alternates as its schedule says.
  std::vector<Nanos> forward(std::size_t(count) * micro_batches, -1), backward = forward;
  std::vector<Nanos> free(count);
  std::vector<int> done_forward(count), done_backward(count);
  const auto at = [&](int s, int m) { return std::size_t(s) * micro_batches + m; };
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < count; ++s) {
      const int ahead = schedule == Schedule::kGpipe ? micro_batches : count - 1 - s;
      while (done_backward[s] < micro_batches) {
        const int f = done_forward[s], b = done_backward[s];
        const bool is_forward = f < micro_batches && f - b <= ahead;
        Nanos ready = 0;
        if (is_forward) {
          if (s > 0) ready = forward[at(s - 1, f)];
        } else {
          ready = s + 1 < count ? backward[at(s + 1, b)] : forward[at(s, b)];
        }
        if (ready < 0) break;
        if (is_forward && s > 0) ready += send[s - 1];
        if (!is_forward && s + 1 < count) ready += receive[s];
        free[s] = std::max(free[s], ready);
        if (is_forward) {
          forward[at(s, f)] = free[s] += of[s].forward;
          ++done_forward[s];
        } else {
          backward[at(s, b)] = free[s] += of[s].backward + (b > 0 ? of[s].sum : 0);
          ++done_backward[s];
        }
        progress = true;
      }
    }
  }
  Estimate estimate;
  for (int s = 0; s < count; ++s) {
    Nanos end = free[s];
    if (reduce_ns_per_byte > 0) {
      // All-reduces overlap with the last backward pass, except for a fifth of it.
      const auto reduce =
          static_cast<Nanos>(reduce_ns_per_byte * static_cast<double>(of[s].gradient));
      end += std::max(reduce - of[s].backward * 4 / 5, reduce / 5);
    }
    estimate.time = std::max(estimate.time, end + of[s].update);
    const int in_flight =
        schedule == Schedule::kGpipe ? micro_batches : std::min(micro_batches, count - s);
    const std::int64_t memory = cluster.device(stages.device[s]).memory;
    const std::int64_t peak = of[s].resident + of[s].gradient + in_flight * of[s].kept;
    if (memory < peak) estimate.deficit += peak - memory;
  }
  return estimate;
}

Stages BalancedStages(const LayerCosts& costs,
                      const Cluster& cluster,
                      const std::vector<std::vector<int>>& classes,
                      int num_stages) {
  const int num_layers = costs.num_layers, num_classes = static_cast<int>(classes.size());
  std::vector<std::vector<StageCosts>> before(costs.num_devices);  // [devices][layers + 1] sums
  for (const std::vector<int>& devices : classes) {
    for (int d : devices) {
      before[d].resize(num_layers + 1);
      for (int l = 0; l < num_layers; ++l) {
        before[d][l + 1] = before[d][l];
        before[d][l + 1].forward += costs.forward[costs.at(l, d)] + costs.backward[costs.at(l, d)];
        before[d][l + 1].resident += costs.resident[l];
      }
    }
  }
  // A state is the number of used devices of each class, and the last class.
  struct State {
    Nanos slowest = kMaxNanos;
    std::pair<std::vector<int>, int> from;
    int begin = 0;
  };
  using Key = std::pair<std::vector<int>, int>;              // used devices, last class
  std::vector<std::map<Key, State>> states(num_layers + 1);  // by the layers before
  states[0][{std::vector<int>(num_classes), -1}] = {.slowest = 0};
  for (int begin = 0; begin < num_layers; ++begin) {
    for (const auto& [key, state] : states[begin]) {
      const auto& [used, last] = key;
      int stage = 0;
      for (int count : used) stage += count;
      if (stage == num_stages) continue;
      const int previous = last < 0 ? -1 : classes[last][used[last] - 1];
      for (int k = 0; k < num_classes; ++k) {
        if (used[k] == static_cast<int>(classes[k].size())) continue;
        const int device = classes[k][used[k]];
        Nanos message = 0;
        if (previous >= 0) {
          message = cluster.TransferTime(previous, device, costs.forward_cut[begin - 1]);
          if (message == kMaxNanos) continue;
        }
        Key next{used, k};
        ++next.first[k];
        const int left = num_stages - stage - 1;
        for (int end = left == 0 ? num_layers : begin + 1; end <= num_layers - left; ++end) {
          const StageCosts &a = before[device][begin], &b = before[device][end];
          if (b.resident - a.resident > cluster.device(device).memory) break;
          const Nanos slowest = std::max(state.slowest, b.forward - a.forward + message);
          State& to = states[end][next];
          if (slowest < to.slowest) to = {slowest, key, begin};
        }
      }
    }
  }
  Stages stages;
  const State* best = nullptr;
  Key key;
  for (const auto& [end_key, state] : states[num_layers]) {
    if (best != nullptr && state.slowest >= best->slowest) continue;
    best = &state;
    key = end_key;
  }
  for (int end = num_layers; best != nullptr && end > 0;) {
    const State& state = states[end].at(key);
    stages.end.push_back(end);
    stages.device.push_back(classes[key.second][key.first[key.second] - 1]);
    end = state.begin;
    key = state.from;
  }
  std::ranges::reverse(stages.end);
  std::ranges::reverse(stages.device);
  return stages;
}

}  // namespace emplace

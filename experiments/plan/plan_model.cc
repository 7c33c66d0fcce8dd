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

bool IsOnce(const Op& op) {
  return op.phase == Phase::kUpdate || op.IsStorage();
}

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

// Sums of the layers of a stage, and its messages.
struct StageCosts : PassTimes {
  Nanos update = 0;
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
  LayerCosts costs{.planned =
                       CopyMicroBatches(Recompute(*setting.step, recompute), several ? 2 : 1)};
  const PlannedGraph& planned = costs.planned;
  const Graph& graph = planned.graph;
  const Costs& times = costs.times =
      ComputeCosts(graph,
                   *setting.cluster,
                   setting.where,
                   {.table = setting.table.get(), .apart = CountsNeighbors(setting.semantics)});
  costs.num_layers = layers.num_layers();
  costs.num_devices = times.num_devices;
  const std::size_t size = costs.at(costs.num_layers, 0);
  for (auto* of : {&costs.forward, &costs.backward, &costs.sum, &costs.update}) of->resize(size);
  for (auto* of : {&costs.resident, &costs.gradient, &costs.kept, &costs.held}) {
    of->resize(costs.num_layers);
  }
  std::vector<int> layer(graph.num_ops());  // -1: of a further micro-batch
  for (int op = 0; op < graph.num_ops(); ++op) {
    const PlannedOp& origin = planned.ops[op];
    const bool sum = origin.role == PlannedRole::kAccumulate;
    costs.layer_of_op.push_back(layers.layer_of_op[origin.op]);
    layer[op] = origin.micro_batch > 0 ? -1 : costs.layer_of_op[op];
    if (origin.micro_batch > 0 && !sum) continue;
    auto& of = sum                                     ? costs.sum
               : IsOnce(graph.op(op))                  ? costs.update
               : graph.op(op).phase == Phase::kForward ? costs.forward
                                                       : costs.backward;
    for (int d = 0; d < costs.num_devices; ++d) {
      const Nanos cost = times.at(op, d);
      if (cost < kMaxNanos) of[costs.at(costs.layer_of_op[op], d)] += cost;
    }
  }
  // Read by the backward pass; also by an op of the layer of the producer. By root.
  std::vector<bool> kept(graph.num_tensors()), held(graph.num_tensors());
  const auto layer_of = [&](int t) {
    const int producer = graph.tensor(t).producer;
    return producer < 0 ? -1 : layer[producer];
  };
  const auto everywhere = [&](int op) {  // runs on the device of its stage
    if (op < 0) return false;
    for (int d = 0; d < costs.num_devices; ++d) {
      if (HasStages(*setting.cluster, d) && !times.allowed(op, d)) return false;
    }
    return true;
  };
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const int root = graph.alias_root(t);
    for (int reader : graph.readers(t)) {
      if (graph.op(reader).phase != Phase::kBackward) continue;
      kept[root] = true;
      if (layer_of(t) != layer_of(root) || layer[reader] != layer_of(root)) continue;
      if (everywhere(graph.tensor(root).producer) && everywhere(reader)) held[root] = true;
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
      if (held[t]) costs.held[l] += tensor.bytes;
    } else if (graph.op(tensor.producer).phase == Phase::kBackward) {
      const bool gradient = std::ranges::any_of(graph.readers(t), [&](int reader) {
        return graph.op(reader).phase == Phase::kUpdate ||
               planned.ops[reader].role == PlannedRole::kAccumulate;
      });
      if (gradient) costs.gradient[l] += tensor.bytes;
    }
  }
  AddCuts(graph, layer, costs);
  for (const auto& [of, sums] : {std::pair(&costs.resident, &costs.resident_before),
                                 std::pair(&costs.held, &costs.held_before)}) {
    sums->push_back(0);
    for (std::int64_t bytes : *of) sums->push_back(sums->back() + bytes);
  }
  return costs;
}

bool LayerCosts::CanFit(const StageChoice& stage, const Cluster& cluster, int in_flight) const {
  return resident_before[stage.end] - resident_before[stage.begin] +
             in_flight * (held_before[stage.end] - held_before[stage.begin]) <=
         cluster.device(stage.device).memory;
}

int InFlight(int micro_batches, int following_stages, Schedule schedule) {
  return schedule == Schedule::kGpipe ? micro_batches
                                      : std::min(micro_batches, following_stages + 1);
}

Nanos LayerCosts::Executions(int op, int micro_batches) const {
  const PlannedOp& origin = planned.ops[op];
  if (origin.role == PlannedRole::kAccumulate) return micro_batches - 1;
  if (origin.micro_batch > 0) return 0;
  return IsOnce(planned.graph.op(op)) ? 1 : micro_batches;
}

Estimate EstimatePlan(const LayerCosts& costs,
                      const Cluster& cluster,
                      const Stages& stages,
                      int micro_batches,
                      Schedule schedule,
                      double reduce_ns_per_byte,
                      Objective objective) {
  const bool period = objective == Objective::kPeriod;
  const int count = static_cast<int>(stages.end.size()), num_devices = stages.num_devices();
  const auto passes = PassesOf(
      num_devices, count / num_devices, micro_batches, period ? Schedule::kGpipe : schedule);
  std::vector<StageCosts> of;
  std::vector<PassTimes> times;
  for (int s = 0; s < count; ++s) {
    const int begin = s > 0 ? stages.end[s - 1] : 0;
    StageCosts& stage = of.emplace_back(SumStage(costs, begin, stages.end[s], stages.device[s]));
    if (s + 1 < count) {
      const int last = stages.end[s] - 1, a = stages.device[s], b = stages.device[s + 1];
      const std::int64_t forward = costs.forward_cut[last], backward = costs.backward_cut[last];
      if (forward > 0) stage.send = cluster.TransferTime(a, b, forward);
      if (backward > 0) stage.receive = cluster.TransferTime(b, a, backward);
    }
    times.push_back(stage);
  }
  Estimate estimate;
  std::vector<StageCosts> on(num_devices);  // sums of the stages of each device
  std::int64_t gradients = 0;
  for (int d = 0; d < num_devices; ++d) {
    for (int s = d; s < count; s += num_devices) {
      on[d].backward += of[s].backward;
      on[d].update += of[s].update;
      on[d].resident += of[s].resident;
      on[d].gradient += of[s].gradient;
    }
    std::int64_t kept = 0, most = 0;  // from forward to backward passes
    for (const Pass& pass : passes[d]) {
      kept += pass.backward ? -of[pass.stage].kept : of[pass.stage].kept;
      most = std::max(most, kept);
    }
    const std::int64_t memory = cluster.device(stages.device[d]).memory;
    const std::int64_t peak = on[d].resident + on[d].gradient + most;
    if (memory < peak) estimate.deficit += peak - memory;
    gradients += on[d].gradient;
  }
  if (period) {
    estimate.time = static_cast<Nanos>(reduce_ns_per_byte * static_cast<double>(gradients));
    for (int s = 0; s < count; ++s) {
      Nanos pass = of[s].forward + of[s].backward + of[s].sum + of[s].send + of[s].receive;
      if (s > 0) pass += of[s - 1].send + of[s - 1].receive;
      estimate.time = std::max(estimate.time, micro_batches * pass - of[s].sum + of[s].update);
    }
    return estimate;
  }
  const auto ends = PassEnds(passes, times, micro_batches);
  for (int d = 0; d < num_devices; ++d) {
    const Pass& last = passes[d].back();
    Nanos end = ends[last.backward][std::size_t(last.stage) * micro_batches + last.micro_batch];
    if (reduce_ns_per_byte > 0) {
      // All-reduces overlap with the last backward pass, except for a fifth of it.
      const auto reduce =
          static_cast<Nanos>(reduce_ns_per_byte * static_cast<double>(on[d].gradient));
      end += std::max(reduce - on[d].backward * 4 / 5, reduce / 5);
    }
    estimate.time = std::max(estimate.time, end + on[d].update);
  }
  return estimate;
}

std::vector<BalancedStages> BalanceLayers(const LayerCosts& costs,
                                          const Cluster& cluster,
                                          const std::vector<std::vector<int>>& classes,
                                          int micro_batches,
                                          Schedule schedule) {
  std::vector<std::vector<Nanos>> work(
      costs.num_devices);  // [devices][layers + 1] before the layer
  for (int d = 0; d < costs.num_devices; ++d) {
    work[d] = {0};
    for (int l = 0; l < costs.num_layers; ++l) {
      const std::size_t at = costs.at(l, d);
      work[d].push_back(work[d][l] + costs.forward[at] + costs.backward[at]);
    }
  }
  return BalanceStages(costs.num_layers, classes, [&](const StageChoice& stage) {
    const int in_flight = InFlight(micro_batches, stage.following, schedule);
    if (!costs.CanFit(stage, cluster, in_flight)) return kMaxNanos;
    const Nanos own = work[stage.device][stage.end] - work[stage.device][stage.begin];
    if (stage.next < 0) return own;
    const Nanos message =
        cluster.TransferTime(stage.device, stage.next, costs.forward_cut[stage.end - 1]);
    return message < kMaxNanos ? own + message : kMaxNanos;
  });
}

}  // namespace emplace

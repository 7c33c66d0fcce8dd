#include "experiments/plan/plan_launch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/console/menu.h"
#include "experiments/plan/plan_divisions.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

struct StageLayers {
  bool input = false, output = false;
  int blocks = 0;
};

std::vector<StageLayers> StagesOfPlan(const std::string& framework,
                                      const FoundPlan& plan,
                                      const std::vector<std::string>& layers) {
  const auto& first = plan.stages.front().end;
  if (std::ranges::any_of(plan.stages, [&](const Stages& each) { return each.end != first; })) {
    throw InputError(
        fmt::format("--to {}: the stages of the replicas differ, which {} does not know",
                    framework,
                    framework));
  }
  std::vector<StageLayers> stages;
  int begin = 0;
  for (int end : first) {
    StageLayers& stage = stages.emplace_back();
    for (int i = begin; i < end; ++i) {
      if (layers[i].starts_with("unit ")) {
        throw InputError(fmt::format(
            "--to {}: the model has no repeated blocks; name them with --layers", framework));
      }
      if (layers[i] == "input") {
        stage.input = true;
      } else if (layers[i] == "output") {
        stage.output = true;
      } else {
        ++stage.blocks;
      }
    }
    begin = end;
  }
  return stages;
}

// Returns the devices of the ranks, which are numbered by stage, then by replica.
std::vector<int> DevicesByStage(const FoundPlan& plan, const Cluster& cluster) {
  const auto groups = DeviceGroups(plan.plan, cluster);
  std::vector<int> devices;
  for (int s = 0; s < plan.num_stages; ++s) {
    const int first = plan.stages[0].device[s];
    const auto place = std::ranges::find(groups[0], first) - groups[0].begin();
    for (std::size_t r = 0; r < groups.size(); ++r) {
      devices.push_back(plan.stages.size() == 1 ? groups[r][place] : plan.stages[r].device[s]);
    }
  }
  return devices;
}

// Returns the devices of the ranks, which are numbered by replica, then by stage.
std::vector<int> DevicesByReplica(const FoundPlan& plan, const Cluster& cluster) {
  const std::vector<int> by_stage = DevicesByStage(plan, cluster);
  std::vector<int> devices;
  for (int r = 0; r < plan.plan.replicas; ++r) {
    for (int s = 0; s < plan.num_stages; ++s) {
      devices.push_back(by_stage[s * plan.plan.replicas + r]);
    }
  }
  return devices;
}

// Returns whether the ranks have the first devices in their order.
bool AreFirstDevices(const std::vector<int>& devices, const Cluster& cluster) {
  const std::vector<int> all = StageDevices(cluster);
  return devices.size() <= all.size() && std::equal(devices.begin(), devices.end(), all.begin());
}

// Returns a comment with the devices of the ranks; nothing if they are in their order.
std::string RanksText(const std::vector<int>& devices, const Cluster& cluster) {
  if (AreFirstDevices(devices, cluster)) return "";
  std::vector<std::string> names;
  for (int device : devices) names.push_back(cluster.device(device).name);
  return fmt::format("# GPUs of ranks 0, 1, ...: {}\n", fmt::join(names, ", "));
}

std::string Megatron(const FoundPlan& plan,
                     const std::vector<StageLayers>& stages,
                     int ranks,
                     int micro_batch,
                     int batch,
                     const Cluster& cluster) {
  std::string text =
      fmt::format("--tensor-model-parallel-size {}\n--pipeline-model-parallel-size {}\n",
                  ranks,
                  plan.num_stages);
  if (stages.size() > 1) {
    std::vector<std::string> layout;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      std::string& stage = layout.emplace_back(s == 0 ? "E" : "");
      if (stages[s].blocks > 0) stage += fmt::format("t*{}", stages[s].blocks);
      if (s + 1 == stages.size()) stage += "L";
    }
    text += fmt::format("--pipeline-model-parallel-layout \"{}\"\n", fmt::join(layout, "|"));
  }
  text += fmt::format("--micro-batch-size {}\n--global-batch-size {}\n", micro_batch, batch);
  if (plan.recompute) {
    text += "--recompute-granularity full\n--recompute-method uniform\n--recompute-num-layers 1\n";
  }
  const std::vector<int> devices = DevicesByStage(plan, cluster);
  if (!AreFirstDevices(devices, cluster) &&
      AreFirstDevices(DevicesByReplica(plan, cluster), cluster)) {
    return text + "--use-tp-pp-dp-mapping\n";
  }
  return text + RanksText(devices, cluster);
}

std::string DeepSpeed(const FoundPlan& plan,
                      const std::vector<std::string>& layers,
                      int micro_batch,
                      int batch,
                      const Cluster& cluster) {
  const int replicas = plan.plan.replicas;
  std::string text = fmt::format(
      "# DeepSpeed: {} replica(s) of {} stage(s); not tried out. Give deepspeed.initialize() this "
      "configuration.\n"
      "CONFIG = {{\n"
      "    \"train_batch_size\": {},\n"
      "    \"train_micro_batch_size_per_gpu\": {},\n"
      "    \"gradient_accumulation_steps\": {},\n"
      "    \"zero_optimization\": {{\"stage\": {}}}\n"
      "}}\n",
      replicas,
      plan.num_stages,
      batch,
      micro_batch,
      plan.plan.micro_batches,
      plan.plan.states == "zero1" ? 1 : 0);
  if (plan.num_stages == 1) {
    if (plan.recompute) text += "# The model recomputes the activations of every block.\n";
    return text;
  }
  std::vector<int> bounds = {0};
  bounds.insert(bounds.end(), plan.stages[0].end.begin(), plan.stages[0].end.end());
  return text + fmt::format(R"(
# model=PlannedPipeline(layers=[{}], num_stages={}, loss_fn=...{})
# Stages run 1F1B. The process of a stage of a replica has the rank stage * {} + replica.
from deepspeed.pipe import PipelineModule

BOUNDS = [{}]  # stage i has layers BOUNDS[i] ... BOUNDS[i + 1] - 1 of the list


class PlannedPipeline(PipelineModule):
    def _partition_layers(self, method="uniform"):
        if len(self._layer_specs) != BOUNDS[-1] or self._topo.get_dim("pipe") != len(BOUNDS) - 1:
            raise ValueError(f"expected {{BOUNDS[-1]}} layers in {{len(BOUNDS) - 1}} stages")
        stage = self._topo.get_coord(self.global_rank).pipe
        self.parts = BOUNDS
        self._set_bounds(start=BOUNDS[stage], stop=BOUNDS[stage + 1])
{})",
                            fmt::join(layers, ", "),
                            plan.num_stages,
                            plan.recompute ? ", activation_checkpoint_interval=1" : "",
                            replicas,
                            fmt::join(bounds, ", "),
                            RanksText(DevicesByStage(plan, cluster), cluster));
}

std::string Vllm(const FoundPlan& plan,
                 const std::vector<StageLayers>& stages,
                 int ranks,
                 const Cluster& cluster) {
  std::vector<int> blocks;
  for (const StageLayers& stage : stages) {
    if (stage.blocks == 0) {
      throw InputError("--to vllm: a stage has no block; every stage of vLLM needs one");
    }
    blocks.push_back(stage.blocks);
  }
  std::string text;
  if (stages.size() > 1) text = fmt::format("VLLM_PP_LAYER_PARTITION={}\n", fmt::join(blocks, ","));
  return text + fmt::format(
                    "--pipeline-parallel-size {}\n--tensor-parallel-size {}\n"
                    "--data-parallel-size {}\n{}",
                    stages.size(),
                    ranks,
                    plan.plan.replicas,
                    RanksText(DevicesByReplica(plan, cluster), cluster));
}

}  // namespace

const std::vector<std::string>& LaunchTargets() {
  static const std::vector<std::string> targets = {"deepspeed", "megatron", "vllm"};
  return targets;
}

std::string LaunchSettings(const std::string& framework,
                           const FoundPlan& plan,
                           const std::vector<std::string>& layers,
                           int ranks,
                           int micro_batch,
                           int batch,
                           const Cluster& cluster) {
  if (std::ranges::find(LaunchTargets(), framework) == LaunchTargets().end()) {
    ThrowUnknown("--to", "framework", framework, LaunchTargets());
  }
  if (plan.virtual_stages > 1 && framework != "megatron") {
    throw InputError(fmt::format(
        "--to {}: the plan is interleaved, with {} virtual stages on each device, and {} has one "
        "stage on each; choices: a plan of gpipe or 1f1b, --to megatron",
        framework,
        plan.virtual_stages,
        framework));
  }
  const std::vector<StageLayers> stages = StagesOfPlan(framework, plan, layers);
  if (framework == "deepspeed") {
    if (ranks == 1) return DeepSpeed(plan, layers, micro_batch, batch, cluster);
    throw InputError(
        "--to deepspeed: a training configuration has no tensor parallel size; choices: graphs of "
        "one rank, --to megatron");
  }
  return framework == "vllm" ? Vllm(plan, stages, ranks, cluster)
                             : Megatron(plan, stages, ranks, micro_batch, batch, cluster);
}

}  // namespace emplace

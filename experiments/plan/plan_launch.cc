#include "experiments/plan/plan_launch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/console/menu.h"
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

std::string Megatron(const FoundPlan& plan,
                     const std::vector<StageLayers>& stages,
                     int micro_batch,
                     int batch) {
  std::string text = fmt::format(
      "--tensor-model-parallel-size 1\n--pipeline-model-parallel-size {}\n", stages.size());
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
  return text;
}

std::string Vllm(const FoundPlan& plan, const std::vector<StageLayers>& stages) {
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
                    "--pipeline-parallel-size {}\n--tensor-parallel-size 1\n"
                    "--data-parallel-size {}\n",
                    stages.size(),
                    plan.plan.replicas);
}

}  // namespace

const std::vector<std::string>& LaunchTargets() {
  static const std::vector<std::string> targets = {"megatron", "vllm"};
  return targets;
}

std::string LaunchSettings(const std::string& framework,
                           const FoundPlan& plan,
                           const std::vector<std::string>& layers,
                           int micro_batch,
                           int batch) {
  if (std::ranges::find(LaunchTargets(), framework) == LaunchTargets().end()) {
    ThrowUnknown("--to", "framework", framework, LaunchTargets());
  }
  const std::vector<StageLayers> stages = StagesOfPlan(framework, plan, layers);
  return framework == "vllm" ? Vllm(plan, stages) : Megatron(plan, stages, micro_batch, batch);
}

}  // namespace emplace

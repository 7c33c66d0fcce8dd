#include "experiments/plan/plan_launch.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const std::vector<std::string> kLayers = {"input", "h.0", "h.1", "h.2", "h.3", "output"};

std::string Settings(const std::string& framework,
                     const FoundPlan& plan,
                     const std::vector<std::string>& layers,
                     int ranks,
                     int micro_batch,
                     int batch) {
  return LaunchSettings(framework, plan, layers, ranks, micro_batch, batch, EqualGpus(8));
}

FoundPlan TwoStages(int end) {
  FoundPlan plan;
  plan.plan.replicas = 4;
  plan.num_stages = 2;
  plan.stages = {{{end, 6}, {0, 1}}};
  return plan;
}

FoundPlan Interleaved() {
  FoundPlan plan = TwoStages(4);
  plan.schedule = Schedule::kInterleaved;
  plan.virtual_stages = 2;
  plan.stages = {{{2, 3, 4, 6}, {0, 1, 0, 1}}};
  return plan;
}

TEST_CASE("Megatron: degrees, layout and sizes") {
  FoundPlan plan = TwoStages(4);
  CHECK(Settings("megatron", plan, kLayers, 1, 2, 64) ==
        "--tensor-model-parallel-size 1\n"
        "--pipeline-model-parallel-size 2\n"
        "--pipeline-model-parallel-layout \"Et*3|t*1L\"\n"
        "--micro-batch-size 2\n"
        "--global-batch-size 64\n"
        "--use-tp-pp-dp-mapping\n");
  // The embedding alone, and recomputation.
  plan = TwoStages(1);
  plan.recompute = true;
  CHECK(Settings("megatron", plan, kLayers, 1, 1, 8).find("\"E|t*4L\"") != std::string::npos);
  CHECK(Settings("megatron", plan, kLayers, 1, 1, 8).find("--recompute-granularity full\n") !=
        std::string::npos);
  CHECK(
      Settings("megatron", plan, kLayers, 4, 1, 8).starts_with("--tensor-model-parallel-size 4\n"));
  // One stage needs no layout.
  plan.num_stages = 1;
  plan.stages = {{{6}, {0}}};
  CHECK(Settings("megatron", plan, kLayers, 1, 1, 8).find("layout") == std::string::npos);
  // Two virtual stages on each of two devices.
  CHECK(Settings("megatron", Interleaved(), kLayers, 1, 2, 64)
            .find("--pipeline-model-parallel-size 2\n"
                  "--pipeline-model-parallel-layout \"Et*1|t*1|t*1|t*1L\"\n") != std::string::npos);
}

// Two stages of four replicas on eight GPUs.
TEST_CASE("ranks have the GPUs of their stages and replicas") {
  FoundPlan plan = TwoStages(4);
  const std::string dealt = "\n# GPUs of ranks 0, 1, ...: gpu:0, gpu:4, gpu:1, gpu:5, gpu:2, ";
  const auto told = [&](const std::string& framework, const std::string& what) {
    return Settings(framework, plan, kLayers, 1, 2, 64).find(what) != std::string::npos;
  };
  // Replica r has gpu:(2 r) and gpu:(2 r + 1), as vLLM has.
  CHECK(told("megatron", "--use-tp-pp-dp-mapping\n"));
  CHECK_FALSE(told("megatron", "# GPUs"));
  CHECK(told("deepspeed", "# GPUs of ranks 0, 1, ...: gpu:0, gpu:2, gpu:4, gpu:6, gpu:1, gpu:3, "));
  CHECK_FALSE(told("vllm", "# GPUs"));
  // Replica r has gpu:r and gpu:(r + 4), as Megatron and DeepSpeed have.
  plan.stages[0].device = {0, 4};
  plan.plan.groups = ConfigNode::FromString(
      "[[gpu:0, gpu:4], [gpu:1, gpu:5], [gpu:2, gpu:6], [gpu:3, gpu:7]]", "groups");
  CHECK_FALSE(told("megatron", "mapping"));
  CHECK_FALSE(told("megatron", "# GPUs"));
  CHECK_FALSE(told("deepspeed", "# GPUs"));
  CHECK(told("vllm", dealt));
  // The first stage is on the second GPU of each replica.
  plan.stages[0].device = {4, 0};
  CHECK(told("megatron", "\n# GPUs of ranks 0, 1, ...: gpu:4, gpu:5, gpu:6, gpu:7, gpu:0, "));
}

TEST_CASE("vLLM: the blocks of each stage") {
  CHECK(Settings("vllm", TwoStages(4), kLayers, 1, 2, 64) ==
        "VLLM_PP_LAYER_PARTITION=3,1\n"
        "--pipeline-parallel-size 2\n"
        "--tensor-parallel-size 1\n"
        "--data-parallel-size 4\n");
  CHECK(Settings("vllm", TwoStages(4), kLayers, 8, 2, 64).find("--tensor-parallel-size 8\n") !=
        std::string::npos);
  CHECK(MessageOf<InputError>([] { Settings("vllm", TwoStages(1), kLayers, 1, 2, 64); }) ==
        "--to vllm: a stage has no block; every stage of vLLM needs one");
}

TEST_CASE("DeepSpeed: a configuration and the bounds of the stages") {
  FoundPlan plan = TwoStages(4);
  plan.plan.micro_batches = 8;
  plan.plan.states = "zero1";
  plan.recompute = true;
  const std::string text = Settings("deepspeed", plan, kLayers, 1, 2, 64);
  CHECK(text.starts_with(
      "# DeepSpeed: 4 replica(s) of 2 stage(s); not tried out. Give deepspeed.initialize() this "
      "configuration.\n"
      "CONFIG = {\n"
      "    \"train_batch_size\": 64,\n"
      "    \"train_micro_batch_size_per_gpu\": 2,\n"
      "    \"gradient_accumulation_steps\": 8,\n"
      "    \"zero_optimization\": {\"stage\": 1}\n"
      "}\n\n"
      "# model=PlannedPipeline(layers=[input, h.0, h.1, h.2, h.3, output], num_stages=2, "
      "loss_fn=..., activation_checkpoint_interval=1)\n"));
  CHECK(text.find("rank stage * 4 + replica") != std::string::npos);
  CHECK(text.find("\nBOUNDS = [0, 4, 6]  #") != std::string::npos);
  // One stage is data parallel, without a pipeline.
  plan.num_stages = 1;
  plan.stages = {{{6}, {0}}};
  plan.plan.states = "replicated";
  const std::string one = Settings("deepspeed", plan, kLayers, 1, 2, 64);
  CHECK(one.find("\"stage\": 0}") != std::string::npos);
  CHECK(one.find("PipelineModule") == std::string::npos);
  CHECK(one.ends_with("# The model recomputes the activations of every block.\n"));
}

TEST_CASE("what a framework cannot do is refused") {
  FoundPlan plan = TwoStages(4);
  plan.stages.push_back({{3, 6}, {2, 3}});
  CHECK(MessageOf<InputError>([] { Settings("deepspeed", TwoStages(4), kLayers, 2, 2, 64); }) ==
        "--to deepspeed: a training configuration has no tensor parallel size; choices: graphs of "
        "one rank, --to megatron");
  CHECK(MessageOf<InputError>([&] { Settings("megatron", plan, kLayers, 1, 2, 64); }) ==
        "--to megatron: the stages of the replicas differ, which megatron does not know");
  for (const std::string framework : {"deepspeed", "vllm"}) {
    CHECK(MessageOf<InputError>([&] { Settings(framework, Interleaved(), kLayers, 1, 2, 64); }) ==
          "--to " + framework +
              ": the plan is interleaved, with 2 virtual stages on each device, and " + framework +
              " has one stage on each; choices: a plan of gpipe or 1f1b, --to megatron");
  }
  const std::vector<std::string> merged = {
      "unit 0", "unit 1", "unit 2", "unit 3", "unit 4", "unit 5"};
  CHECK(MessageOf<InputError>([&] { Settings("vllm", TwoStages(4), merged, 1, 2, 64); }) ==
        "--to vllm: the model has no repeated blocks; name them with --layers");
  CHECK(MessageOf<InputError>([&] { Settings("megatro", TwoStages(4), kLayers, 1, 2, 64); }) ==
        "--to: unknown framework \"megatro\"; did you mean \"megatron\"? choices: deepspeed, "
        "megatron, vllm");
}

}  // namespace

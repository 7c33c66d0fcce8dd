#pragma once

// The settings with which a framework runs a plan.

#include <string>
#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// Returns the names of the frameworks for `emplace plan --to`: "deepspeed", "megatron", "vllm".
const std::vector<std::string>& LaunchTargets();

/// Returns the command line arguments (Megatron-LM), the environment and arguments (vLLM), or a
/// Python file (DeepSpeed), as lines of text.
///
/// - deepspeed: CONFIG, a configuration in JSON notation with the sizes of batch and micro-batch,
///   gradient accumulation and the ZeRO stage of Plan::states. With several stages also a
///   PipelineModule with the bounds of the stages in the list of layers, since no partition_method
///   takes bounds; recomputation is its activation_checkpoint_interval
/// - megatron: degrees, sizes of micro-batch and batch, --pipeline-model-parallel-layout
///   "Et*3|t*4|t*3L" (E embedding, t a Transformer block, L loss), full recomputation of every
///   block. The layout of an interleaved plan has all virtual stages, of which Megatron divides the
///   number by the pipeline size
/// - vllm: pipeline and data parallel sizes, VLLM_PP_LAYER_PARTITION: the blocks of each stage
///
/// Ranks have the GPUs in their order. Megatron numbers them by stage, then by replica;
/// --use-tp-pp-dp-mapping (Megatron-LM, commit fbb375d, 2024) by replica, then by stage. DeepSpeed
/// numbers them as the former, vLLM as the latter. If the plan needs another order of the GPUs, or
/// leaves some out, a comment has the GPUs of the ranks.
/// @param layers       ModelLayers::names of the model
/// @param ranks        TensorParallelSize()
/// @param micro_batch  samples of a micro-batch
/// @param batch        samples of a step
/// @throws InputError naming the framework: several ranks (deepspeed), virtual stages (deepspeed,
///   vllm), stages that differ between replicas, layers that are merged ops instead of blocks, a
///   stage without a block (vllm); an unknown name (with the choices)
std::string LaunchSettings(const std::string& framework,
                           const FoundPlan& plan,
                           const std::vector<std::string>& layers,
                           int ranks,
                           int micro_batch,
                           int batch,
                           const Cluster& cluster);

}  // namespace emplace

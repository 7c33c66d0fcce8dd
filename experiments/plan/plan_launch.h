#pragma once

// The settings with which a framework runs a plan.

#include <string>
#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// Returns the names of the frameworks for `emplace plan --to`: "megatron", "vllm".
const std::vector<std::string>& LaunchTargets();

/// Returns the command line arguments (Megatron-LM), or the environment and arguments (vLLM), as
/// lines of text.
///
/// - megatron: degrees, sizes of micro-batch and batch, --pipeline-model-parallel-layout
/// ("Et*3|t*4|
///   t*3L": E embedding, t a Transformer block, L loss), full recomputation of every block
/// - vllm: pipeline and data parallel sizes, VLLM_PP_LAYER_PARTITION: the blocks of each stage
/// @param layers       ModelLayers::names of the model
/// @param micro_batch  samples of a micro-batch
/// @param batch        samples of a step
/// @throws InputError naming the framework: stages that differ between replicas, layers that are
///   merged ops instead of blocks, a stage without a block (vllm); an unknown name (with the
///   choices)
std::string LaunchSettings(const std::string& framework,
                           const FoundPlan& plan,
                           const std::vector<std::string>& layers,
                           int micro_batch,
                           int batch);

}  // namespace emplace

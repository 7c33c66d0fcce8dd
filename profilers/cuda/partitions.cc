#include "profilers/cuda/partitions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/split_plan.h"

namespace emplace::cuda {

void Partitions::Destroyer::operator()(CUgreenCtx_st* context) const noexcept {
  GreenContexts().GreenCtxDestroy(context);
}

Partitions::Partitions(int gpu, const std::string& gpu_name, std::span<const int> sizes) {
  const GreenContextApi& api = GreenContexts();
  SelectGpu(gpu);
  EMPLACE_CUDA_CHECK(cudaFree(nullptr));  // creates the primary context before the green ones
  // The runtime's ordinals are the driver's device handles.
  const CUdevice device = gpu;
  CUdevResource all{};
  EMPLACE_DRIVER_CHECK(api.DeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));

  const int minimum = static_cast<int>(all.sm.minSmPartitionSize);
  for (const SplitPlan& plan : PlanSplits(sizes, minimum)) {
    const auto group_size = static_cast<unsigned>(plan.group_size);
    if (group_size > all.sm.smCount) continue;
    unsigned available = 0;
    EMPLACE_DRIVER_CHECK(
        api.DevSmResourceSplitByCount(nullptr, &available, &all, nullptr, 0, group_size));
    if (available < static_cast<unsigned>(plan.num_groups)) continue;
    std::vector<CUdevResource> groups(plan.num_groups);
    auto count = static_cast<unsigned>(plan.num_groups);
    CUdevResource rest{};
    EMPLACE_DRIVER_CHECK(
        api.DevSmResourceSplitByCount(groups.data(), &count, &all, &rest, 0, group_size));
    // A GPU may round group sizes up. Then the partitions would not have the requested sizes.
    bool exact = count == static_cast<unsigned>(plan.num_groups);
    for (const CUdevResource& group : groups) exact = exact && group.sm.smCount == group_size;
    if (!exact) continue;
    for (const std::vector<int>& members : plan.groups) {
      std::vector<CUdevResource> resources;
      for (int member : members) resources.push_back(groups[member]);
      CUdevResourceDesc description = nullptr;
      EMPLACE_DRIVER_CHECK(api.DevResourceGenerateDesc(
          &description, resources.data(), static_cast<unsigned>(resources.size())));
      CUgreenCtx context = nullptr;
      EMPLACE_DRIVER_CHECK(
          api.GreenCtxCreate(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
      contexts_.emplace_back(context);
    }
    return;
  }

  unsigned smallest_groups = 0;
  EMPLACE_DRIVER_CHECK(api.DevSmResourceSplitByCount(
      nullptr, &smallest_groups, &all, nullptr, 0, static_cast<unsigned>(minimum)));
  throw InputError(
      fmt::format("gpu:{}: cannot make partitions of {} SMs; {} has {} SMs and splits into at most "
                  "{} groups of {} SMs, which make up the partitions",
                  gpu,
                  fmt::join(sizes, " + "),
                  gpu_name,
                  all.sm.smCount,
                  smallest_groups,
                  minimum));
}

Stream Partitions::MakeStream(int partition) const {
  CUstream stream = nullptr;
  EMPLACE_DRIVER_CHECK(GreenContexts().GreenCtxStreamCreate(
      &stream, contexts_[partition].get(), CU_STREAM_NON_BLOCKING, 0));
  return Stream(stream);
}

}  // namespace emplace::cuda

#include "agents/starts/starts.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/common/devices.h"
#include "agents/contiguous/contiguous.h"
#include "agents/etf/etf.h"
#include "agents/heft/heft.h"
#include "agents/ideals/chain_split.h"
#include "agents/random/random_agent.h"
#include "agents/single_device/single_device.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/search/compiled_period.h"

namespace emplace {

std::vector<std::string> StartNames() {
  return {"contiguous", "cpop", "etf", "heft", "random", "single", "single_cpu", "single_gpu"};
}

void ValidateStarts(const Problem& problem,
                    const std::string& key,
                    const std::vector<std::string>& names) {
  const std::vector<std::string> choices = StartNames();
  if (names.empty()) {
    throw SettingError(key, "expected at least one of " + JoinChoices(choices) + ", got none");
  }
  for (const std::string& name : names) {
    if (std::find(choices.begin(), choices.end(), name) == choices.end()) {
      throw SettingError(key,
                         fmt::format("unknown start \"{}\"{}", name, ChoicesHint(name, choices)));
    }
    if (name == "single_cpu") SelectDevices(problem.cluster(), key, "cpu");
    if (name == "single_gpu") SelectDevices(problem.cluster(), key, "gpu");
  }
}

Placement MakeStart(const Problem& problem,
                    const std::string& name,
                    Rng& rng,
                    const Interrupt& interrupt) {
  const Cluster& cluster = problem.cluster();
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - problem.num_devices());
  if (name == "random") return DrawPlacement(problem, rng);
  if (name == "heft") return ComputeHeft(problem, all, HeftRule::kHeft, interrupt).placement;
  if (name == "cpop") return ComputeHeft(problem, all, HeftRule::kCpop, interrupt).placement;
  if (name == "single_gpu" || name == "single_cpu") {
    const std::vector<int> devices = SelectDevices(cluster, "start", name.substr(7));
    return SingleDevicePlacement(problem, devices.front());
  }
  const int single = CheapestSingleDevice(problem);
  if (name == "single") return SingleDevicePlacement(problem, single);
  const std::vector<int> peers = DevicesOfClass(cluster, cluster.kind_of(single).device_class);
  if (name == "contiguous" && problem.objective() == Objective::kPeriod) {
    return Split(CompiledPeriod(problem), 0, interrupt).placement;
  }
  if (name == "contiguous") return ContiguousPlacement(problem, peers);
  EMPLACE_CHECK(name == "etf", name);
  return ComputeEtf(problem, MaskOf(peers), false, true, interrupt).placement;
}

}  // namespace emplace

#include "agents/initial_placements/initial_placements.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agents/contiguous/contiguous.h"
#include "agents/etf/etf.h"
#include "agents/heft/heft.h"
#include "agents/max_load_dp/chain_split.h"
#include "agents/pipeline_stages/pipeline_stages.h"
#include "agents/random/random_agent.h"
#include "agents/shared/devices.h"
#include "agents/single_device/single_device.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "framework/search/outcome_table.h"

namespace emplace {
namespace {

constexpr const char* kHeuristics[] =
    {"contiguous", "cpop", "etf", "heft", "pipeline_stages", "single"};

// Returns the placement of a file. A group whose ops are on several devices there goes to the one
// with the largest sum of their costs, if it may run there.
Placement ReadStart(const Problem& problem, const std::string& file) {
  const std::vector<DeviceIndex> device_of_op =
      ReadPlacement(file, problem.graph(), problem.cluster()).device_of_op;
  Placement placement;
  for (int g = 0; g < problem.num_groups(); ++g) {
    std::vector<Nanos> share(problem.num_devices(), -1);
    for (const int op : problem.grouping().members(g)) {
      const DeviceIndex device = device_of_op[op];
      if (!problem.allowed(g, device)) continue;
      share[device] = std::max<Nanos>(share[device], 0) + problem.costs().at(op, device);
    }
    const auto most = std::ranges::max_element(share);
    if (*most < 0) {
      const int op = problem.grouping().members(g).front();
      throw InputError(fmt::format("{}: op \"{}\" may not run on \"{}\"",
                                   file,
                                   problem.graph().op(op).name,
                                   problem.cluster().device(device_of_op[op]).name));
    }
    placement.device.push_back(static_cast<DeviceIndex>(most - share.begin()));
  }
  return placement;
}

Placement MakeStart(const Problem& problem,
                    const std::string& name,
                    Rng& rng,
                    const Interrupt& interrupt) {
  if (IsPlacementFile(name)) return ReadStart(problem, name);
  const Cluster& cluster = problem.cluster();
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - problem.num_devices());
  if (name == "random" || name == "none") return DrawPlacement(problem, rng);
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
  if (name == "pipeline_stages") return PipelineStagesPlacement(problem, peers);
  EMPLACE_CHECK(name == "etf", name);
  return ComputeEtf(problem, MaskOf(peers), false, true, interrupt).placement;
}

}  // namespace

std::vector<std::string> StartNames() {
  return {"contiguous",
          "cpop",
          "etf",
          "heft",
          "heuristics",
          "none",
          "pipeline_stages",
          "random",
          "single",
          "single_cpu",
          "single_gpu"};
}

void ValidateStarts(const Problem& problem,
                    const std::string& key,
                    const std::vector<std::string>& names) {
  const std::vector<std::string> choices = StartNames();
  if (names.empty()) {
    throw SettingError(key, "expected at least one of " + JoinChoices(choices) + ", got none");
  }
  if (names.size() > 1 && std::ranges::find(names, "none") != names.end()) {
    throw SettingError(key, "expected \"none\" alone, got others with it");
  }
  for (const std::string& name : names) {
    if (IsPlacementFile(name)) {
      try {
        ReadStart(problem, name);
      } catch (const InputError& error) {
        throw SettingError(key, error.what());
      }
      continue;
    }
    if (std::find(choices.begin(), choices.end(), name) == choices.end()) {
      throw SettingError(key,
                         fmt::format("unknown start \"{}\"{}", name, ChoicesHint(name, choices)));
    }
    if (name == "single_cpu") SelectDevices(problem.cluster(), key, "cpu");
    if (name == "single_gpu") SelectDevices(problem.cluster(), key, "gpu");
  }
}

std::vector<Placement> MakeStarts(const Problem& problem,
                                  const std::vector<std::string>& names,
                                  Rng& rng,
                                  const Interrupt& interrupt) {
  std::vector<Placement> starts;
  for (const std::string& name : names) {
    if (name == "heuristics") {
      for (const char* each : kHeuristics) {
        starts.push_back(MakeStart(problem, each, rng, interrupt));
      }
    } else {
      starts.push_back(MakeStart(problem, name, rng, interrupt));
    }
  }
  return starts;
}

std::optional<EvaluatedStart> BestStart(const Problem& problem,
                                        const std::vector<std::string>& names,
                                        Evaluator& evaluator,
                                        Rng& rng,
                                        const Interrupt& interrupt) {
  if (names.front() == "none") return std::nullopt;
  std::vector<Placement> starts = MakeStarts(problem, names, rng, interrupt);
  const std::vector<Score> scores = evaluator.Scores(starts);
  const std::size_t best = IndexOfBest(scores);
  return EvaluatedStart{
      std::move(starts[best]), scores[best], static_cast<std::int64_t>(starts.size())};
}

}  // namespace emplace

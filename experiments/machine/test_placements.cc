#include "experiments/machine/test_placements.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/console/menu.h"
#include "experiments/run/search_run.h"
#include "framework/base/random.h"
#include "framework/config/config_node.h"
#include "profilers/measure/draw_placements.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

const SimulatorOptions kAsExecuted{.semantics = Semantics::kStream};
constexpr int kBusyTries = 5000;

int CountGpus(const Cluster& cluster) {
  int count = 0;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    count += cluster.kind_of(d).device_class == DeviceClass::kGpu;
  }
  return count;
}

class Collector {
 public:
  Collector(const std::shared_ptr<const Problem>& problem, const TestPlacementOptions& options)
      : problem_(problem), options_(options), simulator_(MakeSimulator(problem, kAsExecuted)) {}

  bool full() const { return static_cast<int>(candidates_.size()) >= options_.count; }

  void Add(const std::string& label, const Placement& placement) {
    if (full() || Contains(options_.known, placement)) return;
    const bool known = std::any_of(candidates_.begin(), candidates_.end(), [&](const auto& other) {
      return other.placement == placement;
    });
    if (known || !simulator_->Evaluate(placement).feasible) return;
    candidates_.push_back({label, placement, std::nullopt});
  }

  void AddAgent(const std::string& name, const Budget& budget, const std::string& settings = "") {
    if (full() || (options_.stop && options_.stop())) return;
    AgentSpec spec;
    spec.label = name;
    spec.entry = &AllAgents().Find(name, "validate");
    if (!settings.empty()) spec.settings = ConfigNode::FromString(settings, name);
    const SearchResult result = RunSearch(problem_, kAsExecuted, spec, options_.seed, budget);
    if (result.status != SearchStatus::kFailed && result.best) {
      Add(name, result.best->placement);
    }
  }

  // Adds neighbours of the placements until half of the requested number is busy.
  void AddBusy() {
    Rng rng(options_.seed);
    std::vector<Placement> busy;
    for (const Candidate& candidate : candidates_) {
      if (IsBusy(candidate.placement)) busy.push_back(candidate.placement);
    }
    const auto enough = static_cast<size_t>(options_.count / 2);
    const int num_groups = problem_->num_groups(), num_devices = problem_->num_devices();
    for (int tries = 0; tries < kBusyTries && !busy.empty() && busy.size() < enough; ++tries) {
      Placement placement = busy[UniformInt(rng, static_cast<int>(busy.size()))];
      for (int moves = 1 + UniformInt(rng, 1 + num_groups / 20); moves > 0; --moves) {
        const int group = UniformInt(rng, num_groups), device = UniformInt(rng, num_devices);
        if (problem_->allowed(group, device)) {
          placement.device[group] = static_cast<DeviceIndex>(device);
        }
      }
      const size_t before = candidates_.size();
      if (IsBusy(placement)) Add(fmt::format("busy {}", num_busy_), placement);
      if (candidates_.size() == before) continue;
      ++num_busy_;
      busy.push_back(std::move(placement));
    }
  }

  std::vector<Candidate> Take() { return std::move(candidates_); }

 private:
  static bool Contains(const std::vector<Placement>& list, const Placement& placement) {
    return std::find(list.begin(), list.end(), placement) != list.end();
  }

  bool IsBusy(const Placement& placement) {
    const Outcome outcome = simulator_->Evaluate(placement);
    return std::ranges::all_of(outcome.devices, [&](const DeviceOutcome& device) {
      return static_cast<double>(device.busy) >
             kBusyStepShare * static_cast<double>(outcome.step_time);
    });
  }

  const std::shared_ptr<const Problem>& problem_;
  const TestPlacementOptions& options_;
  const std::unique_ptr<Evaluator> simulator_;
  std::vector<Candidate> candidates_;
  int num_busy_ = 0;
};

}  // namespace

std::vector<Candidate> TestPlacements(const std::shared_ptr<const Problem>& problem,
                                      const TestPlacementOptions& options) {
  Collector collector(problem, options);
  Budget search;
  search.seconds = options.search_seconds / 2;
  for (const char* name : {"simulated_annealing", "hill_climb"}) collector.AddAgent(name, search);
  const Budget whole;  // no limits: constructive agents end by themselves
  for (const char* name : {"heft", "cpop", "scotch"}) collector.AddAgent(name, whole);
  // By default these agents use only GPUs; with fewer than two there would be no choice.
  const std::string devices = CountGpus(problem->cluster()) >= 2 ? "" : "{devices: all}";
  for (const char* name : {"etf", "m_etf", "contiguous", "metis"}) {
    collector.AddAgent(name, whole, devices);
  }
  if (devices.empty()) collector.AddAgent("min_cut", whole);
  const std::vector<std::string> rules = MenuNames(ExpertRulesMenu());
  const std::string& graph = problem->graph().name();
  if (std::find(rules.begin(), rules.end(), graph) != rules.end()) {
    const auto path = ResolveMenu(ExpertRulesMenu(), graph, "validate");
    collector.AddAgent("expert", whole, "{rules: " + QuoteYaml(path.string()) + "}");
  }
  collector.AddBusy();
  // Draws more than are missing, because known placements may be drawn again and are left out.
  const int drawn = options.count + static_cast<int>(options.known.size());
  for (const LabelledPlacement& placement : DrawPlacements(*problem, drawn, options.seed)) {
    collector.Add(placement.label, placement.placement);
  }
  return collector.Take();
}

}  // namespace emplace

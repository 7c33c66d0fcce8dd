#include "agents/period_multilevel/period_multilevel.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "agents/max_load_dp/chain_split.h"
#include "agents/shared/devices.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

constexpr int kClustersPerDevice = 8;                  // coarsening stops here
constexpr double kLeastShare = 0.1, kMostShare = 0.7;  // largest cluster, of a device's fair share
constexpr std::int64_t kLeastProposals = 20'000, kMostProposals = 500'000;  // per level
constexpr double kHotCoarse = 0.1, kHotRefine = 0.02, kHotRecombine = 0.05;
constexpr double kHotBest = 0.005, kCold = 5e-5;
constexpr int kStepsPerBest = 6;  // on average, one of these steps anneals the best placement
constexpr int kBestEffort = 4;    // relative to that of a level

}  // namespace

PeriodMultilevelAgent::PeriodMultilevelAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("period_multilevel", context),
      problem_(context.problem),
      interrupt_(context.end_step),
      config_(config),
      finest_(std::make_shared<PeriodLevel>(problem_)) {
  const std::vector<double> costs = MeanCosts(*problem_);
  total_cost_ = std::accumulate(costs.begin(), costs.end(), 0.0);
}

std::int64_t PeriodMultilevelAgent::Proposals(int num_groups) const {
  return std::clamp<std::int64_t>(
      std::int64_t{config_.effort} * num_groups, kLeastProposals, kMostProposals);
}

Placement PeriodMultilevelAgent::Refine(std::span<const int> keep_apart,
                                        const Placement& start,
                                        double hot) {
  const int num_devices = problem_->num_devices();
  const double share = kLeastShare + (kMostShare - kLeastShare) * Uniform01(rng());
  const auto levels = Coarsen(
      finest_,
      keep_apart,
      {.max_cost = share * total_cost_ / num_devices, .enough = kClustersPerDevice * num_devices},
      rng());
  std::vector<DeviceIndex> device = start.device;
  for (std::size_t i = 1; i < levels.size() && !device.empty(); ++i) {
    std::vector<DeviceIndex> coarse(levels[i]->problem->num_groups());
    for (std::size_t g = 0; g < device.size(); ++g) coarse[levels[i]->cluster_of[g]] = device[g];
    device = std::move(coarse);
  }
  if (device.empty()) device = Split(levels.back()->compiled, 0, interrupt_).placement.device;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const PeriodLevel& level = *levels[i];
    const bool is_coarsest = i + 1 == levels.size();
    Anneal(level.compiled,
           {.hot = is_coarsest ? hot : kHotRefine,
            .cold = kCold,
            .proposals = Proposals(level.problem->num_groups())},
           device,
           rng(),
           interrupt_);
    if (i == 0) break;
    std::vector<DeviceIndex> fine;
    for (const int cluster : level.cluster_of) fine.push_back(device[cluster]);
    device = std::move(fine);
  }
  return {device};
}

Placement PeriodMultilevelAgent::Create() {
  if (!population_.empty()) return Refine({}, {}, kHotCoarse);
  const Placement split = Split(finest_->compiled, 0, interrupt_).placement;
  const std::vector<int> keep_apart(split.device.begin(), split.device.end());
  return Refine(keep_apart, split, kHotRefine);
}

Placement PeriodMultilevelAgent::AnnealBest() {
  Placement placement = best().placement;
  Anneal(finest_->compiled,
         {.hot = kHotBest,
          .cold = kCold,
          .proposals = kBestEffort * Proposals(problem_->num_groups())},
         placement.device,
         rng(),
         interrupt_);
  return placement;
}

Placement PeriodMultilevelAgent::Recombine() {
  const int size = static_cast<int>(population_.size());
  const ScoredPlacement* a = &population_[UniformInt(rng(), size)];
  const ScoredPlacement* b = UniformInt(rng(), 4) == 0 ? a : &population_[UniformInt(rng(), size)];
  if (b->score < a->score) std::swap(a, b);
  std::vector<int> keep_apart;
  for (int g = 0; g < problem_->num_groups(); ++g) {
    keep_apart.push_back(a->placement.device[g] * kMaxDevices + b->placement.device[g]);
  }
  return Refine(keep_apart, a->placement, kHotRecombine);
}

void PeriodMultilevelAgent::Add(ScoredPlacement member) {
  if (static_cast<int>(population_.size()) < config_.population) {
    population_.push_back(std::move(member));
    return;
  }
  const auto by_score = [](const ScoredPlacement& a, const ScoredPlacement& b) {
    return a.score < b.score;
  };
  auto place = std::ranges::find(population_, member.score, &ScoredPlacement::score);
  if (place == population_.end()) place = std::ranges::max_element(population_, by_score);
  if (member.score <= place->score) *place = std::move(member);
}

void PeriodMultilevelAgent::Improve(Evaluator& evaluator) {
  ScoredPlacement& found = current();
  found.placement = static_cast<int>(population_.size()) < config_.population ? Create()
                    : UniformInt(rng(), kStepsPerBest) == 0                   ? AnnealBest()
                                                                              : Recombine();
  found.score = evaluator.ScoreAt(found.placement);
  Note(found);
  Add(found);
}

void PeriodMultilevelAgent::VisitSearch(StateVisitor& v) {
  v.List(
      "a number of placements", population_, 0, config_.population, [&](ScoredPlacement& member) {
        VisitScored(v, member);
      });
}

}  // namespace emplace

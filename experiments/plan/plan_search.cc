#include "experiments/plan/plan_search.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "experiments/plan/plan_degrees.h"
#include "experiments/plan/plan_divisions.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kMostSimulated = 48;    // degrees
constexpr int kMostEnumerated = 300;  // stages of one degree
constexpr int kMostInterleaved = 30;  // virtual stages of one degree
constexpr int kMostShown = 10;
constexpr int kBatch = 4;          // simulations between two looks at the clock
constexpr int kNeighbors = 8;      // of each plan in a round of halving
constexpr int kDescents = 3;       // plans that end in a local optimum
constexpr int kMostOps = 600'000;  // of a simulated graph
constexpr std::int64_t kMostMoves = 20'000;
constexpr std::int64_t kMostMoveWork = 100'000'000;  // simulated ops of MoveOps()

// The device of each op for the stages of a replica.
std::vector<DeviceIndex> DevicesOfStages(const ModelLayers& layers,
                                         const std::vector<std::uint64_t>& allowed,
                                         const std::vector<int>& group,
                                         const Stages& stages) {
  std::vector<int> of_layer;
  for (std::size_t s = 0; s < stages.end.size(); ++s)
    of_layer.resize(stages.end[s], stages.device[s]);
  std::vector<DeviceIndex> devices;
  for (std::size_t op = 0; op < allowed.size(); ++op) {
    int device = of_layer[layers.layer_of_op[op]];
    if (!(allowed[op] >> device & 1)) {
      const auto other = std::ranges::find_if(group, [&](int d) { return allowed[op] >> d & 1; });
      if (other != group.end()) device = *other;
    }
    devices.push_back(static_cast<DeviceIndex>(device));
  }
  return devices;
}

class PlanSearch {
 public:
  PlanSearch(const std::vector<PlanGraph>& graphs, const PlanSearchOptions& options)
      : graphs_(graphs),
        options_(options),
        cluster_(*graphs[0].setting.cluster),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(options.seconds))) {}

  PlanSearchResult Run() {
    all_ = FindDegrees(graphs_, options_);
    const ModelLayers& layers = all_.facts[0].layers;
    result_.layers = fmt::format("{} layers ({})", layers.num_layers(), layers.found_by);
    result_.layer_names = layers.names;
    result_.bound = all_.bound;
    result_.num_degrees = all_.num_degrees;
    result_.too_large = all_.num_too_large;
    if (options_.memory_only) {
      SimulateAll();
    } else {
      SimulateUsual();
      Search();
    }
    Finish();
    return std::move(result_);
  }

 private:
  struct Trial {
    int degrees;
    std::vector<Stages> stages;
  };
  struct Result {
    Nanos step_time = 0;
    std::int64_t deficit = 0, peak = 0;
    int fullest = -1;
  };

  bool TimeIsUp() {
    const bool stopped = options_.stop && options_.stop();
    if (!stopped && std::chrono::steady_clock::now() < end_) return false;
    result_.complete = false;
    return true;
  }

  bool IsTooLong(const FoundPlan& plan) const {
    const auto num_ops = std::int64_t{graphs_[plan.graph].setting.step->num_ops()};
    return num_ops * plan.plan.micro_batches * std::ssize(plan.stages) > kMostOps;
  }

  // @param all  every replica, even if one stands for all
  PlacedPlan Place(const FoundPlan& plan,
                   const Division& division,
                   const std::vector<Stages>& stages,
                   bool all = false) const {
    const GraphFacts& facts = all_.facts[plan.graph];
    const PlanSetting& setting = graphs_[plan.graph].setting;
    ReplicaDevices devices;
    for (std::size_t r = 0; r < stages.size(); ++r) {
      devices.push_back(
          DevicesOfStages(facts.layers, facts.allowed, division.groups[r], stages[r]));
    }
    // Ops on a device that several replicas share need all replicas.
    const bool shares = plan.plan.replicas > 1 && std::ranges::any_of(devices[0], [&](int d) {
                          return !HasStages(cluster_, d);
                        });
    const bool one = stages.size() == 1 && !all && !shares;
    if (!one && std::ssize(stages) < plan.plan.replicas) {
      devices = MirrorDevices(setting, division.groups, devices[0], "plan");
    }
    return PlacePlan(setting, plan.plan, devices, plan.schedule, one, plan.virtual_stages);
  }

  Result SimulateTrial(const Trial& trial) const {
    const Degrees& degrees = all_.degrees[trial.degrees];
    const PlacedPlan placed = Place(degrees.best, all_.DivisionOf(degrees), trial.stages);
    const Outcome outcome = SimulatePlaced(graphs_[degrees.best.graph].setting, placed);
    Result result{.step_time = outcome.step_time};
    double most = -1;
    const Cluster& simulated = placed.problem->cluster();
    for (int d = 0; d < simulated.num_devices(); ++d) {
      const DeviceOutcome& device = outcome.devices[d];
      const double share =
          static_cast<double>(device.peak) / static_cast<double>(simulated.device(d).memory);
      if (device.peak > 0 && share > most) {
        most = share;
        result.peak = device.peak;
        result.fullest = cluster_.FindDevice(simulated.device(d).name);
      }
    }
    result.deficit = outcome.deficit();
    return result;
  }

  // Simulates trials that were not simulated before and updates the best of their degrees.
  // @return false if the time is over
  bool Simulate(std::vector<Trial> trials) {
    std::erase_if(trials, [&](const Trial& trial) {
      return IsTooLong(all_.degrees[trial.degrees].best) ||
             !tried_.emplace(trial.degrees, trial.stages).second;
    });
    for (std::size_t begin = 0; begin < trials.size(); begin += kBatch) {
      if (TimeIsUp()) return false;
      const int count = static_cast<int>(std::min<std::size_t>(kBatch, trials.size() - begin));
      std::vector<Result> results(count);
      ParallelFor(count, 0, [&](int i) { results[i] = SimulateTrial(trials[begin + i]); });
      for (int i = 0; i < count; ++i) Record(trials[begin + i], results[i]);
    }
    return true;
  }

  static void SetResult(const Trial& trial, const Result& result, FoundPlan& plan) {
    plan.simulated = true;
    plan.stages = trial.stages;
    plan.step_time = result.step_time;
    plan.deficit = result.deficit;
    plan.peak = result.peak;
    plan.fullest = result.fullest;
  }

  void Record(const Trial& trial, const Result& result) {
    ++result_.simulated;
    FoundPlan& best = all_.degrees[trial.degrees].best;
    if (best.simulated &&
        std::pair(best.deficit, best.step_time) <= std::pair(result.deficit, result.step_time))
      return;
    SetResult(trial, result, best);
    if (result.deficit == 0) least_ = std::min(least_, result.step_time);
  }

  std::vector<Stages> EvenStagesOf(const Degrees& degrees) const {
    std::vector<Stages> stages;
    for (std::size_t r = 0; r < degrees.best.stages.size(); ++r) {
      stages.push_back(EvenStages(all_.facts[degrees.best.graph].layers.num_layers(),
                                  all_.DivisionOf(degrees).stage_devices[r],
                                  degrees.best.num_stages));
    }
    return stages;
  }

  // Returns the best plan of these degrees with even stages and 1F1B, over the sizes of
  // micro-batches, with recomputation only if it is needed.
  std::optional<FoundPlan> BestEven(int replicas, int num_stages) {
    std::optional<FoundPlan> best;
    for (const bool recompute : {false, true}) {
      std::vector<Trial> trials;
      for (std::size_t i = 0; i < all_.degrees.size(); ++i) {
        const FoundPlan& plan = all_.degrees[i].best;
        if (plan.plan.replicas == replicas && plan.num_stages == num_stages &&
            plan.recompute == recompute && plan.schedule == Schedule::k1F1B &&
            !plan.plan.groups.IsSequence() && !IsTooLong(plan))
          trials.push_back({static_cast<int>(i), EvenStagesOf(all_.degrees[i])});
      }
      std::vector<Result> results(trials.size());
      ParallelFor(static_cast<int>(trials.size()), 0, [&](int i) {
        results[i] = SimulateTrial(trials[i]);
      });
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const Result& result = results[i];
        if (tried_.emplace(trials[i].degrees, trials[i].stages).second) Record(trials[i], result);
        if (result.deficit > 0 || (best && best->step_time <= result.step_time)) continue;
        best = all_.degrees[trials[i].degrees].best;
        SetResult(trials[i], result, *best);
      }
      if (best) break;
    }
    return best;
  }

  void SimulateUsual() {
    const int count = static_cast<int>(StageDevices(cluster_).size());
    const int most = std::min(count, all_.facts[0].layers.num_layers());
    result_.usual.push_back(
        {"data parallel", "one stage, a replica per device", BestEven(count, 1)});
    result_.usual.push_back({"one pipeline", "a replica, even stages", BestEven(1, most)});
    if (result_.usual[0].plan) return;
    std::optional<FoundPlan> fewest;
    for (int stages = 2; stages < most && !fewest; ++stages) {
      if (count % stages == 0) fewest = BestEven(count / stages, stages);
    }
    result_.usual.push_back({"usual degrees", "the fewest even stages that fit", fewest});
  }

  std::vector<int> Sorted(const std::vector<int>& numbers) const {
    std::vector<int> sorted = numbers;
    std::ranges::stable_sort(sorted, {}, [&](int i) {
      return std::pair(all_.degrees[i].best.deficit, all_.degrees[i].best.step_time);
    });
    return sorted;
  }

  // Simulates the neighbours that look best, of all if `most` is 0. @return false: time is over
  bool TryNeighbors(int number, std::size_t most) {
    const Degrees& degrees = all_.degrees[number];
    std::vector<std::pair<Estimate, Trial>> trials;
    for (std::vector<Stages>& stages : NeighborsOf(all_, degrees, degrees.best.stages)) {
      if (tried_.contains({number, stages})) continue;
      const PlanSetting& setting = graphs_[degrees.best.graph].setting;
      const Estimate estimate = EstimateOf(all_, degrees, setting, stages);
      trials.push_back({estimate, {number, std::move(stages)}});
    }
    std::ranges::stable_sort(trials, {}, [](const auto& trial) { return trial.first; });
    std::vector<Trial> chosen;
    for (auto& [estimate, trial] : trials) {
      if (most == 0 || chosen.size() < most) chosen.push_back(std::move(trial));
    }
    return Simulate(std::move(chosen));
  }

  void Search() {
    std::vector<int> all(all_.degrees.size());
    std::iota(all.begin(), all.end(), 0);
    std::ranges::stable_sort(all, {}, [&](int i) { return all_.degrees[i].best.estimate; });
    for (int i : all) result_.too_long += IsTooLong(all_.degrees[i].best);
    std::vector<int> rest;
    for (int i : all) {
      if (IsTooLong(all_.degrees[i].best) || rest.size() >= kMostSimulated) continue;
      if (all_.degrees[i].best.bound >= least_) {
        ++result_.bounded;
        continue;
      }
      rest.push_back(i);
      if (!Simulate({{i, all_.degrees[i].start}})) return;
    }
    while (rest.size() > kDescents) {
      rest = Sorted(rest);
      rest.resize((rest.size() + 1) / 2);
      for (int i : rest) {
        if (!TryNeighbors(i, kNeighbors)) return;
      }
    }
    for (int i : rest) {
      for (Nanos before = kMaxNanos; all_.degrees[i].best.step_time < before;) {
        before = all_.degrees[i].best.step_time;
        if (!TryNeighbors(i, 0)) return;
      }
    }
    for (int i : Sorted(all)) {
      if (all_.degrees[i].best.bound < least_ && !Enumerate(i)) return;
    }
    // Excluded degrees are shown, too, if there are few others.
    std::size_t shown =
        std::ranges::count_if(all, [&](int i) { return all_.degrees[i].best.simulated; });
    for (int i : all) {
      const Degrees& degrees = all_.degrees[i];
      if (shown >= kMostShown || degrees.best.simulated || IsTooLong(degrees.best)) continue;
      if (!Simulate({{i, degrees.start}})) return;
      ++shown;
    }
  }

  // @return false: the time is over
  bool Enumerate(int number) {
    const Degrees& degrees = all_.degrees[number];
    const std::size_t most = degrees.best.virtual_stages > 1 ? kMostInterleaved : kMostEnumerated;
    std::vector<Trial> trials{{number, {}}};
    for (std::size_t r = 0; r < degrees.best.stages.size(); ++r) {
      const GraphFacts& facts = all_.facts[degrees.best.graph];
      const std::vector<Stages> all = AllStages(facts.layers.num_layers(),
                                                all_.DivisionOf(degrees).stage_devices[r],
                                                degrees.best.num_stages,
                                                facts.exchange,
                                                most,
                                                degrees.best.virtual_stages);
      if (trials.size() * all.size() > most) return true;
      std::vector<Trial> longer;
      for (const Trial& trial : trials) {
        for (const Stages& stages : all) {
          longer.push_back(trial);
          longer.back().stages.push_back(stages);
        }
      }
      trials = std::move(longer);
    }
    return Simulate(std::move(trials));
  }

  void SimulateAll() {
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < all_.degrees.size(); ++i) {
      result_.too_long += IsTooLong(all_.degrees[i].best);
      trials.push_back({static_cast<int>(i), all_.degrees[i].start});
    }
    Simulate(std::move(trials));
  }

  void SetFigures(FoundPlan& plan, const Division& division) const {
    const PlanFigures figures =
        FiguresOf(graphs_[plan.graph].setting, Place(plan, division, plan.stages));
    plan.bubble = figures.bubble;
    plan.communication = figures.communication;
  }

  void MoveOpsOf(const Degrees& degrees) {
    const FoundPlan& best = degrees.best;
    const bool period = graphs_[best.graph].setting.objective == Objective::kPeriod;
    if (period || best.plan.replicas > 1 || best.num_stages == 1 || best.deficit > 0) return;
    const PlacedPlan placed = Place(best, all_.DivisionOf(degrees), best.stages, true);
    MovedOps moved =
        MoveOps(graphs_[best.graph].setting,
                placed,
                std::min<std::int64_t>(kMostMoves, kMostMoveWork / std::ssize(placed.ops)),
                [&] { return TimeIsUp(); });
    if (moved.outcome.step_time < best.step_time) result_.moved = std::move(moved);
  }

  void Finish() {
    std::vector<int> numbers(all_.degrees.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (!options_.memory_only) {
      std::erase_if(numbers, [&](int i) { return !all_.degrees[i].best.simulated; });
      numbers = Sorted(numbers);
      // Plans that do not fit are shown only if none fits.
      std::erase_if(numbers,
                    [&](int i) { return least_ < kMaxNanos && all_.degrees[i].best.deficit > 0; });
      if (numbers.size() > kMostShown) numbers.resize(kMostShown);
    }
    for (int i : numbers) {
      if (!options_.memory_only) SetFigures(all_.degrees[i].best, all_.DivisionOf(all_.degrees[i]));
      result_.plans.push_back(all_.degrees[i].best);
    }
    if (options_.place && !numbers.empty()) {
      const Degrees& best = all_.degrees[numbers[0]];
      result_.placed = Place(best.best, all_.DivisionOf(best), best.best.stages, true);
    }
    if (!numbers.empty() && options_.move_ops && !options_.memory_only)
      MoveOpsOf(all_.degrees[numbers[0]]);
    for (UsualPlan& usual : result_.usual) {
      for (const Division& division : all_.divisions) {
        if (usual.plan && usual.plan->plan.replicas == division.plan.replicas &&
            !division.plan.groups.IsSequence())
          SetFigures(*usual.plan, division);
      }
    }
  }

  const std::vector<PlanGraph>& graphs_;
  PlanSearchOptions options_;
  const Cluster& cluster_;
  std::chrono::steady_clock::time_point end_;
  PlanDegrees all_;
  std::set<std::pair<int, std::vector<Stages>>> tried_;
  Nanos least_ = kMaxNanos;  // best step time of a plan that fits
  PlanSearchResult result_;
};

}  // namespace

ReplicaDevices EvenVirtualStages(const PlanSetting& setting,
                                 const std::vector<std::vector<int>>& groups,
                                 const std::string& layers,
                                 int virtual_stages) {
  const GraphFacts facts = FactsOf({.setting = setting}, {.layers = layers});
  const int num_layers = facts.layers.num_layers();
  ReplicaDevices devices;
  for (const std::vector<int>& group : groups) {
    std::vector<int> own;
    std::ranges::copy_if(
        group, std::back_inserter(own), [&](int d) { return HasStages(*setting.cluster, d); });
    const int stages = static_cast<int>(own.size());
    if (stages * virtual_stages > num_layers) {
      throw SettingError(
          "virtual_stages",
          fmt::format("got {}, expected at most {}, as {} stages share {} layers ({})",
                      virtual_stages,
                      num_layers / stages,
                      stages,
                      num_layers,
                      facts.layers.found_by));
    }
    devices.push_back(DevicesOfStages(
        facts.layers, facts.allowed, group, EvenStages(num_layers, own, stages, virtual_stages)));
  }
  return devices;
}

PlanSearchResult SearchPlans(const std::vector<PlanGraph>& graphs,
                             const PlanSearchOptions& options) {
  return PlanSearch(graphs, options).Run();
}

}  // namespace emplace

#include "experiments/plan/plan_search.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/plan/plan_bound.h"
#include "experiments/plan/plan_divisions.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/cost/cost_model.h"
#include "framework/plan/one_replica.h"

namespace emplace {
namespace {

constexpr int kMostSimulated = 48;    // degrees
constexpr int kMostEnumerated = 300;  // stages of one degree
constexpr int kMostShown = 10;
constexpr int kBatch = 4;          // simulations between two looks at the clock
constexpr int kNeighbors = 8;      // of each plan in a round of halving
constexpr int kMostOps = 600'000;  // of a simulated graph
constexpr std::int64_t kReduceBytes = 25'000'000;

// The facts that all plans of one graph share.
struct GraphFacts {
  ModelLayers layers;
  std::vector<std::uint64_t> allowed;  // [ops] devices
  std::vector<int> alike;              // DevicesOfEqualCosts()
  std::optional<LayerCosts> costs[2];  // without and with recomputation
};

// A division of the devices into replicas.
struct Division {
  Plan plan;  // replicas and groups
  std::vector<std::vector<int>> groups;
  std::vector<bool> alike;                      // [graphs] one replica stands for all
  std::vector<std::vector<int>> stage_devices;  // [replicas] those of `groups` with stages
};

GraphFacts FactsOf(const PlanGraph& graph, const std::string& pattern) {
  const PlanSetting& setting = graph.setting;
  const Costs costs =
      ComputeCosts(*setting.step,
                   *setting.cluster,
                   setting.where,
                   {.table = setting.table.get(), .apart = CountsNeighbors(setting.semantics)});
  GraphFacts facts;
  facts.alike = DevicesOfEqualCosts(costs);
  std::vector<double> weight;
  for (int op = 0; op < costs.num_ops; ++op) {
    std::uint64_t mask = 0;
    Nanos least = kMaxNanos;
    for (int d = 0; d < costs.num_devices; ++d) {
      if (costs.allowed(op, d)) mask |= std::uint64_t{1} << d;
      least = std::min(least, costs.at(op, d));
    }
    facts.allowed.push_back(mask);
    weight.push_back(least < kMaxNanos ? static_cast<double>(least) : 0);
  }
  facts.layers = FindLayers(*setting.step, pattern, weight);
  return facts;
}

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
    for (const PlanGraph& graph : graphs_) facts_.push_back(FactsOf(graph, options_.layers));
    DescribeLayers();
    AddDegrees();
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
  struct Degrees {
    FoundPlan best;             // so far; its stages are the balanced ones at first
    std::vector<Stages> start;  // balanced stages
    int division = 0;
    double reduce_ns_per_byte = 0;
  };
  struct Trial {
    int degrees;
    std::vector<Stages> stages;
  };
  struct Result {
    Nanos step_time = 0;
    std::int64_t deficit = 0, peak = 0;
    int fullest = -1;
  };

  const LayerCosts& CostsOf(const FoundPlan& plan) const {
    return *facts_[plan.graph].costs[plan.recompute ? 1 : 0];
  }
  const Division& DivisionOf(const Degrees& degrees) const { return divisions_[degrees.division]; }
  bool TimeIsUp() {
    const bool stopped = options_.stop && options_.stop();
    if (!stopped && std::chrono::steady_clock::now() < end_) return false;
    result_.complete = false;
    return true;
  }

  void DescribeLayers() {
    const ModelLayers& layers = facts_[0].layers;
    result_.layers = fmt::format("{} layers ({})", layers.num_layers(), layers.found_by);
    result_.layer_names = layers.names;
  }

  void AddDivisions(bool& divides) {
    const int count = static_cast<int>(StageDevices(cluster_).size());
    for (int replicas = 1; replicas <= count; ++replicas) {
      if (count % replicas != 0) continue;
      bool used = false;
      for (const PlanGraph& graph : graphs_) used |= options_.batch % (replicas * graph.size) == 0;
      if (!used) continue;
      divides = true;
      for (Plan& plan : PlansOfReplicas(cluster_, replicas)) {
        Division division;
        division.groups = DeviceGroups(plan, cluster_);
        division.plan = std::move(plan);
        for (const GraphFacts& facts : facts_) {
          division.alike.push_back(ReplicasAreAlike(cluster_, division.groups, facts.alike));
        }
        for (const std::vector<int>& group : division.groups) {
          std::vector<int>& stages = division.stage_devices.emplace_back();
          std::ranges::copy_if(
              group, std::back_inserter(stages), [&](int d) { return HasStages(cluster_, d); });
        }
        divisions_.push_back(std::move(division));
      }
    }
  }

  void AddDegrees() {
    bool divides = false;
    AddDivisions(divides);
    if (!divides) {
      std::vector<int> sizes;
      for (const PlanGraph& graph : graphs_) sizes.push_back(graph.size);
      throw InputError(fmt::format("--batch: {} is no multiple of the micro-batches: {}",
                                   options_.batch,
                                   fmt::join(sizes, ", ")));
    }
    result_.bound = kMaxNanos;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      const PlanGraph& graph = graphs_[g];
      const std::vector<std::string> blocks = facts_[g].layers.RecomputeAll();
      for (const bool recompute : {false, true}) {
        if (recompute && blocks.empty()) continue;
        facts_[g].costs[recompute] = SumLayers(graph.setting,
                                               facts_[g].layers,
                                               recompute ? blocks : std::vector<std::string>(),
                                               options_.batch > graph.size);
      }
      for (std::size_t i = 0; i < divisions_.size(); ++i) {
        const Division& division = divisions_[i];
        const int samples = division.plan.replicas * graph.size;
        if (options_.batch % samples != 0) continue;
        const int count = options_.batch / samples;
        const Nanos path = BoundPlanPath(graph.setting, division.plan, division.groups);
        const double reduce =
            static_cast<double>(AllReduceTimes(graph.setting, division.plan, {kReduceBytes})[0]) /
            static_cast<double>(kReduceBytes);
        for (const bool recompute : {false, true}) {
          if (!facts_[g].costs[recompute]) continue;
          const PlanWork work =
              BoundPlanWork(graph.setting, *facts_[g].costs[recompute], division.groups, count);
          if (!recompute) result_.bound = std::min(result_.bound, std::max(path, work.time));
          FoundPlan found;
          found.graph = static_cast<int>(g);
          found.plan = division.plan;
          found.plan.micro_batches = count;
          if (recompute) found.plan.recompute = blocks;
          found.recompute = recompute;
          AddDegreesOf(found, static_cast<int>(i), path, work, reduce);
        }
      }
    }
  }

  // Adds degrees with each number of stages and each schedule.
  void AddDegreesOf(const FoundPlan& plan,
                    int number,
                    Nanos path,
                    const PlanWork& work,
                    double reduce_ns_per_byte) {
    const Division& division = divisions_[number];
    const int graph = plan.graph;
    std::size_t most = facts_[graph].layers.num_layers();
    for (const std::vector<int>& devices : division.stage_devices) {
      most = std::min(most, devices.size());
    }
    const int replicas = division.alike[graph] ? 1 : division.plan.replicas;
    for (int stages = 1; stages <= static_cast<int>(most); ++stages) {
      Degrees degrees;
      FoundPlan& found = degrees.best = plan;
      found.num_stages = stages;
      found.bound = std::max(path, work.WithStages(stages));
      degrees.division = number;
      degrees.reduce_ns_per_byte = reduce_ns_per_byte;
      for (int r = 0; r < replicas; ++r) {
        found.stages.push_back(BalancedStages(
            CostsOf(found), cluster_, ClassesOf(graph, division.stage_devices[r]), stages));
      }
      const bool fits =
          std::ranges::none_of(found.stages, [](const Stages& s) { return s.end.empty(); });
      for (const Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe}) {
        // With one stage, GPipe takes the same time and more memory.
        if (schedule == Schedule::kGpipe && (stages == 1 || plan.plan.micro_batches == 1)) continue;
        ++result_.num_degrees;
        if (!fits) {
          ++result_.too_large;
          continue;
        }
        degrees.best.schedule = schedule;
        degrees_.push_back(degrees);
        ImproveEstimate(degrees_.back());
      }
    }
  }

  std::vector<std::vector<int>> ClassesOf(int graph, const std::vector<int>& devices) const {
    std::map<std::pair<int, std::int64_t>, std::vector<int>> classes;
    for (int d : devices) {
      classes[{facts_[graph].alike[d], cluster_.device(d).memory}].push_back(d);
    }
    std::size_t states = 1;
    std::vector<std::vector<int>> result;
    for (auto& [key, members] : classes) {
      states *= members.size() + 1;
      result.push_back(std::move(members));
    }
    // Too many classes for the dynamic program: the devices in their order.
    return states <= 4096 ? result : std::vector<std::vector<int>>{devices};
  }

  Estimate EstimateOf(const Degrees& degrees, const std::vector<Stages>& stages) const {
    Estimate sum;
    for (const Stages& each : stages) {
      const Estimate one = EstimatePlan(CostsOf(degrees.best),
                                        cluster_,
                                        each,
                                        degrees.best.plan.micro_batches,
                                        degrees.best.schedule,
                                        degrees.reduce_ns_per_byte);
      sum.deficit += one.deficit;
      sum.time = std::max(sum.time, one.time);
    }
    return sum;
  }

  bool AreInterchangeable(int graph, int a, int b) {
    const auto [entry, is_new] = interchangeable_.emplace(std::tuple(graph, a, b), false);
    if (is_new) entry->second = Interchangeable(cluster_, facts_[graph].alike, a, b);
    return entry->second;
  }

  // Returns the neighbours of stages, each with one change.
  std::vector<std::vector<Stages>> NeighborsOf(const Degrees& degrees,
                                               const std::vector<Stages>& stages) {
    const int graph = degrees.best.graph, num_layers = facts_[graph].layers.num_layers();
    std::vector<std::vector<Stages>> neighbors;
    for (std::size_t r = 0; r < stages.size(); ++r) {
      const Stages& own = stages[r];
      const int count = static_cast<int>(own.end.size());
      const auto add = [&](const std::function<void(Stages&)>& change) {
        change(neighbors.emplace_back(stages)[r]);
      };
      for (int s = 0; s + 1 < count; ++s) {
        for (const int by : {-2, -1, 1, 2}) {
          const int end = own.end[s] + by;
          const int low = s > 0 ? own.end[s - 1] : 0;
          const int high = s + 2 < count ? own.end[s + 1] : num_layers;
          if (low < end && end < high) add([&](Stages& to) { to.end[s] = end; });
        }
      }
      for (int s = 0; s < count; ++s) {
        for (int t = s + 1; t < count; ++t) {
          if (AreInterchangeable(graph, own.device[s], own.device[t])) continue;
          add([&](Stages& to) { std::swap(to.device[s], to.device[t]); });
        }
        for (int d : DivisionOf(degrees).stage_devices[r]) {
          if (std::ranges::find(own.device, d) != own.device.end()) continue;
          if (AreInterchangeable(graph, own.device[s], d)) continue;
          add([&](Stages& to) { to.device[s] = d; });
        }
      }
    }
    return neighbors;
  }

  // Descends to a local optimum of the estimate, in at most ten rounds.
  void ImproveEstimate(Degrees& degrees) {
    FoundPlan& best = degrees.best;
    best.estimate = EstimateOf(degrees, best.stages);
    for (int round = 0; round < 10; ++round) {
      const std::vector<Stages> base = best.stages;
      for (std::vector<Stages>& stages : NeighborsOf(degrees, base)) {
        const Estimate estimate = EstimateOf(degrees, stages);
        if (estimate >= best.estimate) continue;
        best.estimate = estimate;
        best.stages = std::move(stages);
      }
      if (best.stages == base) break;
    }
    degrees.start = best.stages;
    best.step_time = best.estimate.time;
    best.deficit = best.estimate.deficit;
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
    const GraphFacts& facts = facts_[plan.graph];
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
    return PlacePlan(setting, plan.plan, devices, plan.schedule, one);
  }

  Result SimulateTrial(const Trial& trial) const {
    const Degrees& degrees = degrees_[trial.degrees];
    const PlacedPlan placed = Place(degrees.best, DivisionOf(degrees), trial.stages);
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
      return IsTooLong(degrees_[trial.degrees].best) ||
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

  void Record(const Trial& trial, const Result& result) {
    ++result_.simulated;
    FoundPlan& best = degrees_[trial.degrees].best;
    if (best.simulated &&
        std::pair(best.deficit, best.step_time) <= std::pair(result.deficit, result.step_time))
      return;
    best.simulated = true;
    best.stages = trial.stages;
    best.step_time = result.step_time;
    best.deficit = result.deficit;
    best.peak = result.peak;
    best.fullest = result.fullest;
    if (result.deficit == 0) least_ = std::min(least_, result.step_time);
  }

  // Stages of about equal numbers of layers, on the devices in their order.
  std::vector<Stages> EvenStages(const Degrees& degrees) const {
    const int num_layers = facts_[degrees.best.graph].layers.num_layers();
    std::vector<Stages> stages(degrees.best.stages.size());
    for (std::size_t r = 0; r < stages.size(); ++r) {
      for (int s = 0; s < degrees.best.num_stages; ++s) {
        stages[r].end.push_back((s + 1) * num_layers / degrees.best.num_stages);
        stages[r].device.push_back(DivisionOf(degrees).stage_devices[r][s]);
      }
    }
    return stages;
  }

  // Returns the best plan of these degrees with even stages and 1F1B, over the sizes of
  // micro-batches, with recomputation only if it is needed.
  std::optional<FoundPlan> BestEven(int replicas, int num_stages) {
    std::optional<FoundPlan> best;
    for (const bool recompute : {false, true}) {
      std::vector<Trial> trials;
      for (std::size_t i = 0; i < degrees_.size(); ++i) {
        const FoundPlan& plan = degrees_[i].best;
        if (plan.plan.replicas == replicas && plan.num_stages == num_stages &&
            plan.recompute == recompute && plan.schedule == Schedule::k1F1B &&
            !plan.plan.groups.IsSequence() && !IsTooLong(plan))
          trials.push_back({static_cast<int>(i), EvenStages(degrees_[i])});
      }
      std::vector<Result> results(trials.size());
      ParallelFor(static_cast<int>(trials.size()), 0, [&](int i) {
        results[i] = SimulateTrial(trials[i]);
      });
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const Result& result = results[i];
        if (tried_.emplace(trials[i].degrees, trials[i].stages).second) Record(trials[i], result);
        if (result.deficit > 0 || (best && best->step_time <= result.step_time)) continue;
        best = degrees_[trials[i].degrees].best;
        best->stages = trials[i].stages;
        best->simulated = true;
        best->step_time = result.step_time;
        best->deficit = 0;
        best->peak = result.peak;
        best->fullest = result.fullest;
      }
      if (best) break;
    }
    return best;
  }

  void SimulateUsual() {
    const int count = static_cast<int>(StageDevices(cluster_).size());
    const int most = std::min(count, facts_[0].layers.num_layers());
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
      return std::pair(degrees_[i].best.deficit, degrees_[i].best.step_time);
    });
    return sorted;
  }

  // Simulates the neighbours that look best, of all if `most` is 0. @return false: time is over
  bool TryNeighbors(int number, std::size_t most) {
    const Degrees& degrees = degrees_[number];
    std::vector<std::pair<Estimate, Trial>> trials;
    for (std::vector<Stages>& stages : NeighborsOf(degrees, degrees.best.stages)) {
      if (tried_.contains({number, stages})) continue;
      const Estimate estimate = EstimateOf(degrees, stages);
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
    std::vector<int> all(degrees_.size());
    std::iota(all.begin(), all.end(), 0);
    std::ranges::stable_sort(all, {}, [&](int i) { return degrees_[i].best.estimate; });
    for (int i : all) result_.too_long += IsTooLong(degrees_[i].best);
    std::vector<int> rest;
    for (int i : all) {
      if (IsTooLong(degrees_[i].best) || rest.size() >= kMostSimulated) continue;
      if (degrees_[i].best.bound >= least_) {
        ++result_.bounded;
        continue;
      }
      rest.push_back(i);
      if (!Simulate({{i, degrees_[i].start}})) return;
    }
    while (rest.size() > 1) {
      rest = Sorted(rest);
      rest.resize((rest.size() + 1) / 2);
      for (int i : rest) {
        if (!TryNeighbors(i, kNeighbors)) return;
      }
    }
    for (int i : rest) {
      for (Nanos before = kMaxNanos; degrees_[i].best.step_time < before;) {
        before = degrees_[i].best.step_time;
        if (!TryNeighbors(i, 0)) return;
      }
    }
    for (int i : Sorted(all)) {
      if (degrees_[i].best.bound < least_ && !Enumerate(i)) return;
    }
  }

  // Returns all stages of a replica; none if there are more than kMostEnumerated.
  std::vector<Stages> AllStages(int graph, const std::vector<int>& devices, int num_stages) {
    const int num_layers = facts_[graph].layers.num_layers();
    std::vector<std::vector<int>> ends, orders;
    std::vector<int> part;
    const std::function<void(int)> cut = [&](int begin) {
      if (ends.size() > kMostEnumerated) return;
      if (static_cast<int>(part.size()) + 1 == num_stages) {
        ends.push_back(part);
        ends.back().push_back(num_layers);
        return;
      }
      for (int end = begin + 1; end < num_layers; ++end) {
        part.push_back(end);
        cut(end);
        part.pop_back();
      }
    };
    cut(0);
    // Of interchangeable devices, the first unused one.
    const std::function<void()> choose = [&] {
      if (orders.size() > kMostEnumerated) return;
      if (static_cast<int>(part.size()) == num_stages) {
        orders.push_back(part);
        return;
      }
      for (std::size_t i = 0; i < devices.size(); ++i) {
        if (std::ranges::find(part, devices[i]) != part.end()) continue;
        bool first = true;
        for (std::size_t j = 0; j < i && first; ++j) {
          first = std::ranges::find(part, devices[j]) != part.end() ||
                  !AreInterchangeable(graph, devices[j], devices[i]);
        }
        if (!first) continue;
        part.push_back(devices[i]);
        choose();
        part.pop_back();
      }
    };
    choose();
    std::vector<Stages> all;
    if (ends.size() * orders.size() > kMostEnumerated) return all;
    for (const std::vector<int>& end : ends) {
      for (const std::vector<int>& order : orders) all.push_back({end, order});
    }
    return all;
  }

  // @return false: the time is over
  bool Enumerate(int number) {
    const Degrees& degrees = degrees_[number];
    std::vector<Trial> trials{{number, {}}};
    for (std::size_t r = 0; r < degrees.best.stages.size(); ++r) {
      const std::vector<Stages> all = AllStages(
          degrees.best.graph, DivisionOf(degrees).stage_devices[r], degrees.best.num_stages);
      if (trials.size() * all.size() > kMostEnumerated) return true;
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
    for (std::size_t i = 0; i < degrees_.size(); ++i) {
      result_.too_long += IsTooLong(degrees_[i].best);
      trials.push_back({static_cast<int>(i), degrees_[i].start});
    }
    Simulate(std::move(trials));
  }

  void SetFigures(FoundPlan& plan, const Division& division) const {
    const PlanFigures figures =
        FiguresOf(graphs_[plan.graph].setting, Place(plan, division, plan.stages));
    plan.bubble = figures.bubble;
    plan.communication = figures.communication;
  }

  void Finish() {
    std::vector<int> numbers(degrees_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (!options_.memory_only) {
      std::erase_if(numbers, [&](int i) { return !degrees_[i].best.simulated; });
      numbers = Sorted(numbers);
      // Plans that do not fit are shown only if none fits.
      std::erase_if(numbers,
                    [&](int i) { return least_ < kMaxNanos && degrees_[i].best.deficit > 0; });
      if (numbers.size() > kMostShown) numbers.resize(kMostShown);
    }
    for (int i : numbers) {
      if (!options_.memory_only) SetFigures(degrees_[i].best, DivisionOf(degrees_[i]));
      result_.plans.push_back(degrees_[i].best);
    }
    if (options_.place && !numbers.empty()) {
      const Degrees& best = degrees_[numbers[0]];
      result_.placed = Place(best.best, DivisionOf(best), best.best.stages, true);
    }
    for (UsualPlan& usual : result_.usual) {
      for (const Division& division : divisions_) {
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
  std::vector<GraphFacts> facts_;  // [graphs]
  std::vector<Division> divisions_;
  std::vector<Degrees> degrees_;
  std::set<std::pair<int, std::vector<Stages>>> tried_;
  std::map<std::tuple<int, int, int>, bool> interchangeable_;
  Nanos least_ = kMaxNanos;  // best step time of a plan that fits
  PlanSearchResult result_;
};

}  // namespace

PlanSearchResult SearchPlans(const std::vector<PlanGraph>& graphs,
                             const PlanSearchOptions& options) {
  return PlanSearch(graphs, options).Run();
}

}  // namespace emplace

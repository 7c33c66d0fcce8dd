#include "agents/registry.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "agents/branch_and_bound/branch_and_bound.h"
#include "agents/contiguous/contiguous.h"
#include "agents/etf/etf.h"
#include "agents/expert/expert.h"
#include "agents/genetic/genetic.h"
#include "agents/graph_policy/graph_policy_agent.h"
#include "agents/graph_policy/graph_policy_trainer.h"
#include "agents/heft/heft.h"
#include "agents/hierarchical/hierarchical_agent.h"
#include "agents/hill_climb/hill_climb.h"
#include "agents/large_neighborhood/large_neighborhood.h"
#include "agents/learned_local_search/learned_local_search_agent.h"
#include "agents/learned_local_search/learned_local_search_trainer.h"
#include "agents/m_sct/m_sct.h"
#include "agents/max_load_dp/max_load_dp.h"
#include "agents/mcmc/mcmc.h"
#include "agents/metis/metis_agent.h"
#include "agents/multilevel/multilevel.h"
#include "agents/order_search/order_search.h"
#include "agents/peft/peft.h"
#include "agents/period_mip/period_mip.h"
#include "agents/period_multilevel/period_multilevel.h"
#include "agents/pipeline_stages/pipeline_stages.h"
#include "agents/placeto/placeto_agent.h"
#include "agents/portfolio/portfolio.h"
#include "agents/post/post_agent.h"
#include "agents/random/random_agent.h"
#include "agents/scotch/scotch_agent.h"
#include "agents/seq2seq/seq2seq_agent.h"
#include "agents/shared/constructive_agent.h"
#include "agents/shared/policy_file.h"
#include "agents/simulated_annealing/simulated_annealing.h"
#include "agents/single_device/single_device.h"
#include "agents/tabu/tabu.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

enum class Chance : bool { kNone, kSeeded };

/// The growth of an agent's time and memory, and the limit beyond which a problem is refused.
struct Growth {
  const char* text;
  int most_groups = std::numeric_limits<int>::max();
};

constexpr Growth kNearLinear{"near-linear in ops and dependencies"};
constexpr Growth kScotch{
    "near-linear in groups and edges; no last refinement above 300,000 groups"};
constexpr Growth kExponential{
    "exponential in groups until the optimum is proved; linear in ops per bound"};
constexpr Growth kMaxLoadDp{
    "quadratic in groups, linear above 1,000 groups; at most quadratic in `max_ideals`"};
constexpr Growth kAnnealed{"near-linear in groups and dependencies, times `effort`"};
constexpr Growth kExact{
    "exponential in groups; gives a bound at any time, after minutes for thousands of groups"};
constexpr Growth kPerEvaluation{"one simulation per evaluation, linear in ops"};
constexpr Growth kLinearProgram{
    "solves a linear program with a row per op and dependency; see the setting most_ops"};
constexpr Growth kNetworkPasses{
    "one pass per batch through a network over all pairs of groups and devices",
    30'000};
constexpr Growth kSquare{"time and memory of a step are quadratic in groups", 20'000};

void CheckGroups(const Problem& problem, const Growth& growth, const ConfigNode& settings) {
  if (problem.num_groups() <= growth.most_groups) return;
  settings.Fail(
      fmt::format("graph \"{}\" has {} groups, expected at most {}: {}; coarsen it, as with "
                  "\"coarsen: [{{merge_cheapest: {{groups: 500}}}}]\"",
                  problem.graph().name(),
                  problem.num_groups(),
                  growth.most_groups,
                  growth.text));
}

void CheckObjective(const Problem& problem,
                    std::optional<Objective> objective,
                    const ConfigNode& settings) {
  if (!objective.has_value() || problem.objective() == *objective) return;
  const auto name = [](Objective o) { return o == Objective::kPeriod ? "period" : "step_time"; };
  settings.Fail(
      fmt::format("the agent searches for the {0} only, but the objective is {1}; set \"objective: "
                  "{0}\" or use another agent",
                  name(*objective),
                  name(problem.objective())));
}

/// Reads the settings of an agent. If the agent starts from a trained policy, settings that are not
/// given default to those of the training, and those in `A::kPolicyStructure` cannot be changed.
template <class A>
typename A::Config ReadSettings(const ConfigNode& settings,
                                const std::string& agent,
                                const typename A::Config& defaults) {
  using Config = typename A::Config;
  auto config = ReadFields<Config>(settings, defaults);
  if constexpr (requires { typename A::Trainer; }) {
    const std::string policy = config.policy;
    const std::optional<ConfigNode> found = TrainedSettings(policy, agent);
    if (!found) return config;
    const auto trained = ReadFields<Config>(*found, defaults);
    config = ReadFields<Config>(settings, trained);
    if constexpr (requires { A::kPolicyStructure; }) {
      const std::vector<FieldHelp> ours = DescribeFields(config), theirs = DescribeFields(trained);
      for (size_t i = 0; i < ours.size(); ++i) {
        if (std::ranges::find(A::kPolicyStructure, ours[i].key) == std::end(A::kPolicyStructure) ||
            ours[i].default_value == theirs[i].default_value) {
          continue;
        }
        throw SettingError(ours[i].key,
                           fmt::format("got {}; the policy \"{}\" was trained with {}",
                                       ours[i].default_value,
                                       policy,
                                       theirs[i].default_value));
      }
    }
  }
  return config;
}

/// Returns make(config). Adds the position of the setting in the run config to a SettingError.
template <class A, class Make>
auto MakeWith(const ConfigNode& settings,
              const std::string& agent,
              const typename A::Config& defaults,
              const Make& make) {
  try {
    return make(ReadSettings<A>(settings, agent, defaults));
  } catch (const SettingError& error) {
    ConfigNode place = settings;
    std::string key = error.key();
    while (place.IsMap() && place.Has(key.substr(0, key.find('.')))) {
      place = place.At(key.substr(0, key.find('.')));
      if (key.find('.') == std::string::npos) place.Fail(error.message());
      key.erase(0, key.find('.') + 1);
    }
    settings.Fail(error.what());
  }
}

/// Makes the entry of an agent class with a nested `Config` (a struct with Visit) and a constructor
/// `A(const AgentContext&, const A::Config&)`. A class that can be trained over several problems
/// also has a nested `Trainer` with a constructor `A::Trainer(const TrainerContext&, const
/// A::Config&)`.
template <class A>
AgentEntry Entry(std::string name,
                 std::string sentence,
                 Chance chance,
                 const Growth& growth,
                 typename A::Config defaults = {},
                 std::optional<Objective> objective = {}) {
  using Config = typename A::Config;
  AgentEntry entry;
  const std::string entry_name = name;
  entry.name = std::move(name);
  entry.sentence = std::move(sentence);
  entry.objective = objective;
  entry.make = [=](const AgentContext& context, const ConfigNode& settings) {
    CheckGroups(*context.problem, growth, settings);
    CheckObjective(*context.problem, objective, settings);
    return MakeWith<A>(
        settings, entry_name, defaults, [&](const Config& config) -> std::unique_ptr<Agent> {
          return std::make_unique<A>(context, config);
        });
  };
  if constexpr (requires { typename A::Trainer; }) {
    entry.make_trainer = [=](const TrainerContext& context, const ConfigNode& settings) {
      for (const auto& problem : context.problems) CheckGroups(*problem, growth, settings);
      return MakeWith<A>(settings,
                         entry_name,
                         defaults,
                         [&](const Config& config) -> std::unique_ptr<PolicyTrainer> {
                           return std::make_unique<typename A::Trainer>(context, config);
                         });
    };
  }
  entry.describe_settings = [defaults] { return DescribeFields<Config>(defaults); };
  entry.resolve_settings = [=](const ConfigNode& settings) {
    return WriteFields(ReadSettings<A>(settings, entry_name, defaults));
  };
  entry.uses_seed = chance == Chance::kSeeded;
  entry.constructs = std::is_base_of_v<ConstructiveAgent, A>;
  entry.growth = growth.text;
  entry.most_groups = growth.most_groups;
  return entry;
}

AgentRegistry MakeRegistry() {
  using Cpop = HeftAgent<HeftRule::kCpop>;
  using Heft = HeftAgent<HeftRule::kHeft>;
  constexpr Chance kNone = Chance::kNone, kSeeded = Chance::kSeeded;
  const EtfConfig m_etf{.memory_aware = true};
  const ScotchConfig min_cut{.devices = "gpu"};
  const SingleDeviceConfig cpu{.device = "cpu"};

  AgentRegistry registry;
  const auto add = [&](AgentEntry entry) { registry.Add(std::move(entry)); };
  add(Entry<BranchAndBoundAgent>("branch_and_bound",
                                 "Branch and bound: the proved optimum, for few groups",
                                 kNone,
                                 kExponential));
  add(Entry<ContiguousAgent>(
      "contiguous", "Contiguous blocks of equal cost over the devices", kNone, kNearLinear));
  add(Entry<Cpop>(
      "cpop", "Critical path on a processor (Topcuoglu et al. 2002)", kNone, kNearLinear));
  add(Entry<EtfAgent>("etf", "Earliest task first (Hwang et al. 1989)", kNone, kNearLinear));
  add(Entry<ExpertAgent>(
      "expert", "An expert's rules from op names to devices", kNone, kNearLinear));
  add(Entry<GeneticAgent>("genetic",
                          "Population, crossover of connected blocks, local improvement",
                          kSeeded,
                          kPerEvaluation));
  add(Entry<GraphPolicyAgent>("graph_policy",
                              "Edits of whole placements proposed by a trained graph network",
                              kSeeded,
                              kNetworkPasses));
  add(Entry<Heft>(
      "heft", "Heterogeneous earliest finish time (Topcuoglu et al. 2002)", kNone, kNearLinear));
  add(Entry<HierarchicalAgent>("hierarchical",
                               "Grouper and placer, learned together (Mirhoseini et al. 2018)",
                               kSeeded,
                               kPerEvaluation));
  add(Entry<HillClimbAgent>("hill_climb",
                            "Best of each batch of small moves; perturbed restarts",
                            kSeeded,
                            kPerEvaluation));
  add(Entry<MaxLoadDpAgent>(
      "max_load_dp",
      "Period: convex sets by dynamic programming over ideals (Tarnawski et al. 2020)",
      kNone,
      kMaxLoadDp,
      {},
      Objective::kPeriod));
  add(Entry<LargeNeighborhoodAgent>("large_neighborhood",
                                    "Adaptive large neighborhood search on the schedule",
                                    kSeeded,
                                    kPerEvaluation));
  add(Entry<LearnedLocalSearchAgent>("learned_local_search",
                                     "Multilevel search whose moves a trained network ranks",
                                     kSeeded,
                                     kPerEvaluation));
  add(Entry<EtfAgent>("m_etf",
                      "Earliest task first within the devices' memory (Jeon et al. 2020)",
                      kNone,
                      kNearLinear,
                      m_etf));
  add(Entry<MSctAgent>("m_sct",
                       "Small communication times within the devices' memory (Jeon et al. 2020)",
                       kNone,
                       kLinearProgram));
  add(Entry<McmcAgent>("mcmc",
                       "Metropolis over single moves, as FlexFlow (Jia et al. 2019)",
                       kSeeded,
                       kPerEvaluation));
  add(Entry<MetisAgent>(
      "metis", "Least cut into parts of equal cost by METIS", kNone, kNearLinear));
  add(Entry<ScotchAgent>(
      "min_cut", "Static mapping onto the GPUs by Scotch", kNone, kScotch, min_cut));
  add(Entry<MultilevelAgent>("multilevel",
                             "Coarsening, placement, and improvement on every level",
                             kSeeded,
                             kPerEvaluation));
  add(Entry<OrderSearchAgent>("order_search",
                              "Alternating improvement of placement and issue order",
                              kSeeded,
                              kPerEvaluation));
  add(Entry<PeftAgent>(
      "peft", "Predict earliest finish time (Arabnejad and Barbosa 2014)", kNone, kNearLinear));
  add(Entry<PeriodMipAgent>("period_mip",
                            "Period: sets of devices, then a mixed-integer program; exact",
                            kSeeded,
                            kExact,
                            {},
                            Objective::kPeriod));
  add(Entry<PeriodMultilevelAgent>("period_multilevel",
                                   "Period: multilevel annealing and recombination of the best",
                                   kSeeded,
                                   kAnnealed,
                                   {},
                                   Objective::kPeriod));
  add(Entry<PipelineStagesAgent>(
      "pipeline_stages",
      "Equal contiguous stages of the forward pass, each with its backward ops",
      kNone,
      kNearLinear));
  add(Entry<PlacetoAgent>("placeto",
                          "Group-by-group improvement with a graph network (Addanki et al. 2019)",
                          kSeeded,
                          kSquare));
  add(Entry<PortfolioAgent>(
      "portfolio", "Several searches that share the best placement", kSeeded, kPerEvaluation));
  add(Entry<PostAgent>("post",
                       "Cross-entropy minimization combined with PPO (Gao et al. 2018)",
                       kSeeded,
                       kPerEvaluation));
  add(Entry<RandomAgent>(
      "random", "Random allowed device for every group", kSeeded, kPerEvaluation));
  add(Entry<ScotchAgent>(
      "scotch", "Static mapping onto all devices, CPU included, by Scotch", kNone, kScotch));
  add(Entry<Seq2SeqAgent>("seq2seq",
                          "Policy gradient on an attentional LSTM (Mirhoseini et al. 2017)",
                          kSeeded,
                          kSquare));
  add(Entry<AnnealingAgent>(
      "simulated_annealing", "Simulated annealing with reheats", kSeeded, kPerEvaluation));
  add(Entry<SingleDeviceAgent>(
      "single_cpu", "Everything on the first CPU", kNone, kNearLinear, cpu));
  add(Entry<SingleDeviceAgent>("single_device", "Everything on one device", kNone, kNearLinear));
  add(Entry<SingleDeviceAgent>(
      "single_gpu", "Everything on the first GPU, the rest on the CPU", kNone, kNearLinear));
  add(Entry<TabuAgent>(
      "tabu", "Tabu search with a random candidate list", kSeeded, kPerEvaluation));
  registry.AddLoader(
      "python:", [](const std::string& name, const std::string& where) -> AgentEntry {
        throw InputError(where + ": \"" + name +
                         "\" is an agent written in Python, which needs the command `emplace` of "
                         "the Python package: pip install ./scripts/emplace");
      });
  return registry;
}

AgentRegistry& TheRegistry() {
  static AgentRegistry registry = MakeRegistry();
  return registry;
}

}  // namespace

const AgentRegistry& AllAgents() {
  return TheRegistry();
}

void LoadAgentsBy(const std::string& prefix, AgentLoader load) {
  TheRegistry().AddLoader(prefix, std::move(load));
}

}  // namespace emplace

#include "experiments/plan/plan_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "experiments/problem/objective.h"

namespace emplace {
namespace {

bool IsPeriod(const std::vector<PlanGraph>& graphs) {
  return graphs[0].setting.objective == Objective::kPeriod;
}

std::string Share(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double GapOf(const PlanSearchResult& result, const FoundPlan& plan) {
  return static_cast<double>(plan.step_time) / static_cast<double>(result.bound) - 1;
}

double SamplesPerSecond(const FoundPlan& plan, int batch) {
  return 1e9 * batch / static_cast<double>(plan.step_time);
}

// Returns the devices of the stages of a replica with their numbers of layers: "gpu:0 7, gpu:1 7".
std::string StagesText(const Stages& stages, const Cluster& cluster) {
  std::string text;
  for (std::size_t s = 0; s < stages.end.size(); ++s) {
    text += fmt::format("{}{} {}",
                        s > 0 ? ", " : "",
                        cluster.device(stages.device[s]).name,
                        stages.end[s] - (s > 0 ? stages.end[s - 1] : 0));
  }
  return text;
}

std::vector<std::string> DegreesOf(const FoundPlan& plan, const std::vector<PlanGraph>& graphs) {
  std::string replicas = std::to_string(plan.plan.replicas);
  if (plan.plan.groups.IsSequence()) replicas += "*";
  return {std::to_string(graphs[plan.graph].setting.step->ranks()),
          replicas,
          std::to_string(plan.num_stages),
          fmt::format("{} x {}", plan.plan.micro_batches, graphs[plan.graph].size),
          plan.recompute ? "all" : "none",
          plan.num_stages > 1 && !IsPeriod(graphs)
              ? ScheduleText(plan.schedule, plan.virtual_stages)
              : "-"};
}

std::string MemoryText(const FoundPlan& plan, const Cluster& cluster) {
  if (plan.fullest < 0) return "-";
  const std::int64_t memory = cluster.device(plan.fullest).memory;
  return fmt::format("{} / {}",
                     FormatBytes(plan.peak),
                     memory == kUnlimitedMemory ? "unlimited" : FormatBytes(memory));
}

std::vector<std::string> RowOf(const std::string& name,
                               const FoundPlan& plan,
                               const PlanSearchResult& result,
                               const std::vector<PlanGraph>& graphs,
                               const PlanSearchOptions& options) {
  std::vector<std::string> row{name};
  for (std::string& text : DegreesOf(plan, graphs)) row.push_back(std::move(text));
  row.push_back(FormatTime(plan.step_time) + (plan.deficit > 0 ? " (too large)" : ""));
  row.push_back(fmt::format("{:.4g}", SamplesPerSecond(plan, options.batch)));
  row.push_back(MemoryText(plan, *graphs[plan.graph].setting.cluster));
  row.push_back(Share(plan.bubble));
  row.push_back(Share(plan.communication));
  row.push_back(Share(GapOf(result, plan)));
  return row;
}

// Returns the best of the usual plans; nullptr if none fits.
const UsualPlan* BestUsual(const PlanSearchResult& result) {
  const UsualPlan* best = nullptr;
  for (const UsualPlan& usual : result.usual) {
    if (usual.plan && (best == nullptr || usual.plan->step_time < best->plan->step_time))
      best = &usual;
  }
  return best;
}

// Returns the sentence that compares the best plan with the usual ones.
std::string Verdict(const PlanSearchResult& result) {
  if (result.plans.empty()) return "No plan was simulated.\n";
  const FoundPlan& plan = result.plans[0];
  if (plan.deficit > 0) return "No plan that was simulated fits into memory.\n";
  const UsualPlan* usual = BestUsual(result);
  if (usual == nullptr) return "None of the usual plans fits into memory or divides the batch.\n";
  const double gain =
      1 - static_cast<double>(plan.step_time) / static_cast<double>(usual->plan->step_time);
  if (gain <= 0) return fmt::format("Nothing that was found beats {}.\n", usual->name);
  return fmt::format("The best plan takes {:.1f} % less time than {}.\n", 100 * gain, usual->name);
}

nlohmann::ordered_json PlanToJson(const FoundPlan& plan,
                                  const PlanSearchResult& result,
                                  const std::vector<PlanGraph>& graphs,
                                  const PlanSearchOptions& options) {
  const PlanSetting& setting = graphs[plan.graph].setting;
  const Cluster& cluster = *setting.cluster;
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const Stages& replica : plan.stages) {
    nlohmann::ordered_json& of = stages.emplace_back(nlohmann::ordered_json::array());
    for (std::size_t s = 0; s < replica.end.size(); ++s) {
      of.push_back({{"device", cluster.device(replica.device[s]).name},
                    {"layers", replica.end[s] - (s > 0 ? replica.end[s - 1] : 0)}});
    }
  }
  nlohmann::ordered_json groups = nullptr;
  if (plan.plan.groups.IsSequence()) {
    groups = nlohmann::ordered_json::array();
    for (const ConfigNode& group : plan.plan.groups.Elements()) {
      nlohmann::ordered_json& names = groups.emplace_back(nlohmann::ordered_json::array());
      for (const ConfigNode& name : group.Elements()) names.push_back(name.AsString());
    }
  }
  nlohmann::ordered_json json = {
      {"graph", setting.where},
      {"ranks", setting.step->ranks()},
      {"replicas", plan.plan.replicas},
      {"groups", groups},
      {"num_stages", plan.num_stages},
      {"micro_batches", plan.plan.micro_batches},
      {"micro_batch", graphs[plan.graph].size},
      {"recompute", plan.recompute ? "all" : "none"},
      {"schedule", NameOf(plan.schedule)},
      {"virtual_stages", plan.virtual_stages},
      {"stages", stages},
      {"simulated", plan.simulated},
      {"step_time_ns", plan.step_time},
      {"feasible", plan.deficit == 0},
      {"deficit_bytes", plan.deficit},
      {"peak_bytes", plan.peak},
      {"fullest",
       plan.fullest < 0 ? nlohmann::ordered_json(nullptr)
                        : nlohmann::ordered_json(cluster.device(plan.fullest).name)},
      {"degrees_bound_ns", plan.bound}};
  if (options.memory_only) return json;
  json["samples_per_s"] = SamplesPerSecond(plan, options.batch);
  json["bubble"] = plan.bubble;
  json["communication"] = plan.communication;
  json["gap"] = GapOf(result, plan);
  return json;
}

}  // namespace

std::string ScheduleText(Schedule schedule, int virtual_stages) {
  return virtual_stages > 1 ? fmt::format("{} x {}", NameOf(schedule), virtual_stages)
                            : NameOf(schedule);
}

std::string FormatPlanSearch(const PlanSearchResult& result,
                             const std::vector<PlanGraph>& graphs,
                             const PlanSearchOptions& options) {
  const Cluster& cluster = *graphs[0].setting.cluster;
  std::string text = fmt::format(
      "{} on {}, batch {}, {}, {} semantics\n"
      "{} degrees: {} do not fit, {} of the best by the estimate are excluded by their bound, {} "
      "are "
      "too large to simulate; {} plans simulated{}\n"
      "bound over all plans: {}\n\n",
      graphs[0].setting.step->name(),
      cluster.name(),
      options.batch,
      result.layers,
      ToString(graphs[0].setting.semantics),
      result.num_degrees,
      result.too_large,
      result.bounded,
      result.too_long,
      result.simulated,
      result.complete ? "" : " until the time was over or a stop was requested",
      result.bound < kMaxNanos ? FormatTime(result.bound) : "none, as no stages fit");
  std::vector<std::vector<std::string>> rows = {{"",
                                                 "ranks",
                                                 "replicas",
                                                 "stages",
                                                 "micro-batches",
                                                 "recompute",
                                                 "schedule",
                                                 IsPeriod(graphs) ? "period" : "step time",
                                                 "samples/s",
                                                 "fullest device",
                                                 "bubble",
                                                 "communication",
                                                 "gap"}};
  bool grouped = false;
  for (const FoundPlan& plan : result.plans) {
    grouped = grouped || plan.plan.groups.IsSequence();
    rows.push_back(RowOf(std::to_string(rows.size()), plan, result, graphs, options));
  }
  for (const UsualPlan& usual : result.usual) {
    if (usual.plan) rows.push_back(RowOf(usual.name, *usual.plan, result, graphs, options));
  }
  text += FormatColumns(rows) + "\n";
  for (const UsualPlan& usual : result.usual) {
    if (!usual.plan) {
      text += fmt::format("{} ({}): none divides the batch and fits\n", usual.name, usual.meaning);
    }
  }
  if (grouped) text += "* groups of GPUs by kind or node, not in their order\n";
  if (!result.plans.empty()) {
    const FoundPlan& plan = result.plans[0];
    text += "stages of the best plan, with their layers:\n";
    for (const Stages& stages : plan.stages) {
      text += "  " + StagesText(stages, *graphs[plan.graph].setting.cluster) +
              (plan.plan.replicas > 1 && plan.stages.size() == 1 ? "; other replicas likewise\n"
                                                                 : "\n");
    }
  }
  if (result.moved) {
    const Nanos time = result.moved->outcome.step_time;
    text += fmt::format(
        "with {} of its {} ops moved one by one to other stages: {}, {} less\n",
        result.moved->num_moved,
        graphs[result.plans[0].graph].setting.step->num_ops(),
        FormatTime(time),
        Share(1 - static_cast<double>(time) / static_cast<double>(result.plans[0].step_time)));
  }
  return text + Verdict(result);
}

std::string FormatPlanMemory(const PlanSearchResult& result, const std::vector<PlanGraph>& graphs) {
  std::vector<std::vector<std::string>> rows = {{"ranks",
                                                 "replicas",
                                                 "stages",
                                                 "micro-batches",
                                                 "recompute",
                                                 "schedule",
                                                 "fits",
                                                 "fullest device"}};
  int fit = 0;
  for (const FoundPlan& plan : result.plans) {
    fit += plan.deficit == 0;
    std::vector<std::string> row = DegreesOf(plan, graphs);
    row.push_back(fmt::format(
        "{}{}", plan.deficit == 0 ? "yes" : "no", plan.simulated ? "" : " (estimated)"));
    row.push_back(plan.deficit == 0 || plan.simulated
                      ? MemoryText(plan, *graphs[plan.graph].setting.cluster)
                      : "lacks " + FormatBytes(plan.deficit));
    rows.push_back(std::move(row));
  }
  return fmt::format("{}{} of {} degrees fit with balanced stages; {} more fit in no stages\n",
                     FormatColumns(rows),
                     fit,
                     result.num_degrees,
                     result.too_large);
}

std::string FormatPlanSearchJson(const PlanSearchResult& result,
                                 const std::vector<PlanGraph>& graphs,
                                 const PlanSearchOptions& options) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array(), usual;
  for (const FoundPlan& plan : result.plans) {
    plans.push_back(PlanToJson(plan, result, graphs, options));
  }
  for (const UsualPlan& each : result.usual) {
    usual[each.name] = each.plan ? PlanToJson(*each.plan, result, graphs, options)
                                 : nlohmann::ordered_json(nullptr);
  }
  nlohmann::ordered_json json = {{"graph", graphs[0].setting.step->name()},
                                 {"cluster", graphs[0].setting.cluster->name()},
                                 {"batch", options.batch},
                                 {"semantics", std::string(ToString(graphs[0].setting.semantics))},
                                 {"objective", ToString(graphs[0].setting.objective)},
                                 {"layers", result.layers},
                                 {"degrees", result.num_degrees},
                                 {"do_not_fit", result.too_large},
                                 {"excluded_by_bound", result.bounded},
                                 {"too_large_to_simulate", result.too_long},
                                 {"simulated", result.simulated},
                                 {"complete", result.complete},
                                 {"bound_ns",
                                  result.bound < kMaxNanos ? nlohmann::ordered_json(result.bound)
                                                           : nlohmann::ordered_json(nullptr)},
                                 {"plans", std::move(plans)}};
  if (!options.memory_only) {
    json["usual"] = std::move(usual);
    json["moved_ops"] = nullptr;
    if (result.moved) {
      json["moved_ops"] = {{"ops", result.moved->num_moved},
                           {"step_time_ns", result.moved->outcome.step_time}};
    }
    json["verdict"] = Verdict(result).substr(0, Verdict(result).size() - 1);
  }
  return json.dump(2) + "\n";
}

}  // namespace emplace

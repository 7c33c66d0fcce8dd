#include "experiments/report/report_data.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/provenance/build_info.h"
#include "experiments/report/learning_updates.h"
#include "experiments/report/placement_picture.h"
#include "experiments/report/plan_picture.h"
#include "experiments/report/timeline_picture.h"
#include "experiments/stress/stress_results.h"
#include "framework/cost/cost_model.h"
#include "framework/results/record_json.h"

namespace emplace {
namespace {

Json NullUnlessFinite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json RunCounts(const std::vector<const ResultRun*>& runs) {
  const auto count = [&](RunProgress progress) {
    return std::count_if(
        runs.begin(), runs.end(), [&](const ResultRun* run) { return run->progress == progress; });
  };
  return {{"done", count(RunProgress::kDone)},
          {"failed", count(RunProgress::kFailed)},
          {"stopped", count(RunProgress::kStopped)},
          {"open", count(RunProgress::kNew)}};
}

// Returns version, machine and time of the runs: every distinct value, and the first and last date.
Json ProvenanceJson(const ProblemRuns& problem) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& file : problem.Files()) {
    const ResultsReader reader(file);
    for (const char* key : {"version", "commit", "host", "cpu", "gpus", "date"}) {
      values[key].insert(reader.Text("/config", key));
    }
  }
  Json json = Json::object();
  for (const auto& [key, texts] : values) {
    if (key != "date") json[key] = texts;
  }
  json["first"] = values["date"].empty() ? "" : *values["date"].begin();
  json["last"] = values["date"].empty() ? "" : *values["date"].rbegin();
  return json;
}

// Efforts are numbers of evaluations, or seconds rounded to microseconds.
Json CurveJson(const CurveBand& band, const char* effort) {
  const auto rounded = [](const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) {
      list.push_back(std::isfinite(value) ? Json(std::llround(value)) : Json(nullptr));
    }
    return list;
  };
  Json at = Json::array();
  for (const double value : band.at) {
    const bool is_whole = value == std::floor(value);
    at.push_back(is_whole ? Json(std::llround(value)) : Json(std::round(1e6 * value) / 1e6));
  }
  return {{effort, std::move(at)},
          {"median", rounded(band.median)},
          {"least", rounded(band.least)},
          {"most", rounded(band.most)}};
}

Json ClusterJson(const Cluster& cluster) {
  Json devices = Json::array();
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const Device& device = cluster.device(d);
    devices.push_back(
        {{"name", device.name},
         {"kind", cluster.kind_of(d).name},
         {"class", std::string(ToString(cluster.kind_of(d).device_class))},
         {"source", cluster.kind_of(d).source},
         {"memory", device.memory == kUnlimitedMemory ? Json(nullptr) : Json(device.memory)}});
  }
  return {{"name", cluster.name()}, {"devices", std::move(devices)}};
}

// Returns the result of each seed, which the page draws as a dot.
Json SeedsJson(const ProblemRuns& problem, const std::string& agent) {
  Json seeds = Json::array();
  for (const ResultRun* run : problem.runs) {
    if (run->agent != agent || run->progress != RunProgress::kDone) continue;
    const bool fits = std::isfinite(run->best_ns);
    seeds.push_back({{"label", LabelOf(*run)},
                     {"step_time_ns", fits ? Json(std::llround(run->best_ns)) : Json(nullptr)},
                     {"evaluations", run->evaluations},
                     {"seconds", run->seconds},
                     {"hardware_seconds", run->hardware_seconds}});
  }
  return seeds;
}

Json AgentsJson(const ProblemRuns& problem, const DrawnPlacement& drawn, Nanos bound) {
  Json agents = Json::parse(FormatTableJson(
      MakeReportRows(problem), {drawn.best_single_device, bound}, drawn.ops->cluster()));
  for (Json& agent : agents) {
    const auto label = agent["agent"].get<std::string>();
    const auto curves = ReadCurves(problem, label);
    agent["curve"] = CurveJson(SummarizeCurves(curves), "evaluations");
    agent["curve_over_seconds"] =
        CurveJson(SummarizeCurves(curves, CurveAxis::kSeconds), "seconds");
    agent["curve_over_hardware"] =
        CurveJson(SummarizeCurves(curves, CurveAxis::kHardwareSeconds), "seconds");
    agent["seeds"] = SeedsJson(problem, label);
    agent["updates"] = AgentUpdatesJson(problem, label);
  }
  return agents;
}

Json DrawnJson(const DrawnPlacement& drawn) {
  const Cluster& cluster = drawn.ops->cluster();
  const Outcome& outcome = drawn.timeline.outcome;
  Json devices = Json::array(), channels = Json::array(), sources = Json::object();
  for (const DeviceOutcome& device : outcome.devices) {
    devices.push_back(
        {{"busy_ns", device.busy}, {"peak_bytes", device.peak}, {"deficit_bytes", device.deficit}});
  }
  for (size_t k = 0; k < outcome.channels.size(); ++k) {
    const ChannelOutcome& channel = outcome.channels[k];
    if (channel.transfers == 0) continue;
    channels.push_back({{"name", cluster.channel(static_cast<int>(k)).name},
                        {"busy_ns", channel.busy},
                        {"transfers", channel.transfers},
                        {"bytes", channel.bytes}});
  }
  const CostSourceShares shares = ComputeCostSourceShares(drawn.ops->costs(), drawn.device_of_op);
  for (int source = 0; source < kNumCostSources; ++source) {
    sources[std::string(ToString(static_cast<CostSource>(source)))] = shares[source];
  }
  return {{"label", drawn.label},
          {"step_time_ns", outcome.step_time},
          {"searched_ns", drawn.searched ? Json(*drawn.searched) : Json(nullptr)},
          {"feasible", outcome.feasible},
          {"devices", std::move(devices)},
          {"channels", std::move(channels)},
          {"cost_sources", std::move(sources)},
          {"placement", drawn.device_of_op}};
}

}  // namespace

GraphList::GraphList() : json_(std::make_unique<Json>(Json::array())) {
}
GraphList::~GraphList() = default;

int GraphList::Add(const Graph& graph) {
  Json json = GraphJson(graph);
  const auto [at, is_new] = index_.emplace(json.dump(), static_cast<int>(json_->size()));
  if (is_new) json_->push_back(std::move(json));
  return at->second;
}

Json ReportHeadJson(const ResultRuns& results, const std::string& title) {
  std::vector<const ResultRun*> runs;
  Json failures = Json::array(), sweep = nullptr;
  for (const ResultRun& run : results.runs) {
    runs.push_back(&run);
    if (run.progress == RunProgress::kFailed) {
      failures.push_back({{"run", run.title}, {"error", run.error}});
    }
  }
  for (const ResultRun* run : runs) {
    if (run->group.empty()) continue;
    const ResultsReader reader(run->file);
    if (reader.HasAttribute("/config", "sweep")) sweep = reader.Text("/config", "sweep");
    break;
  }
  return {{"title", title},
          {"source", results.sources},
          {"sweep", std::move(sweep)},
          {"runs", RunCounts(runs)},
          {"failures", std::move(failures)},
          {"made_by",
           {{"version", std::string(Version())},
            {"commit", std::string(Commit())},
            {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}}}};
}

Json ProblemJson(const ProblemRuns& problem,
                 const DrawnPlacement* drawn,
                 GraphList& graphs,
                 Json levels) {
  Json json = {{"title", problem.title},
               {"keys", problem.runs[0]->keys},
               {"runs", RunCounts(problem.runs)},
               {"provenance", ProvenanceJson(problem)}};
  std::set<std::uint64_t> seeds;
  for (const ResultRun* run : problem.runs) {
    if (run->uses_seed) seeds.insert(run->seed);
  }
  json["seeds"] = seeds;
  if (drawn == nullptr) return json;

  const ResultRun& best = *problem.Best();
  const ResultsReader reader(best.file);
  json["bound_ns"] = best.bound.value;
  json["bound_method"] = best.bound.method;
  json["optimal"] = best.is_optimal();
  json["critical_path_ns"] = reader.Int("/problem", "critical_path_ns");
  json["work_ns"] = reader.Int("/problem", "work_ns");
  json["best_single_device"] = nullptr;
  if (const auto& single = drawn->best_single_device) {
    json["best_single_device"] = {{"device", single->device}, {"step_time_ns", single->step_time}};
  }
  json["graph"] = graphs.Add(drawn->ops->graph());
  json["groups"] = drawn->problem.exact->num_groups();
  json["cluster"] = ClusterJson(drawn->ops->cluster());
  json["agents"] = AgentsJson(problem, *drawn, best.bound.value);
  json["drawn"] = DrawnJson(*drawn);
  json["levels"] = std::move(levels);
  json["timeline"] = TimelineJson(*drawn->ops, drawn->timeline);
  json["plan_picture"] = nullptr;
  if (!drawn->origin.empty()) {
    json["plan_picture"] = FormatPlanPicture(*drawn->ops, drawn->origin, drawn->timeline, "");
  }
  json["verification"] = VerificationJson(problem);
  json["stress"] = RobustnessJson(problem);
  return json;
}

Json VerificationJson(const ProblemRuns& problem) {
  constexpr const char* kGroup = "/verification";
  for (const auto& file : problem.Files()) {
    const ResultsReader reader(file);
    if (!reader.Has(kGroup)) continue;
    const std::string steps = std::string(kGroup) + "/steps";
    const std::vector<TableColumn> table = reader.Table(steps);
    const std::string where = file.string() + ": " + steps;
    Json json = {{"labels", reader.Strings(std::string(kGroup) + "/labels")},
                 {"unfitting", reader.Strings(std::string(kGroup) + "/unfitting")},
                 {"warnings", reader.Strings(std::string(kGroup) + "/warnings")},
                 {"simulated_ns", ColumnOf<std::int64_t>(table, "simulated_ns", where)},
                 {"mode", reader.Text(kGroup, "mode")},
                 {"rounds", reader.Int(kGroup, "rounds")},
                 {"date", reader.Text(kGroup, "date")},
                 {"host", reader.Text(kGroup, "host")}};
    for (const char* name : {"measured_ns", "low_ns", "high_ns"}) {
      json[name] = ColumnOf<double>(table, name, where);
    }
    json["verdict"] = reader.Text(kGroup, "verdict");
    if (reader.HasAttribute(kGroup, "paired_level")) {  // else one placement
      json["paired_level"] = reader.Double(kGroup, "paired_level");
      for (const char* name : {"to_fastest", "to_fastest_low", "to_fastest_high"}) {
        for (const double value : ColumnOf<double>(table, name, where)) {
          json[name].push_back(NullUnlessFinite(value));
        }
      }
    }
    for (const char* name : {"mape", "max_error", "kendall_tau"}) {
      if (reader.HasAttribute(kGroup, name)) json[name] = reader.Double(kGroup, name);
    }
    if (reader.HasAttribute(kGroup, "coverage")) {  // else the intervals have no bounds
      for (const char* name :
           {"coverage", "interval_level", "interval_low_ratio", "interval_high_ratio"}) {
        json[name] = reader.Double(kGroup, name);
      }
      json["interval_source"] = reader.Text(kGroup, "interval_source");
    }
    return json;
  }
  return nullptr;
}

Json RobustnessJson(const ProblemRuns& problem) {
  for (const auto& file : problem.Files()) {
    const ResultsReader reader(file);
    if (!reader.Has("/stress")) continue;
    const StressResult result = ReadStress(reader);
    const auto provenance = ReadRecord<Provenance>(reader, "/stress");
    Json json = {{"labels", result.labels},
                 {"step_times_ns", result.step_times},
                 {"noise", result.noise},
                 {"adversary", nullptr},
                 {"date", provenance.date},
                 {"host", provenance.host}};
    Json regrets(result.labels.size(), Json::array()), scenarios = Json::array();
    for (const StressScenario& scenario : result.scenarios) {
      Json figures = {{"name", scenario.name}, {"draws", scenario.step_times.size()}};
      AppendJson(figures, scenario);
      figures.erase("regret_ns");
      scenarios.push_back(std::move(figures));
      if (scenario.name != "noise") continue;
      for (const std::vector<Nanos>& times : scenario.step_times) {
        const std::vector<double> of_draw = RegretsOf(times);
        for (size_t i = 0; i < of_draw.size(); ++i)
          regrets[i].push_back(NullUnlessFinite(of_draw[i]));
      }
    }
    json["regrets"] = std::move(regrets);
    json["scenarios"] = std::move(scenarios);
    if (const auto& adversary = result.adversary) {
      json["adversary"] = {{"range", adversary->range},
                           {"epsilon", adversary->epsilon ? Json(*adversary->epsilon) : Json()}};
    }
    return json;
  }
  return nullptr;
}

}  // namespace emplace

#include "experiments/generalize/generalize_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/provenance/provenance.h"
#include "experiments/run/run_results.h"
#include "experiments/run/run_resume.h"
#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "framework/results/results_reader.h"
#include "framework/search/problem_id.h"

namespace emplace {
namespace {

std::string GroupOf(const FamilyPlan& family) {
  return "/families/" + family.config.name;
}

/// One number of each test as a column.
template <class Get>
TableColumn Column(const std::string& name, const std::vector<Test>& tests, Get get) {
  std::vector<decltype(get(tests[0]))> values;
  for (const Test& test : tests) values.push_back(get(test));
  return {name, std::move(values)};
}

std::vector<Test> ReadTests(const ResultsReader& reader,
                            const std::string& dataset,
                            const std::string& where,
                            std::size_t num_graphs,
                            std::size_t num_methods) {
  using Int = std::int64_t;
  const std::vector<TableColumn> table = reader.Table(dataset);
  const auto &graph = ColumnOf<Int>(table, "graph", where),
             &method = ColumnOf<Int>(table, "method", where),
             &seed = ColumnOf<Int>(table, "seed", where),
             &evaluations = ColumnOf<Int>(table, "evaluations", where);
  const auto &final = ColumnOf<double>(table, "final_step_time_ns", where),
             &best = ColumnOf<double>(table, "best_step_time_ns", where),
             &seconds = ColumnOf<double>(table, "seconds", where);
  std::vector<Test> tests;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph[i] < 0 || static_cast<std::size_t>(graph[i]) >= num_graphs || method[i] < 0 ||
        static_cast<std::size_t>(method[i]) >= num_methods) {
      throw InputError(
          fmt::format("{}: row {} names a graph or method that is not there", where, i));
    }
    tests.push_back({static_cast<int>(graph[i]),
                     static_cast<int>(method[i]),
                     static_cast<std::uint64_t>(seed[i]),
                     final[i],
                     best[i],
                     evaluations[i],
                     seconds[i]});
  }
  return tests;
}

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<const Problem>>& problems) {
  std::vector<std::string> names;
  for (const auto& problem : problems) names.push_back(problem->graph().name());
  return names;
}

// Tells one version of a graph, of its groups or of its costs from another.
std::vector<std::int64_t> FingerprintsOf(
    const std::vector<std::shared_ptr<const Problem>>& problems) {
  std::vector<std::int64_t> fingerprints;
  for (const auto& problem : problems) {
    fingerprints.push_back(static_cast<std::int64_t>(Combined(IdOf(*problem))));
  }
  return fingerprints;
}

std::string SettingsOf(const AgentSpec& agent) {
  return agent.entry->resolve_settings(agent.settings);
}

void RequireSameFamily(const ResultsReader& reader,
                       const GeneralizePlan& plan,
                       const Family& family,
                       const std::string& where) {
  const std::string group = GroupOf(*family.plan);
  RequireSameSettings(
      reader.Text(group, "yaml"), WriteFields(family.plan->config), "family config", where);
  for (const auto& [name, problems] :
       {std::pair{"graphs", &family.test}, std::pair{"training_graphs", &family.train}}) {
    if (reader.Strings(group + "/" + name) != NamesOf(*problems) ||
        reader.Ints(group + "/" + name + "_fingerprint") != FingerprintsOf(*problems)) {
      throw InputError(fmt::format(
          "{}: was made with other {}, or other versions of them; restore them, or name another "
          "file with -o",
          where,
          name));
    }
  }
  const std::vector<std::string> settings = reader.Strings(group + "/settings");
  for (std::size_t i = 0; i < std::min(settings.size(), plan.test.size()); ++i) {
    const AgentSpec& agent = plan.test[i].agent;
    RequireSameSettings(settings[i], SettingsOf(agent), "setting of " + agent.label, where);
  }
}

Training ReadTraining(const ResultsReader& reader,
                      const Family& family,
                      const TrainPlan& plan,
                      std::uint64_t seed,
                      const std::string& path) {
  Training training{.label = SearchLabel(plan.agent, seed)};
  const std::string place = GroupOf(*family.plan) + "/training/" + training.label;
  const std::string where = path + ": " + place;
  if (!reader.Has(place)) return training;
  RequireSameSettings(reader.Text(place, "settings"),
                      SettingsOf(plan.agent),
                      "setting of " + plan.agent.label,
                      where);
  training.seconds = reader.Double(place, "seconds");
  training.updates = ReadUpdates(reader, place + "/updates", where);
  const auto text = [&](const std::string& dataset) -> std::string {
    if (!reader.Has(place + dataset)) return "";
    const std::vector<std::string> texts = reader.Strings(place + dataset);
    if (texts.size() != 1) throw InputError(where + dataset + ": expected one text");
    return texts[0];
  };
  training.policy = text("/policy");
  training.checkpoint = text("/checkpoint");
  if (training.checkpoint.empty()) return training;
  std::istringstream saved(training.checkpoint);
  try {
    plan.agent.entry->make_trainer({family.train, seed, 1}, plan.agent.settings)->Load(saved);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}/checkpoint: {}", where, error.what()));
  }
  return training;
}

std::string Ratio(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "OOM";
}

}  // namespace

const Training* FamilyResults::FindTraining(const GeneralizePlan& plan,
                                            const TestPlan& method,
                                            std::uint64_t seed) const {
  if (method.policy.empty()) return nullptr;
  const auto train = std::find_if(plan.train.begin(), plan.train.end(), [&](const TrainPlan& t) {
    return t.agent.label == method.policy;
  });
  EMPLACE_CHECK(train != plan.train.end(), method.policy);
  const std::string label = SearchLabel(train->agent, seed);
  const auto found = std::find_if(
      trainings.begin(), trainings.end(), [&](const Training& t) { return t.label == label; });
  EMPLACE_CHECK(found != trainings.end(), label);
  return &*found;
}

void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan) {
  file.SetAttribute("/config", "name", plan.name);
  file.SetAttribute("/config", "yaml", WriteFields(plan.config));
  WriteProvenance(file, "/config", CollectProvenance());
  file.WriteInts("/config/seeds", {plan.seeds.begin(), plan.seeds.end()});
}

void WriteFamily(ResultsFile& file, const GeneralizePlan& plan, const Family& family) {
  const FamilyConfig& config = family.plan->config;
  const std::string group = GroupOf(*family.plan);
  std::set<std::string> clusters;
  for (const auto& cluster : family.plan->test_clusters) clusters.insert(cluster.stem().string());
  file.SetAttribute(group, "cluster", fmt::format("{}", fmt::join(clusters, ", ")));
  file.SetAttribute(group, "yaml", WriteFields(config));
  for (const auto& [name, problems] :
       {std::pair{"graphs", &family.test}, std::pair{"training_graphs", &family.train}}) {
    file.WriteStrings(group + "/" + name, NamesOf(*problems));
    file.WriteInts(group + "/" + name + "_fingerprint", FingerprintsOf(*problems));
  }
  std::vector<std::string> labels, settings;
  for (const TestPlan& test : plan.test) {
    labels.push_back(test.agent.label);
    settings.push_back(SettingsOf(test.agent));
  }
  file.WriteStrings(group + "/methods", labels);
  file.WriteStrings(group + "/settings", settings);
}

void WriteTraining(ResultsFile& file,
                   const FamilyPlan& family,
                   const TrainPlan& plan,
                   const Training& training) {
  if (training.updates.columns.empty()) return;  // not begun
  const std::string place = GroupOf(family) + "/training/" + training.label;
  file.Remove(place);
  file.SetAttribute(place, "agent", plan.agent.entry->name);
  file.SetAttribute(place, "settings", SettingsOf(plan.agent));
  file.SetAttribute(place, "seconds", training.seconds);
  WriteUpdates(file, place + "/updates", training.updates);
  if (training.done()) file.WriteStrings(place + "/policy", {training.policy});
  if (!training.checkpoint.empty()) file.WriteStrings(place + "/checkpoint", {training.checkpoint});
}

void WriteTests(ResultsFile& file, const FamilyPlan& family, const FamilyResults& results) {
  const std::string group = GroupOf(family);
  file.WriteStrings(group + "/failures", results.failures);
  using Int = std::int64_t;
  const std::vector<Test>& tests = results.tests;
  const std::vector<double> best = BestKnown(tests, static_cast<int>(results.graphs.size()));
  file.WriteTable(
      group + "/tests",
      {Column("graph", tests, [](const Test& t) { return Int{t.graph}; }),
       Column("method", tests, [](const Test& t) { return Int{t.method}; }),
       Column("seed", tests, [](const Test& t) { return static_cast<Int>(t.seed); }),
       Column("final_step_time_ns", tests, [](const Test& t) { return t.final_step_time; }),
       Column("best_step_time_ns", tests, [](const Test& t) { return t.best_step_time; }),
       Column("best_known_ns", tests, [&](const Test& t) { return best[t.graph]; }),
       Column("final_over_best_known",
              tests,
              [&](const Test& t) { return t.final_step_time / best[t.graph]; }),
       Column("best_over_best_known",
              tests,
              [&](const Test& t) { return t.best_step_time / best[t.graph]; }),
       Column("evaluations", tests, [](const Test& t) { return t.evaluations; }),
       Column("seconds", tests, [](const Test& t) { return t.seconds; })});
}

std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families) {
  const ResultsReader reader(path);
  RequireSameSettings(
      reader.Text("/config", "yaml"), WriteFields(plan.config), "config", path.string());
  std::vector<FamilyResults> all;
  for (const Family& family : families) {
    FamilyResults& results = all.emplace_back(FamilyResults{.graphs = NamesOf(family.test)});
    const std::string group = GroupOf(*family.plan), where = path.string() + ": " + group;
    RequireSameFamily(reader, plan, family, where);
    for (const TrainPlan& train : plan.train) {
      for (const std::uint64_t seed : plan.seeds) {
        results.trainings.push_back(ReadTraining(reader, family, train, seed, path.string()));
      }
    }
    if (!reader.Has(group + "/tests")) continue;
    results.tests = ReadTests(
        reader, group + "/tests", where + "/tests", results.graphs.size(), plan.test.size());
  }
  return all;
}

std::string FormatFamily(const GeneralizePlan& plan,
                         const FamilyPlan& family,
                         const FamilyResults& results) {
  const std::vector<double> best =
      BestKnown(results.tests, static_cast<int>(results.graphs.size()));
  std::vector<std::vector<std::string>> rows = {{family.config.name,
                                                 "final 10 %",
                                                 "median",
                                                 "90 %",
                                                 "best 10 %",
                                                 "median",
                                                 "90 %",
                                                 "evaluations",
                                                 "seconds"}};
  for (int method = 0; method < std::ssize(plan.test); ++method) {
    std::vector<double> final, found, evaluations, seconds;
    const auto over_best = [&](double step_time, int graph) {
      const double ratio = step_time / best[graph];
      return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
    };
    for (const Test& test : results.tests) {
      if (test.method != method) continue;
      final.push_back(over_best(test.final_step_time, test.graph));
      found.push_back(over_best(test.best_step_time, test.graph));
      evaluations.push_back(static_cast<double>(test.evaluations));
      seconds.push_back(test.seconds);
    }
    if (final.empty()) continue;
    std::vector<std::string> row = {plan.test[method].agent.label};
    for (const auto& values : {final, found}) {
      for (double share : {0.1, 0.5, 0.9}) row.push_back(Ratio(Quantile(values, share)));
    }
    row.push_back(fmt::format("{:.0f}", Median(evaluations)));
    row.push_back(fmt::format("{:.2f}", Median(seconds)));
    rows.push_back(std::move(row));
  }
  std::string text = FormatColumns(rows);
  for (const std::string& failure : results.failures) text += "failed: " + failure + "\n";
  return text;
}

}  // namespace emplace

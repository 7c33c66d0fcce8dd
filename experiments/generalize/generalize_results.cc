#include "experiments/generalize/generalize_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/provenance/provenance.h"
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

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<const Problem>>& problems) {
  std::vector<std::string> names;
  for (const auto& problem : problems) names.push_back(problem->graph().name());
  return names;
}

// Distinguishes versions of a graph, of its groups or of its costs.
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

FamilyRecord RecordOf(const GeneralizePlan& plan, const Family& family) {
  std::set<std::string> clusters;
  for (const auto& cluster : family.plan->test_clusters) clusters.insert(cluster.stem().string());
  FamilyRecord record{.cluster = fmt::format("{}", fmt::join(clusters, ", ")),
                      .yaml = WriteFields(family.plan->config),
                      .graphs = NamesOf(family.test),
                      .graphs_fingerprint = FingerprintsOf(family.test),
                      .training_graphs = NamesOf(family.train),
                      .training_graphs_fingerprint = FingerprintsOf(family.train)};
  for (const TestPlan& test : plan.test) {
    record.methods.push_back(test.agent.label);
    record.settings.push_back(SettingsOf(test.agent));
  }
  return record;
}

void RequireSameFamily(const ResultsReader& reader,
                       const GeneralizePlan& plan,
                       const Family& family,
                       const std::string& where) {
  const auto before = ReadRecord<FamilyRecord>(reader, GroupOf(*family.plan));
  const FamilyRecord now = RecordOf(plan, family);
  RequireSameSettings(before.yaml, now.yaml, "family config", where);
  const auto require = [&](bool same, const std::string& name) {
    if (same) return;
    throw InputError(
        fmt::format("{}: was made with other {}, or other versions of them; restore them, or "
                    "name another file with -o",
                    where,
                    name));
  };
  require(before.graphs == now.graphs && before.graphs_fingerprint == now.graphs_fingerprint,
          "graphs");
  require(before.training_graphs == now.training_graphs &&
              before.training_graphs_fingerprint == now.training_graphs_fingerprint,
          "training_graphs");
  for (std::size_t i = 0; i < std::min(before.settings.size(), now.settings.size()); ++i) {
    RequireSameSettings(before.settings[i], now.settings[i], "setting of " + now.methods[i], where);
  }
}

// Reads the earlier part of a training, if there is one.
void ReadTraining(const ResultsReader& reader,
                  const Family& family,
                  const TrainPlan& plan,
                  std::uint64_t seed,
                  Training& training) {
  const std::string place = GroupOf(*family.plan) + "/training/" + training.label;
  const std::string where = reader.name() + ": " + place;
  if (!reader.Has(place)) return;
  auto read = ReadRecord<Training>(reader, place);
  RequireSameSettings(read.settings, training.settings, "setting of " + plan.agent.label, where);
  training.seconds = read.seconds;
  training.updates = std::move(read.updates);
  training.policy = std::move(read.policy);
  training.checkpoint = std::move(read.checkpoint);
  if (training.checkpoint.text.empty()) return;
  const auto trainer = plan.agent.entry->make_trainer({family.train, seed, 1}, plan.agent.settings);
  RequireLoadable(*trainer, training.checkpoint.text, where);
}

void RequireIndices(const FamilyResults& results,
                    std::size_t num_methods,
                    const std::string& where) {
  for (std::size_t row = 0; row < results.tests.size(); ++row) {
    const Test& test = results.tests[row];
    if (test.graph >= 0 && std::cmp_less(test.graph, results.graphs.size()) && test.method >= 0 &&
        std::cmp_less(test.method, num_methods)) {
      continue;
    }
    throw InputError(
        fmt::format("{}/tests: row {} names a graph or method that does not exist", where, row));
  }
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

FamilyResults BeginFamily(const GeneralizePlan& plan, const Family& family) {
  FamilyResults results;
  results.graphs = NamesOf(family.test);
  for (const TrainPlan& train : plan.train) {
    for (const std::uint64_t seed : plan.seeds) {
      results.trainings.push_back({.label = SearchLabel(train.agent, seed),
                                   .agent = train.agent.entry->name,
                                   .settings = SettingsOf(train.agent)});
    }
  }
  return results;
}

void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan) {
  file.SetAttribute("/config", "name", plan.name);
  file.SetAttribute("/config", "yaml", WriteFields(plan.config));
  WriteRecord(file, "/config", CollectProvenance());
  file.WriteInts("/config/seeds", {plan.seeds.begin(), plan.seeds.end()});
}

void WriteFamily(ResultsFile& file, const GeneralizePlan& plan, const Family& family) {
  WriteRecord(file, GroupOf(*family.plan), RecordOf(plan, family));
}

void WriteTraining(ResultsFile& file, const FamilyPlan& family, const Training& training) {
  if (training.updates.columns.empty()) return;  // not begun
  const std::string place = GroupOf(family) + "/training/" + training.label;
  file.Remove(place);
  WriteRecord(file, place, training);
}

void WriteTests(ResultsFile& file, const FamilyPlan& family, FamilyResults& results) {
  const std::vector<double> best =
      BestKnown(results.tests, static_cast<int>(results.graphs.size()));
  for (Test& test : results.tests) test.best_known = best[test.graph];
  WriteRecord<TestsRecord>(file, GroupOf(family), results);
}

void FamilyRecord::Visit(RecordVisitor& v) {
  v.Field("cluster", cluster);
  v.Field("yaml", yaml);
  v.Field("graphs", graphs);
  v.Field("graphs_fingerprint", graphs_fingerprint);
  v.Field("training_graphs", training_graphs);
  v.Field("training_graphs_fingerprint", training_graphs_fingerprint);
  v.Field("methods", methods);
  v.Field("settings", settings);
}

void Training::Visit(RecordVisitor& v) {
  v.Field("agent", agent);
  v.Field("settings", settings);
  v.Field("seconds", seconds);
  v.Field("updates", updates);
  v.Field("policy", policy);
  v.Field("checkpoint", checkpoint);
}

void Test::Visit(RecordVisitor& v) {
  v.Field("graph", graph);
  v.Field("method", method);
  v.Field("seed", seed);
  v.Field("final_step_time_ns", final_step_time);
  v.Field("best_step_time_ns", best_step_time);
  v.Field("best_known_ns", best_known);
  double final_ratio = final_step_time / best_known;
  double best_ratio = best_step_time / best_known;
  v.Field("final_over_best_known", final_ratio);
  v.Field("best_over_best_known", best_ratio);
  v.Field("evaluations", evaluations);
  v.Field("seconds", seconds);
}

void TestsRecord::Visit(RecordVisitor& v) {
  v.Field("failures", failures);
  v.Rows("tests", tests);
}

std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families) {
  const ResultsReader reader(path);
  RequireSameSettings(
      reader.Text("/config", "yaml"), WriteFields(plan.config), "config", path.string());
  std::vector<FamilyResults> all;
  for (const Family& family : families) {
    FamilyResults& results = all.emplace_back(BeginFamily(plan, family));
    const std::string group = GroupOf(*family.plan), where = path.string() + ": " + group;
    RequireSameFamily(reader, plan, family, where);
    auto training = results.trainings.begin();
    for (const TrainPlan& train : plan.train) {
      for (const std::uint64_t seed : plan.seeds) {
        ReadTraining(reader, family, train, seed, *training++);
      }
    }
    if (!reader.Has(group + "/tests")) continue;
    results.tests = ReadRecord<TestsRecord>(reader, group).tests;
    RequireIndices(results, plan.test.size(), where);
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

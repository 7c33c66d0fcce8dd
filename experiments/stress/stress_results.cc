#include "experiments/stress/stress_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "framework/results/record_json.h"

namespace emplace {
namespace {

constexpr char kStress[] = "/stress", kScenarios[] = "/stress/scenarios";
constexpr Nanos kUnfitInFile = -1;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Json FiniteOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json FiniteOrNull(Nanos time) {
  return time < kMaxNanos ? Json(time) : Json(nullptr);
}

std::string RegretText(const StressScenario& scenario) {
  if (!std::isfinite(scenario.regret)) return RegretShare(scenario.regret);
  return fmt::format(
      "{} ({})", RegretShare(scenario.regret), FormatTime(std::llround(scenario.regret_ns)));
}

// Returns for each placement the share of the noise draws in which no placement is better.
std::vector<double> TopShares(const StressScenario& noise, size_t placements) {
  std::vector<double> shares(placements, 0);
  for (const std::vector<Nanos>& times : noise.step_times) {
    const Nanos best = *std::min_element(times.begin(), times.end());
    for (size_t i = 0; i < placements; ++i) {
      if (times[i] == best && best < kMaxNanos) shares[i] += 1.0 / noise.step_times.size();
    }
  }
  return shares;
}

std::string AdversaryText(const StressResult& result) {
  if (!result.adversary) return "";
  const std::string &winner = result.labels[0], &other = result.labels[1];
  const Adversary& adversary = *result.adversary;
  if (adversary.epsilon) {
    return fmt::format(
        "\nAdversary: changes of costs and links by at most {:.3g} % make {} better than {} ({} "
        "simulated problems).\n",
        100 * *adversary.epsilon,
        other,
        winner,
        adversary.evaluations);
  }
  return fmt::format(
      "\nAdversary: found no change of costs and links within {:.3g} % that makes {} better than "
      "{} ({} simulated problems).\n",
      100 * adversary.range,
      other,
      winner,
      adversary.evaluations);
}

}  // namespace

std::string RegretShare(double share) {
  if (std::isnan(share)) return "–";
  return std::isinf(share) ? "OOM" : fmt::format("{:.2f} %", 100 * share);
}

void StressScenario::Visit(RecordVisitor& v) {
  v.Field("kendall_tau", kendall_tau);
  v.Field("top_share", top_share);
  v.Field("regret", regret);
  v.Field("worst_regret", worst_regret);
  v.Field("regret_ns", regret_ns);
  std::vector<std::vector<std::int64_t>> times = step_times;
  for (auto& draw : times) std::replace(draw.begin(), draw.end(), kMaxNanos, kUnfitInFile);
  v.Field("step_times_ns", times);
  for (auto& draw : times) std::replace(draw.begin(), draw.end(), kUnfitInFile, kMaxNanos);
  step_times = std::move(times);
}

void StressResult::Visit(RecordVisitor& v) {
  v.Field("seed", seed);
  v.Field("noise", noise);
  v.Field("labels", labels);
  v.Field("step_times_ns", step_times);
  v.Field("noise_regret", noise_regret);
  v.Group("adversary", adversary);
}

void Adversary::Visit(RecordVisitor& v) {
  double least = epsilon.value_or(kNone);
  v.Field("range", range);
  v.Field("epsilon", least);
  v.Field("evaluations", evaluations);
  v.Part("op_factors", perturbation);
  epsilon = std::isnan(least) ? std::nullopt : std::optional(least);
}

void Perturbation::Visit(RecordVisitor& v) {
  v.Field("op_factors", op);
  v.Field("channel_factors", channel);
}

void WriteStress(ResultsFile& file, const StressResult& result, const Provenance& provenance) {
  file.Remove(kStress);
  WriteRecord(file, kStress, provenance);
  WriteRecord(file, kStress, result);
  for (const StressScenario& scenario : result.scenarios) {
    WriteRecord(file, kScenarios + ("/" + scenario.name), scenario);
  }
}

StressResult ReadStress(const ResultsReader& reader) {
  auto result = ReadRecord<StressResult>(reader, kStress);
  for (const std::string& name : reader.Children(kScenarios)) {
    result.scenarios.push_back(ReadRecord<StressScenario>(reader, kScenarios + ("/" + name)));
    result.scenarios.back().name = name;
  }
  return result;
}

double ReadNoiseRegret(const ResultsReader& reader, const std::string& agent) {
  if (!reader.Has(kStress)) return kNone;
  const auto record = ReadRecord<StressResult>(reader, kStress);
  const std::vector<std::string>& labels = record.labels;
  const std::vector<double>& regrets = record.noise_regret;
  for (size_t i = 0; i < std::min(labels.size(), regrets.size()); ++i) {
    for (const std::string& label : SplitLabels(labels[i])) {
      const std::string search = "/agents/" + label;
      if (reader.Has(search) && reader.Text(search, "label") == agent) return regrets[i];
    }
  }
  return kNone;
}

std::string StressMarkdown(const StressResult& result) {
  std::vector<std::vector<std::string>> scenarios = {
      {"scenario", "draws", "Kendall's tau", "winner stays best", "its regret", "largest"}};
  for (const StressScenario& scenario : result.scenarios) {
    const double tau = scenario.kendall_tau;
    scenarios.push_back({scenario.name,
                         std::to_string(scenario.step_times.size()),
                         std::isnan(tau) ? "–" : fmt::format("{:.3f}", tau),
                         fmt::format("{:.1f} %", 100 * scenario.top_share),
                         RegretText(scenario),
                         RegretShare(scenario.worst_regret)});
  }
  std::vector<std::vector<std::string>> placements = {
      {"placement", "step time", "regret under noise", "best in"}};
  const auto shares = TopShares(result.scenarios.at(0), result.labels.size());
  for (size_t i = 0; i < result.labels.size(); ++i) {
    placements.push_back({result.labels[i],
                          FormatTime(result.step_times[i]),
                          RegretShare(result.noise_regret[i]),
                          fmt::format("{:.1f} %", 100 * shares[i])});
  }
  return MarkdownLines(scenarios, 1) + "\n" + MarkdownLines(placements, 1) + AdversaryText(result);
}

std::string StressCsv(const StressResult& result) {
  std::string text = "scenario,draw,placement,step_time_ns,regret\n";
  const auto append =
      [&](const std::string& scenario, size_t draw, const std::vector<Nanos>& times) {
        const std::vector<double> regrets = RegretsOf(times);
        for (size_t i = 0; i < times.size(); ++i) {
          text += fmt::format("{},{},{},{},{}\n",
                              scenario,
                              draw,
                              CsvField(result.labels[i]),
                              times[i] < kMaxNanos ? std::to_string(times[i]) : "",
                              regrets[i]);
        }
      };
  append("unchanged", 0, result.step_times);
  for (const StressScenario& scenario : result.scenarios) {
    for (size_t draw = 0; draw < scenario.step_times.size(); ++draw) {
      append(scenario.name, draw, scenario.step_times[draw]);
    }
  }
  return text;
}

std::string StressJson(const StressResult& result) {
  Json placements = Json::array(), scenarios = Json::array(), adversary = nullptr;
  for (size_t i = 0; i < result.labels.size(); ++i) {
    placements.push_back({{"label", result.labels[i]},
                          {"step_time_ns", result.step_times[i]},
                          {"noise_regret", FiniteOrNull(result.noise_regret[i])}});
  }
  for (const StressScenario& scenario : result.scenarios) {
    Json draws = Json::array();
    for (const std::vector<Nanos>& times : scenario.step_times) {
      Json draw = Json::array();
      for (const Nanos time : times) draw.push_back(FiniteOrNull(time));
      draws.push_back(std::move(draw));
    }
    Json json = {{"name", scenario.name}};
    AppendJson(json, scenario);
    json["step_times_ns"] = std::move(draws);
    scenarios.push_back(std::move(json));
  }
  if (const auto& found = result.adversary) {
    adversary = {{"winner", result.labels[0]}, {"other", result.labels[1]}};
    AppendJson(adversary, *found);
  }
  const Json json = {{"draws", result.scenarios[0].step_times.size()},
                     {"noise", result.noise},
                     {"seed", result.seed},
                     {"placements", std::move(placements)},
                     {"scenarios", std::move(scenarios)},
                     {"adversary", std::move(adversary)}};
  return json.dump(2) + "\n";
}

}  // namespace emplace

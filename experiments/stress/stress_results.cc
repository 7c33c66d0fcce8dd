#include "experiments/stress/stress_results.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "framework/base/json.h"

namespace emplace {
namespace {

constexpr char kStress[] = "/stress";
constexpr double kNotStressed = std::numeric_limits<double>::quiet_NaN();

std::int64_t OrUnfit(Nanos time) {
  return time < kMaxNanos ? time : -1;
}

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

// Share of the draws of noise in which each placement is as good as any.
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

std::string AdversaryText(const StressResult& result, const StressOptions& options) {
  if (!result.adversary) return "";
  const std::string &winner = result.placements[0].label, &other = result.placements[1].label;
  const Adversary& adversary = *result.adversary;
  if (adversary.epsilon) {
    return fmt::format(
        "\nAdversary: changes of costs and links by at most {:.3g} % make {} better than {} ({} "
        "problems simulated).\n",
        100 * *adversary.epsilon,
        other,
        winner,
        adversary.evaluations);
  }
  return fmt::format(
      "\nAdversary: no change of costs and links within {:.3g} % was found that makes {} better "
      "than "
      "{} ({} problems simulated).\n",
      100 * options.adversary.range,
      other,
      winner,
      adversary.evaluations);
}

}  // namespace

std::string RegretShare(double share) {
  if (std::isnan(share)) return "–";
  return std::isinf(share) ? "OOM" : fmt::format("{:.2f} %", 100 * share);
}

void WriteStress(ResultsFile& file,
                 const StressResult& result,
                 const StressOptions& options,
                 const Provenance& provenance) {
  file.Remove(kStress);
  WriteProvenance(file, kStress, provenance);
  file.SetAttribute(kStress, "seed", static_cast<std::int64_t>(options.seed));
  file.SetAttribute(kStress, "noise", options.noise);
  const std::string group = kStress;
  std::vector<std::string> labels;
  for (const Candidate& placement : result.placements) labels.push_back(placement.label);
  file.WriteStrings(group + "/labels", labels);
  file.WriteInts(group + "/step_times_ns", result.step_times);
  file.WriteDoubles(group + "/noise_regret", result.noise_regret);
  for (const StressScenario& scenario : result.scenarios) {
    const std::string name = group + "/scenarios/" + scenario.name;
    file.SetAttribute(name, "kendall_tau", scenario.kendall_tau);
    file.SetAttribute(name, "top_share", scenario.top_share);
    file.SetAttribute(name, "regret", scenario.regret);
    file.SetAttribute(name, "worst_regret", scenario.worst_regret);
    file.SetAttribute(name, "regret_ns", scenario.regret_ns);
    std::vector<std::int64_t> times;
    for (const std::vector<Nanos>& draw : scenario.step_times) {
      std::transform(draw.begin(), draw.end(), std::back_inserter(times), OrUnfit);
    }
    file.WriteIntMatrix(name + "/step_times_ns", times, labels.size());
  }
  if (!result.adversary) return;
  const std::string name = group + "/adversary";
  file.SetAttribute(name, "range", options.adversary.range);
  file.SetAttribute(name, "epsilon", result.adversary->epsilon.value_or(kNotStressed));
  file.SetAttribute(name, "evaluations", std::int64_t{result.adversary->evaluations});
  if (!result.adversary->epsilon) return;
  file.WriteDoubles(name + "/op_factors", result.adversary->perturbation.op);
  file.WriteDoubles(name + "/channel_factors", result.adversary->perturbation.channel);
}

double ReadNoiseRegret(const ResultsReader& reader, const std::string& agent) {
  const std::string group = kStress;
  if (!reader.Has(group)) return kNotStressed;
  const std::vector<std::string> labels = reader.Strings(group + "/labels");
  const std::vector<double> regrets = reader.Doubles(group + "/noise_regret");
  for (size_t i = 0; i < std::min(labels.size(), regrets.size()); ++i) {
    for (const std::string& label : SplitLabels(labels[i])) {
      const std::string search = "/agents/" + label;
      if (reader.Has(search) && reader.Text(search, "label") == agent) return regrets[i];
    }
  }
  return kNotStressed;
}

std::string StressMarkdown(const StressResult& result, const StressOptions& options) {
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
  const auto shares = TopShares(result.scenarios.at(0), result.placements.size());
  for (size_t i = 0; i < result.placements.size(); ++i) {
    placements.push_back({result.placements[i].label,
                          FormatTime(result.step_times[i]),
                          RegretShare(result.noise_regret[i]),
                          fmt::format("{:.1f} %", 100 * shares[i])});
  }
  return MarkdownLines(scenarios, 1) + "\n" + MarkdownLines(placements, 1) +
         AdversaryText(result, options);
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
                              CsvField(result.placements[i].label),
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

std::string StressJson(const StressResult& result, const StressOptions& options) {
  Json placements = Json::array(), scenarios = Json::array(), adversary = nullptr;
  for (size_t i = 0; i < result.placements.size(); ++i) {
    placements.push_back({{"label", result.placements[i].label},
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
    scenarios.push_back({{"name", scenario.name},
                         {"kendall_tau", FiniteOrNull(scenario.kendall_tau)},
                         {"top_share", scenario.top_share},
                         {"regret", FiniteOrNull(scenario.regret)},
                         {"worst_regret", FiniteOrNull(scenario.worst_regret)},
                         {"regret_ns", FiniteOrNull(scenario.regret_ns)},
                         {"step_times_ns", std::move(draws)}});
  }
  if (result.adversary) {
    adversary = {{"winner", result.placements[0].label},
                 {"other", result.placements[1].label},
                 {"range", options.adversary.range},
                 {"epsilon", result.adversary->epsilon ? Json(*result.adversary->epsilon) : Json()},
                 {"evaluations", result.adversary->evaluations}};
  }
  const Json json = {{"draws", options.draws},
                     {"noise", options.noise},
                     {"seed", options.seed},
                     {"placements", std::move(placements)},
                     {"scenarios", std::move(scenarios)},
                     {"adversary", std::move(adversary)}};
  return json.dump(2) + "\n";
}

}  // namespace emplace

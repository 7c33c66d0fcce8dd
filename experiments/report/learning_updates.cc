#include "experiments/report/learning_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/run/run_resume.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

constexpr size_t kMaxPoints = 400;  // of a picture of less than half a screen width

// Rounds to five significant digits, which halves the size of the updates.
Json ShortNumber(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.5g}", value));
}

double MeanWithoutNan(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Json UpdatesJson(const UpdateTable& updates, std::size_t max_points) {
  const auto rows = static_cast<size_t>(updates.num_rows());
  const size_t per_point = std::max<size_t>(1, (rows + max_points - 1) / max_points);
  Json json = {{"update", Json::array()}, {"values", Json::object()}};
  for (const std::string& column : updates.columns) json["values"][column] = Json::array();
  for (size_t begin = 0; begin < rows; begin += per_point) {
    const size_t end = std::min(rows, begin + per_point);
    json["update"].push_back(end);
    for (size_t c = 0; c < updates.columns.size(); ++c) {
      std::vector<double> values;
      for (size_t row = begin; row < end; ++row) {
        values.push_back(updates.values[row * updates.columns.size() + c]);
      }
      const bool is_last = updates.columns[c] == "evaluations";
      json["values"][updates.columns[c]].push_back(
          ShortNumber(is_last ? values.back() : MeanWithoutNan(values)));
    }
  }
  return json;
}

Json AgentUpdatesJson(const ProblemRuns& problem, const std::string& agent) {
  Json json = nullptr;
  for (const ResultRun* run : problem.runs) {
    if (run->agent != agent || run->progress != RunProgress::kDone) continue;
    const ResultsReader reader(run->file);
    const UpdateTable updates = ReadRecord<UpdatesRecord>(reader, run->group).updates;
    if (updates.num_rows() == 0) continue;
    if (json.is_null()) json = {{"columns", updates.columns}, {"seeds", Json::array()}};
    Json seed = UpdatesJson(updates, kMaxPoints);
    seed["seed"] = run->seed;
    json["seeds"].push_back(std::move(seed));
  }
  return json;
}

}  // namespace emplace

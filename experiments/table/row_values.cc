#include "experiments/table/row_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "experiments/table/run_keys.h"
#include "framework/base/error.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kSecondsPerHour = 3600;
constexpr double kBootstrapLevel = 0.95;

bool Satisfies(const ResultRun& run, const std::vector<RunCondition>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const RunCondition& condition) {
    const std::string* value = FindRunKey(run, condition.key);
    return value != nullptr && *value == condition.value;
  });
}

// Returns the key in which two runs differ, with both values; empty if they are equal.
std::string Difference(const ResultRun& a, const ResultRun& b) {
  for (const std::string& key : RunKeys()) {
    const std::string *left = FindRunKey(a, key), *right = FindRunKey(b, key);
    const std::string none = "nothing";
    if ((left ? *left : none) != (right ? *right : none)) {
      return fmt::format("{} ({} and {})", key, left ? *left : none, right ? *right : none);
    }
  }
  if (!a.settings.empty() && !b.settings.empty() && a.settings != b.settings) {
    return "settings of the agent";
  }
  return "";
}

void RequireAlike(const std::vector<const ResultRun*>& runs,
                  const std::string& row,
                  const std::string& column) {
  for (size_t i = 1; i < runs.size(); ++i) {
    const std::string difference = Difference(*runs[0], *runs[i]);
    if (!difference.empty()) {
      throw InputError(
          fmt::format("row \"{}\", column \"{}\": the runs differ in {}: {} and {}; select one "
                      "value by the keys of the rows, or by `where` of the column",
                      row,
                      column,
                      difference,
                      runs[0]->title,
                      runs[i]->title));
    }
  }
  std::map<std::uint64_t, const ResultRun*> of_seed;
  for (const ResultRun* run : runs) {
    const auto [other, is_new] = of_seed.emplace(run->seed, run);
    if (is_new) continue;
    throw InputError(fmt::format("row \"{}\", column \"{}\": two runs have seed {}: {} and {}",
                                 row,
                                 column,
                                 run->seed,
                                 other->second->title,
                                 run->title));
  }
}

// A statistic of the runs `drawn` in a resample; -1 is the original sample.
using StatisticOf = std::function<double(const std::vector<int>& drawn, int resample)>;

Resampled OfRuns(int num_runs, bool by_chance, Rng rng, const StatisticOf& statistic) {
  Resampled number;
  std::vector<int> drawn(num_runs);
  std::iota(drawn.begin(), drawn.end(), 0);
  number.value = statistic(drawn, -1);
  if (num_runs == 1 && !by_chance) return number;
  if (num_runs > 1) number.seeds = {num_runs, num_runs};
  number.samples.resize(kTableResamples);
  for (int b = 0; b < kTableResamples; ++b) {
    for (int& run : drawn) run = UniformInt(rng, num_runs);
    number.samples[b] = statistic(drawn, b);
  }
  return number;
}

// Returns the expected running time of COCO.
// @param reached  effort of each run until the target; infinite: never
// @param ends     effort of each run until its end
double ExpectedOf(const std::vector<double>& reached, const std::vector<double>& ends) {
  double spent = 0;
  int num_reached = 0;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (std::isnan(reached[i])) return kUndefined;
    num_reached += std::isfinite(reached[i]);
    spent += std::isfinite(reached[i]) ? reached[i] : ends[i];
  }
  return num_reached > 0 ? spent / num_reached : kInfinite;
}

double ShareOf(const std::vector<double>& reached) {
  double share = 0;
  for (const double when : reached) {
    if (std::isnan(when)) return kUndefined;
    share += std::isfinite(when) / static_cast<double>(reached.size());
  }
  return share;
}

bool IsInSeconds(ColumnValue value) {
  return value == ColumnValue::kSecondsTo || value == ColumnValue::kExpectedSecondsTo;
}

// Returns the evaluations or seconds until the best step time was at most `target` [unit].
double WhenReached(const std::vector<BestSoFar>& best,
                   double target,
                   double per_nanosecond,
                   ColumnValue value) {
  if (!std::isfinite(target)) return kUndefined;
  const auto first = std::partition_point(best.begin(), best.end(), [&](const BestSoFar& point) {
    return point.best_ns * per_nanosecond > target;
  });
  if (first == best.end()) return kInfinite;
  return IsInSeconds(value) ? first->seconds : static_cast<double>(first->evaluations);
}

double NumberOf(const ResultRun& run, ColumnValue value, const std::string& unit) {
  switch (value) {
    case ColumnValue::kStepTime:
    case ColumnValue::kBestKnown:
      return run.best_ns * PerNanosecond(unit);
    case ColumnValue::kEvaluations:
      return static_cast<double>(run.evaluations);
    case ColumnValue::kSeconds:
      return run.seconds;
    case ColumnValue::kRanks:
      return static_cast<double>(run.ranks);
    case ColumnValue::kHardwareHours:
      return run.hardware_seconds / kSecondsPerHour;
    case ColumnValue::kBound:
      return static_cast<double>(run.bound.value) * PerNanosecond(unit);
    case ColumnValue::kBestSingleDevice:
      return run.best_single_device_ns * PerNanosecond(unit);
    case ColumnValue::kSpeedUp:
      return run.best_single_device_ns / run.best_ns;
    case ColumnValue::kGap:
      return run.bound.value > 0 ? run.best_ns / static_cast<double>(run.bound.value) - 1
                                 : kUndefined;
    case ColumnValue::kOptimal:
      return run.is_optimal() ? 1 : 0;
    case ColumnValue::kNoiseRegret:
      return run.noise_regret;
    case ColumnValue::kEvaluationsTo:
    case ColumnValue::kSecondsTo:
    case ColumnValue::kExpectedEvaluationsTo:
    case ColumnValue::kExpectedSecondsTo:
    case ColumnValue::kReached:
    case ColumnValue::kFormula:
      break;
  }
  EMPLACE_CHECK(false);
  return 0;
}

// Verdicts, and numbers that are equal for every seed, have no interval.
bool HasInterval(ColumnValue value) {
  return value != ColumnValue::kOptimal && value != ColumnValue::kNoiseRegret;
}

// Returns whether a done run has the number. Numbers of `emplace stress` may be missing, as may the
// best single device if no placement fits or an earlier program wrote the file.
bool IsThere(const ResultRun& run, ColumnValue value) {
  if (value == ColumnValue::kBestSingleDevice || value == ColumnValue::kSpeedUp) {
    return !std::isnan(run.best_single_device_ns);
  }
  return value != ColumnValue::kNoiseRegret || !std::isnan(run.noise_regret);
}

}  // namespace

void SeedCounts::Include(const SeedCounts& other) {
  if (other.most == 0) return;
  least = most == 0 ? other.least : std::min(least, other.least);
  most = std::max(most, other.most);
}

std::string ToString(const SeedCounts& seeds) {
  if (seeds.least < seeds.most) return fmt::format("{} to {} seeds", seeds.least, seeds.most);
  return fmt::format("{} seed{}", seeds.most, seeds.most == 1 ? "" : "s");
}

double RangeLevel(int num_seeds) {
  return 1 - std::pow(2, 1 - num_seeds);
}

std::optional<Interval> IntervalOf(const Resampled& number) {
  if (number.samples.empty()) return std::nullopt;
  std::vector<double> sorted = number.samples;
  for (const double sample : sorted) {
    if (std::isnan(sample)) return std::nullopt;
  }
  std::sort(sorted.begin(), sorted.end());
  Interval interval;
  interval.seeds = number.seeds;
  interval.is_range = number.seeds.least < kBootstrapSeeds;
  if (interval.is_range) {
    interval.low = sorted.front();
    interval.high = sorted.back();
    if (number.is_median) interval.level = RangeLevel(number.seeds.least);
    return interval;
  }
  const auto count = static_cast<double>(sorted.size());
  interval.low = sorted[std::lround(0.025 * count) - 1];
  interval.high = sorted[std::lround(0.975 * count) - 1];
  interval.level = kBootstrapLevel;
  return interval;
}

Rng GeneratorFor(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return Rng(hash);
}

RowValues::RowValues(const std::vector<LayoutColumn>& columns,
                     const std::vector<int>& order,
                     const std::string& unit,
                     const std::string& name,
                     const std::vector<const ResultRun*>& runs)
    : layout_(columns),
      unit_(unit),
      name_(name),
      columns_(columns.size()),
      runs_(columns.size()),
      num_finite_(columns.size()) {
  bound_ = kInfinite;
  for (const ResultRun* run : runs) {
    if (run->progress != RunProgress::kDone) continue;
    bound_ = std::min(bound_, NumberOf(*run, ColumnValue::kBound, unit_));
    if (std::isfinite(run->best_ns)) {
      known_times_.push_back(NumberOf(*run, ColumnValue::kStepTime, unit_));
    }
  }
  if (std::isinf(bound_)) bound_ = 0;
  std::ranges::sort(known_times_);
  for (const int i : order) {
    const LayoutColumn& column = columns[i];
    if (column.value == ColumnValue::kFormula) {
      columns_[i] = Evaluate(*column.formula);
    } else {
      for (const ResultRun* run : runs) {
        if (!column.agent.empty() && run->agent != column.agent) continue;
        if (Satisfies(*run, column.where)) runs_[i].push_back(run);
      }
      if (!IsOfProblem(column.value)) RequireAlike(runs_[i], name_, column.name);
      columns_[i] = EvaluateColumn(i, column);
    }
    if (column.unit == "percent") {
      columns_[i].value *= 100;
      for (double& sample : columns_[i].samples) sample *= 100;
    }
    index_of_[column.name] = i;
  }
}

Resampled RowValues::EvaluateColumn(int index, const LayoutColumn& column) {
  std::vector<const ResultRun*> done;
  std::string agent = column.agent;
  for (const ResultRun* run : runs_[index]) {
    agent = run->agent;
    if (run->progress == RunProgress::kDone && IsThere(*run, column.value)) done.push_back(run);
  }
  Resampled number;
  if (done.empty()) {
    number.run = false;
    number.missing = {agent.empty() ? column.name : agent};
    return number;
  }
  std::string group = name_ + "\n" + agent;  // shared by all columns of an agent
  for (const auto& [key, value] : column.where) group += fmt::format("\n{}={}", key, value);
  const int num_runs = static_cast<int>(done.size());

  std::vector<double> numbers(num_runs);
  if (IsOfProblem(column.value)) {
    const bool of_problem =
        column.value == ColumnValue::kBestKnown && column.agent.empty() && column.where.empty();
    for (int i = 0; i < num_runs; ++i) {
      numbers[i] = NumberOf(*done[i], column.value, unit_);
      if (of_problem) {
        numbers[i] = std::min(numbers[i], done[i]->best_known_ns * PerNanosecond(unit_));
      }
    }
    number.value = *std::ranges::min_element(numbers);
  } else if (!HasTarget(column.value)) {
    for (int i = 0; i < num_runs; ++i) numbers[i] = NumberOf(*done[i], column.value, unit_);
    number.value = Median(numbers);
    if (HasInterval(column.value)) {
      std::vector<double> drawn_numbers(num_runs);
      const auto median = [&](const std::vector<int>& drawn, int) {
        for (int i = 0; i < num_runs; ++i) drawn_numbers[i] = numbers[drawn[i]];
        return Median(drawn_numbers);
      };
      number = OfRuns(num_runs, false, GeneratorFor(group), median);
      number.is_median = true;
    }
  } else {
    const Resampled target = Evaluate(*column.formula);
    if (!target.run) return target;
    std::vector<std::vector<BestSoFar>> curves;
    for (const ResultRun* run : done) curves.push_back(ReadBestSoFar(*run));
    const auto when = [&](int run, double at_most) {
      return WhenReached(curves[run], at_most, PerNanosecond(unit_), column.value);
    };
    for (int i = 0; i < num_runs; ++i) numbers[i] = when(i, target.value);
    std::vector<double> reached(num_runs), ends(num_runs);
    const auto statistic = [&](const std::vector<int>& drawn, int resample) {
      for (int i = 0; i < num_runs; ++i) {
        const ResultRun& run = *done[drawn[i]];
        reached[i] = when(drawn[i], resample < 0 ? target.value : target.At(resample));
        ends[i] = IsInSeconds(column.value) ? run.seconds : static_cast<double>(run.evaluations);
      }
      if (column.value == ColumnValue::kReached) return ShareOf(reached);
      return IsExpected(column.value) ? ExpectedOf(reached, ends) : Median(reached);
    };
    number = OfRuns(num_runs, !target.samples.empty(), GeneratorFor(group), statistic);
    number.seeds.Include(target.seeds);
    number.is_median = target.samples.empty() && !IsExpected(column.value) &&
                       column.value != ColumnValue::kReached;
  }
  num_finite_[index] = static_cast<int>(
      std::count_if(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }));
  return number;
}

Resampled RowValues::Evaluate(const Formula& formula) const {
  Resampled number;
  std::vector<const Resampled*> inputs;
  bool by_chance = false;
  for (const std::string& name : formula.names()) {
    const auto found = index_of_.find(name);
    const std::vector<std::string> none = {name};
    const bool run = found != index_of_.end() && columns_[found->second].run;
    if (!run) {
      number.run = false;
      for (const std::string& what :
           found != index_of_.end() ? columns_[found->second].missing : none) {
        if (std::count(number.missing.begin(), number.missing.end(), what) == 0) {
          number.missing.push_back(what);
        }
      }
      continue;
    }
    inputs.push_back(&columns_[found->second]);
    by_chance |= !inputs.back()->samples.empty();
    number.seeds.Include(inputs.back()->seeds);
  }
  if (!number.run) return number;

  std::vector<double> values(inputs.size());
  const auto evaluate = [&](const auto& value_of) {
    for (size_t i = 0; i < inputs.size(); ++i) values[i] = value_of(*inputs[i]);
    return formula.Evaluate(values);
  };
  number.value = evaluate([](const Resampled& input) { return input.value; });
  for (int b = 0; by_chance && b < kTableResamples; ++b) {
    number.samples.push_back(evaluate([&](const Resampled& input) { return input.At(b); }));
  }
  return number;
}

double RowValues::ValueIf(const std::string& name, const std::string& column, double value) const {
  if (name == column) return value;
  const int index = index_of_.at(name);
  const LayoutColumn& layout = layout_[index];
  if (layout.value != ColumnValue::kFormula) return columns_[index].value;
  return EvaluateIf(*layout.formula, column, value) * (layout.unit == "percent" ? 100 : 1);
}

double RowValues::EvaluateIf(const Formula& formula,
                             const std::string& column,
                             double value) const {
  std::vector<double> values;
  for (const std::string& name : formula.names()) values.push_back(ValueIf(name, column, value));
  return formula.Evaluate(values);
}

}  // namespace emplace

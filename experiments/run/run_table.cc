#include "experiments/run/run_table.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/output.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

/// The column's unit: GiB, or a smaller one where the largest peak would show as 0.0x.
struct MemoryUnit {
  const char* name;
  double bytes;
};

MemoryUnit UnitOf(const std::vector<TableRow>& rows) {
  constexpr MemoryUnit kUnits[] = {{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};
  std::int64_t largest = 0;
  for (const TableRow& row : rows) {
    if (!row.best) continue;
    for (const DeviceOutcome& device : row.best->outcome.devices) {
      largest = std::max(largest, device.peak);
    }
  }
  for (const MemoryUnit& unit : kUnits) {
    if (static_cast<double>(largest) >= 0.1 * unit.bytes) return unit;
  }
  return kUnits[0];
}

constexpr int kMaxDevicesShown = 8;

std::string StepTimeCell(const TableRow& row, const Cluster& cluster) {
  if (!row.median) {
    if (row.best) return FormatDeficit(row.best->outcome, cluster);
    if (row.runs == 0 && row.not_begun > 0) return "not begun";
    return row.failed > 0 ? "failed" : "-";
  }
  std::string text = FormatTime(*row.median);
  if (*row.least < *row.most) {
    text += fmt::format(" [{} .. {}]", FormatTime(*row.least), FormatTime(*row.most));
  }
  if (row.fitting < row.runs || row.not_begun > 0) {
    text += fmt::format(" ({} of {} fit{})",
                        row.fitting,
                        row.runs,
                        row.not_begun > 0 ? fmt::format(", {} not begun", row.not_begun) : "");
  }
  return text;
}

// Peaks of the best placement in device order; only the largest when there are many devices.
std::string PeakCell(const TableRow& row, const MemoryUnit& unit) {
  if (!row.best) return "-";
  const std::vector<DeviceOutcome>& devices = row.best->outcome.devices;
  std::vector<std::string> peaks;
  std::int64_t largest = 0;
  for (const DeviceOutcome& device : devices) {
    peaks.push_back(fmt::format("{:.2f}", static_cast<double>(device.peak) / unit.bytes));
    largest = std::max(largest, device.peak);
  }
  if (devices.size() > kMaxDevicesShown) {
    return fmt::format("max {:.2f}", static_cast<double>(largest) / unit.bytes);
  }
  return fmt::format("{}", fmt::join(peaks, " / "));
}

std::optional<double> SpeedUp(const TableRow& row, const TableScale& scale) {
  if (!row.median || !scale.best_single_device || *row.median == 0) return std::nullopt;
  return static_cast<double>(scale.best_single_device->step_time) /
         static_cast<double>(*row.median);
}

std::optional<double> Gap(const TableRow& row, const TableScale& scale) {
  if (!row.median || scale.bound == 0) return std::nullopt;
  return static_cast<double>(*row.median) / static_cast<double>(scale.bound) - 1;
}

template <class T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

TableRow SummarizeAgent(const std::string& label,
                        const std::vector<const SearchResult*>& results,
                        int steps_per_measurement) {
  TableRow row;
  row.label = label;
  std::vector<Nanos> times;
  for (const SearchResult* result : results) {
    if (result->status == SearchStatus::kNotBegun) {
      ++row.not_begun;
      continue;
    }
    ++row.runs;
    row.evaluations += static_cast<std::int64_t>(result->records.size());
    row.seconds += result->seconds;
    row.hardware_seconds += HardwareSeconds(result->records, steps_per_measurement);
    if (result->status == SearchStatus::kFailed) {
      if (row.failed++ == 0) row.error = result->error;
    }
    if (!result->best) continue;
    if (result->best->outcome.feasible) times.push_back(result->best->outcome.step_time);
    if (!row.best || Better(result->best->outcome, row.best->outcome)) row.best = result->best;
  }
  SetStepTimes(row, times);
  return row;
}

void SetStepTimes(TableRow& row, const std::vector<Nanos>& times) {
  row.fitting = static_cast<int>(times.size());
  if (times.empty()) return;
  row.median = static_cast<Nanos>(Median({times.begin(), times.end()}));
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  row.least = *least;
  row.most = *most;
}

void SortRows(std::vector<TableRow>& rows) {
  const auto key = [](const TableRow& row) {
    return std::tuple(row.median.value_or(kMaxNanos),
                      row.best ? row.best->outcome.deficit() : INT64_MAX,
                      row.label);
  };
  std::sort(rows.begin(), rows.end(), [&](const TableRow& a, const TableRow& b) {
    return key(a) < key(b);
  });
}

std::string FormatDeficit(const Outcome& outcome, const Cluster& cluster) {
  int worst = 0;
  for (int d = 1; d < cluster.num_devices(); ++d) {
    if (outcome.devices[d].deficit > outcome.devices[worst].deficit) worst = d;
  }
  return fmt::format("OOM (missing {} on {})",
                     FormatBytes(outcome.devices[worst].deficit),
                     cluster.device(worst).name);
}

std::string FormatTable(const std::vector<TableRow>& rows,
                        const TableScale& scale,
                        const Cluster& cluster) {
  std::string devices = fmt::format("{}", fmt::join(cluster.DeviceNames(), " / "));
  if (cluster.num_devices() > kMaxDevicesShown) devices = "devices";
  const MemoryUnit unit = UnitOf(rows);
  std::vector<std::vector<std::string>> cells = {{"agent",
                                                  "step time",
                                                  "speed-up",
                                                  "gap",
                                                  fmt::format("peak {} on {}", unit.name, devices),
                                                  "evaluations",
                                                  "seconds",
                                                  "on hardware"}};
  for (const TableRow& row : rows) {
    const auto speed_up = SpeedUp(row, scale), gap = Gap(row, scale);
    cells.push_back({row.label,
                     StepTimeCell(row, cluster),
                     speed_up ? fmt::format("{:.2f}x", *speed_up) : "-",
                     !gap        ? "-"
                     : *gap == 0 ? "optimal"
                                 : fmt::format("{:.1f} %", 100 * *gap),
                     PeakCell(row, unit),
                     std::to_string(row.evaluations),
                     fmt::format("{:.1f}", row.seconds),
                     FormatDuration(row.hardware_seconds)});
  }
  std::string text = FormatColumns(cells);
  for (const TableRow& row : rows) {
    if (row.failed > 0) {
      text += fmt::format("{}: {} of {} failed: {}\n", row.label, row.failed, row.runs, row.error);
    }
  }
  return text;
}

std::string FormatHardwareTime(const std::vector<TableRow>& rows, int steps_per_measurement) {
  double hardware = 0, here = 0;
  for (const TableRow& row : rows) {
    hardware += row.hardware_seconds;
    here += row.seconds;
  }
  return fmt::format(
      "searching on the hardware: {} ({} steps a measurement; what does not fit counts nothing); "
      "here: {}\n",
      FormatDuration(hardware),
      steps_per_measurement,
      FormatDuration(here));
}

std::string FormatTableJson(const std::vector<TableRow>& rows,
                            const TableScale& scale,
                            const Cluster& cluster) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TableRow& row : rows) {
    nlohmann::ordered_json peaks = nlohmann::ordered_json::object();
    nlohmann::ordered_json deficits = nlohmann::ordered_json::object();
    for (int d = 0; row.best && d < cluster.num_devices(); ++d) {
      peaks[cluster.device(d).name] = row.best->outcome.devices[d].peak;
      deficits[cluster.device(d).name] = row.best->outcome.devices[d].deficit;
    }
    nlohmann::ordered_json json;
    json["agent"] = row.label;
    json["step_time_ns"] = {
        {"median", OrNull(row.median)}, {"min", OrNull(row.least)}, {"max", OrNull(row.most)}};
    json["runs"] = row.runs;
    json["fitting"] = row.fitting;
    json["failed"] = row.failed;
    json["not_begun"] = row.not_begun;
    json["speed_up"] = OrNull(SpeedUp(row, scale));
    json["gap"] = OrNull(Gap(row, scale));
    json["peak_bytes"] = peaks;
    json["deficit_bytes"] = deficits;
    json["evaluations"] = row.evaluations;
    json["seconds"] = row.seconds;
    json["hardware_seconds"] = row.hardware_seconds;
    if (!row.error.empty()) json["error"] = row.error;
    list.push_back(json);
  }
  return list.dump(2);
}

std::string FormatShares(const RungShares& shares) {
  constexpr double kShown = 5e-4;  // less would show as 0.0 %
  std::vector<std::string> parts;
  for (int rung = 0; rung < kNumRungs; ++rung) {
    if (shares[rung] < kShown) continue;
    parts.push_back(
        fmt::format("{} {:.1f} %", ToString(static_cast<Rung>(rung)), 100 * shares[rung]));
  }
  return parts.empty() ? "no work" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace emplace

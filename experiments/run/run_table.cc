#include "experiments/run/run_table.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

/// The unit of the memory column: GiB, or a smaller unit if the largest peak would read 0.0x.
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

std::string StepTimeCell(const TableRow& row) {
  if (row.median) return FormatTime(*row.median);
  if (row.best) return "OOM";
  if (row.runs == 0 && row.not_begun > 0) return "not begun";
  return row.failed > 0 ? "failed" : "-";
}

std::string RangeCell(const TableRow& row) {
  if (!row.median || *row.least == *row.most) return "-";
  return fmt::format("{} .. {}", FormatTime(*row.least), FormatTime(*row.most));
}

// Returns the peaks of the best placement in device order; only the largest for many devices.
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

std::string GapCell(const std::optional<double>& gap) {
  if (!gap) return "-";
  return *gap == 0 ? "optimal" : fmt::format("{:.1f} %", 100 * *gap);
}

/// A column of the table.
struct ShownColumn {
  const char* omitted;             ///< its name in the line below the table if it is omitted
  int rank;                        ///< columns of the highest rank are omitted first; 0: never
  std::vector<std::string> cells;  ///< the header, then one for each row
};

std::vector<std::vector<std::string>> RowsOf(const std::vector<ShownColumn>& columns) {
  std::vector<std::vector<std::string>> rows(columns[0].cells.size());
  for (const ShownColumn& column : columns) {
    for (size_t r = 0; r < rows.size(); ++r) rows[r].push_back(column.cells[r]);
  }
  return rows;
}

int WidthOf(const ShownColumn& column) {
  int width = 0;
  for (const std::string& cell : column.cells) width = std::max(width, TextWidth(cell));
  return width;
}

constexpr int kBetweenColumns = 2;  // as in FormatColumns()

int WidthOf(const std::vector<ShownColumn>& columns) {
  int width = -kBetweenColumns;
  for (const ShownColumn& column : columns) width += WidthOf(column) + kBetweenColumns;
  return width;
}

// Omits columns until the others fit. @return names of the omitted columns
std::vector<std::string> LeaveOut(std::vector<ShownColumn>& columns, int width) {
  std::vector<std::string> names;
  while (width > 0 && WidthOf(columns) > width) {
    const auto last = std::ranges::max_element(columns, {}, &ShownColumn::rank);
    if (last->rank == 0) break;
    names.emplace_back(last->omitted);
    columns.erase(last);
  }
  return names;
}

// Returns the offset of the character with this index. [B]
size_t ByteOf(const std::string& text, int character) {
  size_t byte = 0;
  while (byte < text.size() && TextWidth(text.substr(0, byte + 1)) <= character) ++byte;
  return byte;
}

// Shortens a label in the middle to `width` columns.
std::string CutLabel(const std::string& label, int width) {
  const int length = TextWidth(label);
  if (length <= width) return label;
  const int head = (width - 1) / 2, tail = width - 3 - head;
  return label.substr(0, ByteOf(label, head)) + "..." + label.substr(ByteOf(label, length - tail));
}

// Shortens the cells of the first column so that the table fits, to no less than 12 characters.
void CutLabels(std::vector<ShownColumn>& columns, int width) {
  constexpr int kLeast = 12;
  if (width == 0) return;
  const int too_wide = WidthOf(columns) - width;
  if (too_wide <= 0) return;
  const int label = std::max(kLeast, WidthOf(columns[0]) - too_wide);
  for (std::string& cell : columns[0].cells) cell = CutLabel(cell, label);
}

// Returns the line below the table: the number of seeds and the omitted columns.
std::string TableNote(const std::vector<TableRow>& rows, const std::vector<std::string>& left_out) {
  std::vector<std::string> parts;
  const auto [least, most] = std::ranges::minmax_element(rows, {}, &TableRow::runs);
  if (!rows.empty() && most->runs > 1) {
    const bool differ = least->runs < most->runs;
    parts.push_back(fmt::format("medians of {} seeds{}",
                                most->runs,
                                differ ? "; agents that do not use the seed run once" : ""));
  }
  if (!left_out.empty()) {
    parts.push_back(fmt::format("--wide adds {}", fmt::join(left_out, ", ")));
  }
  return parts.empty() ? "" : fmt::format("{}\n", fmt::join(parts, "; "));
}

// Returns the lines on an agent's seeds that did not fit or failed.
std::string SeedsNote(const TableRow& row, const Cluster& cluster) {
  std::string text;
  if (!row.median && row.best) {
    text += fmt::format("{}: {}\n", row.label, FormatDeficit(row.best->outcome, cluster));
  }
  if (row.median && (row.fitting < row.runs || row.not_begun > 0)) {
    text += fmt::format("{}: {} of {} fit{}\n",
                        row.label,
                        row.fitting,
                        row.runs,
                        row.not_begun > 0 ? fmt::format(", {} not begun", row.not_begun) : "");
  }
  if (row.failed > 0) {
    text += fmt::format("{}: {} of {} failed: {}\n", row.label, row.failed, row.runs, row.error);
  }
  return text;
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
  std::vector<SearchEffort> efforts;
  for (const SearchResult* result : results) {
    if (result->status == SearchStatus::kNotBegun) {
      ++row.not_begun;
      continue;
    }
    ++row.runs;
    efforts.push_back({std::ssize(result->records),
                       result->seconds,
                       HardwareSeconds(result->records, steps_per_measurement)});
    row.learns = row.learns || !result->updates.columns.empty();
    if (result->status == SearchStatus::kFailed) {
      if (row.failed++ == 0) row.error = result->error;
    }
    if (!result->best) continue;
    if (result->best->outcome.feasible) times.push_back(result->best->outcome.step_time);
    if (!row.best || Better(result->best->outcome, row.best->outcome)) row.best = result->best;
  }
  SetStepTimes(row, times);
  SetEfforts(row, efforts);
  return row;
}

void SetEfforts(TableRow& row, const std::vector<SearchEffort>& efforts) {
  row.effort = row.total = {};
  std::vector<double> evaluations, seconds, hardware_seconds;
  for (const SearchEffort& effort : efforts) {
    row.total.evaluations += effort.evaluations;
    row.total.seconds += effort.seconds;
    row.total.hardware_seconds += effort.hardware_seconds;
    if (effort.evaluations == 0) continue;
    evaluations.push_back(static_cast<double>(effort.evaluations));
    seconds.push_back(effort.seconds);
    hardware_seconds.push_back(effort.hardware_seconds);
  }
  if (evaluations.empty()) return;
  row.effort = {
      static_cast<std::int64_t>(Median(evaluations)), Median(seconds), Median(hardware_seconds)};
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
                        const Cluster& cluster,
                        const TextView& view) {
  std::string devices = fmt::format("{}", fmt::join(cluster.DeviceNames(), " / "));
  if (cluster.num_devices() > kMaxDevicesShown) devices = "devices";
  const MemoryUnit unit = UnitOf(rows);
  std::vector<ShownColumn> columns;
  const auto add = [&](const char* omitted, int rank, const std::string& head, auto cell) {
    columns.push_back({omitted, rank, {head}});
    for (const TableRow& row : rows) columns.back().cells.push_back(cell(row));
  };
  add("", 0, "agent", [](const TableRow& row) { return row.label; });
  add("", 0, "step time", StepTimeCell);
  add("range", 1, "range over seeds", RangeCell);
  add("", 0, "speed-up", [&](const TableRow& row) {
    const std::optional<double> speed_up = SpeedUp(row, scale);
    return speed_up ? fmt::format("{:.2f}x", *speed_up) : "-";
  });
  add("", 0, "gap", [&](const TableRow& row) { return GapCell(Gap(row, scale)); });
  add("peak memory", 3, fmt::format("peak {} on {}", unit.name, devices), [&](const TableRow& row) {
    return PeakCell(row, unit);
  });
  add("", 0, "evaluations", [](const TableRow& row) {
    return std::to_string(row.effort.evaluations);
  });
  add("", 0, "seconds", [](const TableRow& row) {
    return fmt::format("{:.1f}", row.effort.seconds);
  });
  add("time on hardware", 2, "on hardware", [](const TableRow& row) {
    return FormatDuration(row.effort.hardware_seconds);
  });
  const std::vector<std::string> left_out = LeaveOut(columns, view.columns);
  CutLabels(columns, view.columns);
  const bool has_best = !rows.empty() && rows[0].median;
  std::string text = FormatColumns(RowsOf(columns), view.styled && has_best ? 1 : -1);
  text += WrapLines(TableNote(rows, left_out), view.columns, 2);
  for (const TableRow& row : rows) {
    text += WrapLines(SeedsNote(row, cluster), view.columns, 2);
  }
  return text;
}

std::string FormatTotals(const std::vector<TableRow>& rows, int steps_per_measurement) {
  SearchEffort total;
  for (const TableRow& row : rows) {
    total.evaluations += row.total.evaluations;
    total.seconds += row.total.seconds;
    total.hardware_seconds += row.total.hardware_seconds;
  }
  return fmt::format("total    {} evaluations, {} of search; on hardware, with {} steps each: {}\n",
                     total.evaluations,
                     FormatDuration(total.seconds),
                     steps_per_measurement,
                     FormatDuration(total.hardware_seconds));
}

std::string FormatLearners(const std::vector<TableRow>& rows) {
  constexpr double kLong = 600;  // [s]
  std::vector<std::string> learners;
  double seconds = 0;
  for (const TableRow& row : rows) {
    if (!row.learns) continue;
    learners.push_back(row.label);
    seconds = std::max(seconds, row.effort.seconds);
  }
  if (learners.empty() || seconds >= kLong) return "";
  return fmt::format("learners {} had {}; papers give them hours\n",
                     fmt::join(learners, ", "),
                     FormatDuration(seconds));
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
    json["evaluations"] = row.effort.evaluations;
    json["seconds"] = row.effort.seconds;
    json["hardware_seconds"] = row.effort.hardware_seconds;
    json["total_evaluations"] = row.total.evaluations;
    json["total_seconds"] = row.total.seconds;
    json["total_hardware_seconds"] = row.total.hardware_seconds;
    if (!row.error.empty()) json["error"] = row.error;
    list.push_back(json);
  }
  return list.dump(2);
}

std::string FormatShares(const CostSourceShares& shares) {
  constexpr double kShown = 5e-4;  // smaller shares would read 0.0 %
  std::vector<std::string> parts;
  for (int source = 0; source < kNumCostSources; ++source) {
    if (shares[source] < kShown) continue;
    parts.push_back(fmt::format(
        "{} {:.1f} %", ToString(static_cast<CostSource>(source)), 100 * shares[source]));
  }
  return parts.empty() ? "no work" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace emplace

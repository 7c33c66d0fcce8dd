#include "experiments/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

struct Unit {
  double size;
  const char* name;
};

// The largest unit that is not above `value`; the first one if all are.
template <size_t n>
const Unit& UnitFor(double value, const Unit (&units)[n]) {
  const Unit* chosen = &units[0];
  for (const Unit& unit : units) {
    if (value >= unit.size) chosen = &unit;
  }
  return *chosen;
}

// Four significant digits without an exponent: 1.234, 12.34, 123.4, 1234.
std::string FourDigits(double value) {
  const int before = value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4;
  return fmt::format("{:.{}f}", value, 4 - before);
}

// How many columns a text takes on a terminal: counts code points, not bytes.
size_t Width(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::atomic<bool> warnings_silenced = false;

}  // namespace

void Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) FlushOutput();
}

void FlushOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    throw RunError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void SilenceWarnings() {
  warnings_silenced = true;
}

void PrintWarning(const std::string& message) {
  if (warnings_silenced) return;
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::lock_guard lock(mutex);
  if (!printed.insert(message).second) return;
  std::fputs(fmt::format("emplace: warning: {}\n", message).c_str(), stderr);
}

std::string FormatTime(Nanos time) {
  static constexpr Unit kUnits[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
  const auto value = static_cast<double>(time);
  if (value < 1000) return fmt::format("{} ns", time);
  const Unit& unit = UnitFor(value, kUnits);
  return fmt::format("{} {}", FourDigits(value / unit.size), unit.name);
}

std::string FormatDuration(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  return seconds < 6000 ? fmt::format("{:.1f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

std::string FormatBytes(std::int64_t bytes) {
  static constexpr Unit kUnits[] = {
      {1, "B"}, {1024., "KiB"}, {1048576., "MiB"}, {1073741824., "GiB"}, {1099511627776., "TiB"}};
  const auto value = static_cast<double>(bytes);
  if (value < 1024) return fmt::format("{} B", bytes);
  const Unit& unit = UnitFor(value, kUnits);
  return fmt::format("{:.2f} {}", value / unit.size, unit.name);
}

std::string FormatFlops(double flops) {
  static constexpr Unit kUnits[] = {{1, "FLOP"},
                                    {1e3, "kFLOP"},
                                    {1e6, "MFLOP"},
                                    {1e9, "GFLOP"},
                                    {1e12, "TFLOP"},
                                    {1e15, "PFLOP"}};
  const Unit& unit = UnitFor(flops, kUnits);
  return fmt::format("{} {}", FourDigits(flops / unit.size), unit.name);
}

std::string FormatColumns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(width[i] - Width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (i == 0 ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string MarkdownLines(const std::vector<std::vector<std::string>>& lines, size_t num_left) {
  std::vector<size_t> width(lines[0].size(), 3);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], Width(line[i]));
  }
  std::string text;
  for (size_t l = 0; l < lines.size(); ++l) {
    for (size_t i = 0; i < lines[l].size(); ++i) {
      const std::string padding(width[i] - Width(lines[l][i]), ' ');
      text += i < num_left ? fmt::format("| {}{} ", lines[l][i], padding)
                           : fmt::format("| {}{} ", padding, lines[l][i]);
    }
    text += "|\n";
    if (l > 0) continue;
    for (size_t i = 0; i < width.size(); ++i) {
      text += "|" + std::string(width[i] + 1, '-') + (i < num_left ? "-" : ":");
    }
    text += "|\n";
  }
  return text;
}

std::string CsvField(const std::string& field) {
  constexpr std::string_view kFormulas = "=+-@\t\r";
  double number = 0;
  const char* end = field.data() + field.size();
  const bool is_number = std::from_chars(field.data(), end, number).ptr == end;
  const bool is_formula =
      !field.empty() && kFormulas.find(field[0]) != std::string_view::npos && !is_number;
  const std::string text = is_formula ? "'" + field : field;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace emplace

#include "experiments/console/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Returns the largest unit that is not above `value`; the first one if all are.
template <size_t n>
const Unit& UnitFor(double value, const Unit (&units)[n]) {
  const Unit* chosen = &units[0];
  for (const Unit& unit : units) {
    if (value >= unit.size) chosen = &unit;
  }
  return *chosen;
}

// Returns four significant digits without an exponent: 1.234, 12.34, 123.4, 1234.
std::string FourDigits(double value) {
  const int before = value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4;
  return fmt::format("{:.{}f}", value, 4 - before);
}

size_t Width(std::string_view text) {
  return static_cast<size_t>(TextWidth(text));
}

constexpr int kUsualColumns = 80;  // for a terminal that does not report its width

// Returns $COLUMNS; 0 if it is not set to a number > 0.
int ColumnsVariable() {
  const char* text = std::getenv("COLUMNS");
  int columns = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), columns);
  return std::max(columns, 0);
}

// Wraps one line without its end.
std::string WrapLine(std::string_view line, size_t columns, size_t indent) {
  std::string text;
  size_t used = 0;  // of the current line
  bool begins = true;
  while (!line.empty()) {
    // A word with the blanks before it.
    const size_t word = std::min(line.find_first_not_of(' '), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view part = line.substr(0, end);
    line.remove_prefix(end);
    if (!begins && word < end && used + Width(part) > columns) {
      text += "\n" + std::string(indent, ' ');
      text += part.substr(word);
      used = indent + Width(part.substr(word));
    } else {
      text += part;
      used += Width(part);
    }
    begins = begins && word == end;
  }
  return text;
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

TextView ViewOfOutput() {
  TextView view{.columns = ColumnsVariable()};
  if (isatty(STDOUT_FILENO) == 0) return view;
  winsize size{};
  if (view.columns == 0) {
    view.columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                                   : kUsualColumns;
  }
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  view.styled = (no_color == nullptr || *no_color == 0) && term != nullptr &&
                std::string_view(term) != "dumb";
  return view;
}

std::string Bold(const std::string& text) {
  return "\x1b[1m" + text + "\x1b[0m";
}

int TextWidth(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string WrapLines(std::string_view text, int columns, int indent) {
  if (columns == 0) return std::string(text);
  std::string wrapped;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    wrapped += WrapLine(text.substr(0, end), columns, indent);
    if (end == std::string_view::npos) break;
    wrapped += "\n";
    text.remove_prefix(end + 1);
  }
  return wrapped;
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

std::string FormatColumns(const std::vector<std::vector<std::string>>& rows, int bold) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], Width(row[i]));
  }
  std::string text;
  for (int r = 0; r < std::ssize(rows); ++r) {
    const std::vector<std::string>& row = rows[r];
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(width[i] - Width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (i == 0 ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (r == bold ? Bold(line) : line) + "\n";
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

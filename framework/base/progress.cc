#include "framework/base/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBarInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(10);

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Returns at most `columns` characters of UTF-8 text, each counted as one column.
std::string Clip(const std::string& text, std::size_t columns) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && shown++ == columns) return text.substr(0, i);
  }
  return text;
}

std::size_t Columns(std::string_view text) {
  return std::count_if(
      text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; });
}

// 75 -> "1:15", 4000 -> "1:06:40".
std::string FormatSeconds(double seconds) {
  if (!(seconds < 1e8)) return "--:--";
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t hours = total / 3600, minutes = total / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60)
                   : fmt::format("{}:{:02}", minutes, total % 60);
}

// 0.25 -> "0.25/s", 1234567 -> "1.23M/s".
std::string FormatRate(double rate) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G"};
  int prefix = 0;
  for (; rate >= 999.5 && prefix < 3; ++prefix) rate /= 1000;
  return fmt::format("{:.3g}{}/s", rate, kPrefixes[prefix]);
}

// Writes to stderr. A full disk, or a pipe whose reader has ended, must not end the work.
void Show(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

std::string Bar(double share, int cells) {
  const int full = static_cast<int>(share * cells);
  return fmt::format("[{:#<{}}{:.<{}}]", "", full, "", cells - full);
}

}  // namespace

Progress::Progress(std::string title, std::int64_t total, bool enabled, std::int64_t already)
    : title_(std::move(title)),
      total_(std::max<std::int64_t>(total, 0)),
      already_(already),
      done_(already),
      enabled_(enabled),
      terminal_(enabled && IsTerminal()),
      start_(Clock::now()),
      last_(start_) {
  if (terminal_) Draw(false);
}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  if (enabled_) Draw(true);
}

void Progress::Update(std::int64_t done, const std::string& note) {
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, done);  // threads may report out of order
  note_ = note;
  DrawIfDue();
}

void Progress::UpdateSeconds(double done, double left, const std::string& note) {
  const std::lock_guard lock(mutex_);
  seconds_done_ = done;
  seconds_left_ = std::max(0.0, left);
  note_ = note;
  DrawIfDue();
}

// The caller holds the lock. This also holds for CountsText() and Draw().
void Progress::DrawIfDue() {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now - last_ < (terminal_ ? Clock::duration(kBarInterval) : kLineInterval))
    return;
  last_ = now;
  Draw(false);
}

void Progress::Line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!enabled_) return;
  if (terminal_) {
    Show(fmt::format("\r{}\r{}\n", std::string(drawn_width_, ' '), text));
    drawn_width_ = 0;
    Draw(false);
  } else {
    Show(text + "\n");
  }
}

// Returns "412/1000 (41 %), 3.2/s, 1:15 left", or "41 %, 1:15 left" if seconds are known.
std::string Progress::CountsText(double share, double seconds, bool final) const {
  const std::string percent = fmt::format("{:.0f} %", std::floor(share * 100));
  if (seconds_left_) {
    return percent + (final ? fmt::format(" in {}", FormatSeconds(seconds))
                            : fmt::format(", {} left", FormatSeconds(*seconds_left_)));
  }
  std::string text = std::to_string(done_);
  if (total_ > 0) text += fmt::format("/{} ({})", total_, percent);
  const std::int64_t now_done = done_ - already_;
  const double rate = seconds > 0 ? static_cast<double>(now_done) / seconds : 0;
  if (final) text += fmt::format(" in {}", FormatSeconds(seconds));
  if (now_done <= 0) return text;
  text += ", " + FormatRate(rate);
  if (!final && total_ > 0) {
    text += fmt::format(
        ", {} left",
        FormatSeconds(static_cast<double>(std::max<std::int64_t>(total_ - done_, 0)) / rate));
  }
  return text;
}

// The constructor also calls this, without the lock.
void Progress::Draw(bool final) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  double share = 0;
  if (seconds_left_) {
    const double all = *seconds_done_ + *seconds_left_;
    share = all > 0 ? *seconds_done_ / all : 0;
  } else if (total_ > 0) {
    share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  }
  const std::string text = CountsText(share, seconds, final) + (note_.empty() ? "" : "; " + note_);
  if (!terminal_) {
    Show(fmt::format("{}: {}\n", title_, text));
    return;
  }

  // Title and counts come first; the bar takes the rest of the line and is omitted below 5 cells.
  const std::size_t width = TerminalWidth() - 1;  // a full line would wrap
  std::string line = title_ + " ";
  const std::size_t used = Columns(line) + Columns(text) + 3;
  const int cells = static_cast<int>(std::min<std::size_t>(30, width > used ? width - used : 0));
  if ((total_ > 0 || seconds_left_) && cells >= 5) line += Bar(share, cells) + " ";
  line = Clip(line + text, width);
  const std::size_t columns = Columns(line);
  const std::string rest(drawn_width_ > columns ? drawn_width_ - columns : 0, ' ');
  Show(fmt::format("\r{}{}{}", line, rest, final ? "\n" : ""));
  drawn_width_ = columns;
}

}  // namespace emplace

#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace emplace {

/// Shows the progress of long work on stderr: on a terminal a bar with rate and remaining time,
/// otherwise a plain line at most every ten seconds. Thread-safe. The destructor draws the bar for
/// the last time and ends its line. Write errors are ignored: a full disk does not stop the work.
class Progress {
 public:
  /// @param title  shown before the bar   @param total  units of work; 0: unknown
  /// @param enabled  false: nothing is printed
  /// @param already  units of `total` that were finished before; they are not part of the rate
  Progress(std::string title, std::int64_t total, bool enabled = true, std::int64_t already = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// @param done  units finished so far, including `already`
  /// @param note  shown after the bar ("best 41.3 ms")
  void Update(std::int64_t done, const std::string& note = "");
  /// Updates the bar for units of unequal duration, when the caller knows their times. The bar
  /// shows the finished share and `left`, but no rate.
  /// @param done, left  elapsed and remaining seconds, as far as they are known
  void UpdateSeconds(double done, double left, const std::string& note = "");
  /// Prints a separate line without disturbing the bar.
  void Line(const std::string& text);

 private:
  void DrawIfDue();
  void Draw(bool final);
  std::string CountsText(double share, double seconds, bool final) const;

  std::mutex mutex_;
  std::string title_, note_;
  std::int64_t total_, already_, done_;
  std::optional<double> seconds_done_, seconds_left_;  // of UpdateSeconds()
  bool enabled_, terminal_;
  std::size_t drawn_width_ = 0;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace emplace

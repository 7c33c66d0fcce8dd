#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace emplace {

/// Progress of long work on stderr: a bar with rate and time left on a terminal, a plain line at
/// most every ten seconds when piped. Thread-safe. The destructor draws the bar a last time and
/// ends its line. What cannot be written is lost: work goes on when the disk of a log is full.
class Progress {
 public:
  /// @param title  in front of the bar   @param total  units of work; 0: unknown
  /// @param enabled  false: nothing is ever printed
  /// @param already  units of `total` that were finished before; they count as done, not for the
  ///   rate
  Progress(std::string title, std::int64_t total, bool enabled = true, std::int64_t already = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// @param done  units finished so far, `already` among them      @param note  shown behind the
  /// bar ("best 41.3 ms")
  void Update(std::int64_t done, const std::string& note = "");
  /// For work whose units take times of their own, as the caller knows them: the bar shows the
  /// share done and `left`, and no rate. @param done, left  seconds gone, and to come as far as is
  /// known
  void UpdateSeconds(double done, double left, const std::string& note = "");
  /// Prints a line of its own without disturbing the bar.
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

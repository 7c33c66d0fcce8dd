#include "experiments/console/stop_request.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iterator>

namespace emplace {
namespace {

using StopClock = std::chrono::steady_clock;
// Long enough for a policy update on a graph of 80,000 ops: a search that is interrupted within a
// step must begin from scratch.
constexpr auto kGrace = std::chrono::seconds(10);
// `timeout` and batch systems signal a process and then its group: one request.
constexpr auto kOnce = std::chrono::milliseconds(500);

std::atomic<StopClock::rep> stop_requested{0};  // time of the request; 0: none
std::atomic<bool> repeats_ignored{false};
std::atomic<StopClock::rep> stop_seen{0};  // time at which a search first noticed; 0: not yet
// The handlers before CatchSignals(), which only one thread may call at a time.
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
struct sigaction before[std::size(kSignals)];
bool caught = false;
static_assert(
    std::atomic<StopClock::rep>::is_always_lock_free);  // signal handlers may use no others

void OnSignal(int number) {
  const StopClock::rep now = StopClock::now().time_since_epoch().count();
  StopClock::rep first = 0;
  if (stop_requested.compare_exchange_strong(first, now) || repeats_ignored ||
      StopClock::duration(now - first) < kOnce) {
    return;
  }
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void StopRequest::CatchSignals() {
  if (!caught) {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  }
  caught = true;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool StopRequest::ReleaseSignals() {
  if (!caught) return false;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
  caught = false;
  stop_seen = 0;
  return stop_requested.exchange(0) != 0;
}

void StopRequest::IgnoreRepeats() {
  repeats_ignored = true;
}

bool StopRequest::requested() {
  return stop_requested != 0;
}

bool StopRequest::urgent() {
  if (!requested()) return false;
  const StopClock::rep now = StopClock::now().time_since_epoch().count();
  StopClock::rep seen = 0;
  if (stop_seen.compare_exchange_strong(seen, now)) return false;
  return StopClock::duration(now - seen) > kGrace;
}

}  // namespace emplace

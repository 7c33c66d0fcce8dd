#include "framework/bounds/one_machine.h"

#include <utility>

namespace emplace {
namespace {

// @return the bound, and the tail of the jobs that reach it
std::pair<Nanos, Nanos> JacksonBound(std::vector<Job>& jobs, int slots) {
  const Nanos unit = slots <= 16 ? slots : 1;  // times are in 1 / unit ns, without overflow
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  std::vector<std::pair<Nanos, Nanos>> waiting;  // heap of (tail, time left)
  std::pair<Nanos, Nanos> best{0, 0};
  Nanos clock = 0;
  for (size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) clock = std::max(clock, unit * jobs[next].head);
    for (; next < jobs.size() && unit * jobs[next].head <= clock; ++next) {
      waiting.emplace_back(unit * jobs[next].tail, jobs[next].time * unit / slots);
      std::push_heap(waiting.begin(), waiting.end());
    }
    std::pop_heap(waiting.begin(), waiting.end());
    auto& [tail, left] = waiting.back();
    Nanos until = clock + left;
    if (next < jobs.size()) until = std::min(until, unit * jobs[next].head);
    left -= until - clock;
    clock = until;
    if (left > 0) {
      std::push_heap(waiting.begin(), waiting.end());
      continue;
    }
    best = std::max(best, {clock + tail, tail});
    waiting.pop_back();
  }
  return {(best.first + unit - 1) / unit, best.second / unit};
}

}  // namespace

JobSet CriticalJobs(std::vector<Job>& jobs) {
  const auto [bound, tail] = JacksonBound(jobs, 1);
  // From the head of the set to the end, the machine is busy with jobs of at least this tail.
  Nanos begin = 0, clock = 0;
  for (const Job& job : jobs) {
    if (job.tail < tail) continue;
    if (job.head > clock) begin = clock = job.head;
    clock += job.time;
  }
  return {begin, tail, bound};
}

Nanos OneMachineBound(std::vector<Job>& jobs, int slots) {
  return JacksonBound(jobs, slots).first;
}

}  // namespace emplace

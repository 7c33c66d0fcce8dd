#include "profilers/measure/apart_times.h"

namespace emplace {
namespace {

// An op's own figures, if it has some, else those of its class.
Interference FiguresOf(const CostTable& table, const TracedSubject& subject) {
  const KindCosts* const costs = table.Find(subject.kind);
  if (costs == nullptr) return {};
  const OpMeasurement* const op = costs->Find(subject.signature);
  if (op != nullptr && op->interference) return *op->interference;
  const auto found = costs->kind.interference.find(subject.work_class);
  return found == costs->kind.interference.end() ? Interference{} : found->second;
}

}  // namespace

std::map<std::pair<std::string, std::string>, ApartTimesOfOp> ApartTimes(const TracedSteps& steps,
                                                                         const CostTable& table) {
  std::map<std::pair<std::string, std::string>, ApartTimesOfOp> apart;
  for (const auto& traced : steps) {
    std::vector<Interference> figures;           // [subjects]
    std::vector<std::vector<double>*> times_of;  // [subjects] nullptr: a copy
    for (const TracedSubject& subject : traced->subjects) {
      figures.push_back(FiguresOf(table, subject));
      times_of.push_back(subject.signature.empty()
                             ? nullptr
                             : &apart[{subject.kind, subject.signature}][subject.bytes]);
    }
    for (size_t step = 0; step < traced->steps.size(); ++step) {
      for (size_t d = 0; d < traced->steps[step].size(); ++d) {
        for (const TracedActivity& activity : traced->steps[step][d]) {
          if (times_of[activity.subject] == nullptr) continue;
          double work = 0;  // in 1/1024 ns
          const auto add = [&](std::span<const int> beside, Nanos length) {
            std::int64_t excess = 0;
            for (const int other : beside) {
              excess += InterferenceExcess(figures[activity.subject], figures[other]);
            }
            work += static_cast<double>(InterferenceRate(excess)) * static_cast<double>(length);
          };
          ForEachPiece(*traced, static_cast<int>(step), static_cast<int>(d), activity, add);
          times_of[activity.subject]->push_back(work / kInterferenceOne);
        }
      }
    }
  }
  return apart;
}

}  // namespace emplace

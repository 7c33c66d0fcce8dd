#include "framework/bounds/period_bound.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "framework/bounds/bounds.h"
#include "framework/bounds/highs.h"
#include "framework/bounds/least_payment.h"
#include "framework/bounds/period_methods.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"

namespace emplace {
namespace {

// Each PeriodMethod ends at this share of the time.
constexpr std::array<double, kNumPeriodMethods> kShare = {0.4, 0.5, 0.8, 1};
// HiGHS ends the program of classes at this gap, or after this share of the time and these seconds,
// which leave time to start its process.
constexpr double kClassesShare = 0.4, kClassesSeconds = 4;
constexpr double kClassesGap = 1e-4;
// The least payments are searched until this share of the time.
constexpr double kPaymentsShare = 0.1;
constexpr int kListenMilliseconds = 20;

// The program of classes, or of single devices, which HiGHS solves.
struct HighsProof {
  const char* method;
  PeriodProgramme programme;
  HighsSearch search;

  // @param least, class_of  as of PeriodProgramme
  HighsProof(const CompiledPeriod& problem,
             Nanos known,
             const LeastPayments& least,
             std::span<const int> class_of)
      : method(class_of.empty() ? "highs" : "classes"),
        programme(problem, known, least, class_of),
        search(programme.model,
               programme.columns,
               programme.Cutoff(known),
               class_of.empty() ? 0 : kClassesGap) {}
};

// Returns whether there are several classes, and one of them has several devices.
bool AreClassesOfUse(std::span<const int> class_of) {
  bool several = false, grouped = false;
  for (std::size_t d = 0; d < class_of.size(); ++d) {
    several = several || class_of[d] != class_of[0];
    grouped = grouped || class_of[d] != static_cast<int>(d);
  }
  return several && grouped;
}

}  // namespace

Nanos MostPeriod(const CompiledPeriod& p) {
  Nanos most = 1;
  for (int g = 0; g < p.num_groups; ++g) {
    Nanos dearest = 0;
    for (int d = 0; d < p.num_devices; ++d) {
      if (p.problem.allowed(g, d)) dearest = std::max(dearest, p.problem.group_cost(g, d));
    }
    most += dearest;
  }
  for (int i = 0; i < p.num_items; ++i) {
    most += ItemTimes(p, i).Range([](int, int) { return true; }).second;
  }
  return most;
}

LowerBound ProvePeriodBound(const Problem& problem, const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  LowerBound best{ComputeBounds(problem).work, "work"};
  Nanos target = options.known;
  const auto reached = [&] { return best.value >= target; };
  const auto tell = [&](Nanos value, const char* method) {
    if (value > best.value) {
      best = {value, method};
      if (options.improved) options.improved(best);
    }
    return reached();
  };
  if (options.improved) options.improved(best);
  const CompiledPeriod given(problem);
  for (int g = 0; g < problem.num_groups(); ++g) {
    tell(LeastCost(given, g, [](int) { return true; }), "group");
  }
  if (options.seconds <= 0 || reached()) return best;

  const Nanos known = std::min(options.known, MostPeriod(given));
  const std::vector<int> class_of = ClassesOfEqualCosts(given);
  const LeastPayments payments = FindLeastPayments(given, class_of, known, [&] {
    options.interrupt.Check();
    return seconds() > kPaymentsShare * options.seconds;
  });
  std::optional<HighsProof> highs;  // if it is there
  bool of_classes = AreClassesOfUse(class_of);
  const auto start_highs = [&] {
    highs.emplace(given,
                  known,
                  payments,
                  of_classes ? std::span<const int>(class_of) : std::span<const int>());
  };
  if (WhyNoHighs().empty()) start_highs();
  const auto found = [&](const Placement& placement) {
    const Nanos period = options.found(placement);
    target = std::min(target, period);
    return period;
  };
  const auto listen = [&](int milliseconds) {
    if (!highs) return;
    highs->search.Poll(
        milliseconds,
        [&](double value) {
          tell(std::min(highs->programme.ToNanos(value), known), highs->method);
        },
        [&](std::span<const double> solution) {
          if (options.found && !of_classes) found(highs->programme.Round(solution));
        });
    const double end = std::max(kClassesSeconds, kClassesShare * options.seconds);
    if (of_classes && (highs->search.ended() || seconds() > end)) {
      of_classes = false;
      start_highs();
    }
  };
  const auto stop = [&](PeriodMethod method) {
    options.interrupt.Check();
    listen(0);
    return seconds() > kShare[size_t(method)] * options.seconds || reached();
  };
  PeriodProof proof{.least = std::max<Nanos>(1, best.value),
                    .known = known,
                    .payments = payments,
                    .stop = stop,
                    .told = [&](Nanos bound, PeriodMethod method) { tell(bound, NameOf(method)); },
                    .found = {}};
  if (options.found) proof.found = found;
  ProveByPeriodMethods(problem, proof);
  while (highs && !highs->search.ended() && !stop(PeriodMethod::kBranchAndBound)) {
    listen(kListenMilliseconds);
  }
  options.interrupt.Check();
  return best;
}

}  // namespace emplace

#include "framework/bounds/period_bound.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "framework/bounds/bounds.h"
#include "framework/bounds/highs.h"
#include "framework/bounds/period_methods.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"

namespace emplace {
namespace {

// Each PeriodMethod ends at this share of the time.
constexpr std::array<double, kNumPeriodMethods> kShare = {0.4, 0.5, 0.8, 1};
constexpr int kListenMilliseconds = 20;

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
  std::optional<PeriodProgramme> whole;  // for HiGHS, if it is there
  std::optional<HighsSearch> highs;
  if (WhyNoHighs().empty()) {
    whole.emplace(given, known);
    highs.emplace(whole->model, whole->columns, whole->Cutoff(known));
  }
  const auto listen = [&](int milliseconds) {
    if (!highs) return;
    highs->Poll(milliseconds,
                [&](double value) { tell(std::min(whole->ToNanos(value), known), "highs"); });
  };
  const auto stop = [&](PeriodMethod method) {
    options.interrupt.Check();
    listen(0);
    return seconds() > kShare[size_t(method)] * options.seconds || reached();
  };
  PeriodProof proof{.least = std::max<Nanos>(1, best.value),
                    .known = known,
                    .stop = stop,
                    .told = [&](Nanos bound, PeriodMethod method) { tell(bound, NameOf(method)); },
                    .found = {}};
  if (options.found) {
    proof.found = [&](const Placement& placement) {
      const Nanos period = options.found(placement);
      target = std::min(target, period);
      return period;
    };
  }
  ProveByPeriodMethods(problem, proof);
  while (highs && !highs->ended() && !stop(PeriodMethod::kBranchAndBound)) {
    listen(kListenMilliseconds);
  }
  options.interrupt.Check();
  return best;
}

}  // namespace emplace

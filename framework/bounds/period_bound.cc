#include "framework/bounds/period_bound.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "framework/bounds/bounds.h"
#include "framework/bounds/device_cuts.h"
#include "framework/bounds/device_sets.h"
#include "framework/bounds/highs.h"
#include "framework/bounds/mip.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"
#include "framework/bounds/spreading.h"

namespace emplace {
namespace {

// Each ends at this share of the time.
constexpr double kCutsShare = 0.4, kSpreadingShare = 0.5, kSetsShare = 0.8;
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
  double end = kCutsShare * options.seconds;
  const auto listen = [&](int milliseconds) {
    if (!highs) return;
    highs->Poll(milliseconds,
                [&](double value) { tell(std::min(whole->ToNanos(value), known), "highs"); });
  };
  const auto stop = [&] {
    listen(0);
    return options.interrupt.wanted() || seconds() > end || reached();
  };
  ProveByCuts(problem, std::max<Nanos>(1, best.value), known, stop, [&](Nanos value) {
    tell(value, "cuts");
  });
  options.interrupt.Check();
  if (reached()) return best;

  end = kSpreadingShare * options.seconds;
  const std::shared_ptr<const Problem> merged = MergeInseparable(problem, known, stop);
  options.interrupt.Check();
  const CompiledPeriod compiled(*merged);
  ProveSpreading(compiled, known, stop, [&](Nanos value) { return tell(value, "spreading"); });
  options.interrupt.Check();
  if (reached()) return best;

  end = kSetsShare * options.seconds;
  SetsProof sets{
      .stop = stop, .told = [&](Nanos value) { tell(value, "device_sets"); }, .found = {}};
  if (options.found) {
    sets.found = [&](std::span<const DeviceIndex> device) {
      const Nanos period = options.found(OfMergedGroups(device, *merged, problem));
      target = std::min(target, period);
      return period;
    };
  }
  ProveByDeviceSets(compiled, std::max<Nanos>(1, best.value), known, sets);
  options.interrupt.Check();
  if (reached()) return best;

  end = options.seconds;
  const PeriodProgramme programme(compiled, known);
  for (const std::vector<int>& choice : programme.columns) {
    if (choice.empty()) {  // no device can have it within a smaller period
      tell(known, "group");
      return best;
    }
  }
  const auto told = [&](double value) {
    tell(std::min(programme.ToNanos(value), known), "branch_and_bound");
  };
  told(BranchAndBound(
      programme.model,
      {.choices = programme.columns,
       .weight = programme.weight,
       .branches = [&](int group,
                       std::span<const int> decided) { return programme.Branches(group, decided); },
       .stop = stop,
       .cutoff = [&] { return programme.Cutoff(known); },
       .improved = told}));
  while (highs && !highs->ended() && !stop()) listen(kListenMilliseconds);
  options.interrupt.Check();
  return best;
}

}  // namespace emplace

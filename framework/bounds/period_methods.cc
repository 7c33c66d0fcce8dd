#include "framework/bounds/period_methods.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "framework/bounds/device_cuts.h"
#include "framework/bounds/device_sets.h"
#include "framework/bounds/mip.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/spreading.h"
#include "framework/search/compiled_period.h"

namespace emplace {

const char* NameOf(PeriodMethod method) {
  switch (method) {
    case PeriodMethod::kCuts:
      return "cuts";
    case PeriodMethod::kSpreading:
      return "spreading";
    case PeriodMethod::kDeviceSets:
      return "device_sets";
    case PeriodMethod::kBranchAndBound:
      return "branch_and_bound";
  }
  return "";
}

void ProveByPeriodMethods(const Problem& problem, const PeriodProof& proof) {
  PeriodMethod method = PeriodMethod::kCuts;
  Nanos least = proof.least, known = proof.known;
  const auto stop = [&] { return proof.stop(method); };
  const auto tell = [&](Nanos bound) {
    bound = std::min(bound, known);
    if (bound > least) proof.told(least = bound, method);
    return least >= known;
  };
  ProveByCuts(problem, least, known, stop, tell);
  if (least >= known) return;

  method = PeriodMethod::kSpreading;
  const std::shared_ptr<const Problem> merged = MergeInseparable(problem, known, stop);
  const CompiledPeriod compiled(*merged);
  ProveSpreading(compiled, known, stop, tell);
  if (least >= known) return;

  method = PeriodMethod::kDeviceSets;
  const auto found = [&](std::span<const DeviceIndex> device) {
    const Nanos period = proof.found(
        ContractPlacement(ExpandPlacement({{device.begin(), device.end()}}, merged->grouping()),
                          problem.grouping(),
                          problem.graph(),
                          problem.cluster()));
    known = std::min(known, std::max<Nanos>(1, period));
    return period;
  };
  SetsProof sets{.stop = stop, .told = tell, .found = {}};
  if (proof.found) sets.found = found;
  ProveByDeviceSets(compiled, least, known, sets);
  if (least >= known) return;

  method = PeriodMethod::kBranchAndBound;
  const PeriodProgramme programme(compiled, known, proof.payments);
  if (std::ranges::any_of(programme.columns, [](const auto& choice) { return choice.empty(); })) {
    tell(known);  // some group has no device that allows a smaller period
    return;
  }
  BranchOptions search{
      .choices = programme.columns,
      .weight = programme.weight,
      .branches = [&](int group,
                      std::span<const int> decided) { return programme.Branches(group, decided); },
      .stop = stop,
      .cutoff = [&] { return programme.Cutoff(known); },
      .found = {},
      .improved = [&](double value) { tell(programme.ToNanos(value)); }};
  std::vector<DeviceIndex> last;
  if (proof.found) {
    search.found = [&](std::span<const double> solution, bool) {
      Placement placement = programme.Round(solution);
      if (placement.device == last) return;
      found(placement.device);
      last = std::move(placement.device);
    };
  }
  tell(programme.ToNanos(BranchAndBound(programme.model, search)));
}

}  // namespace emplace

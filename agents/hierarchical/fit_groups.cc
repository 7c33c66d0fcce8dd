#include "agents/hierarchical/fit_groups.h"

#include <algorithm>

#include "framework/learn/categorical.h"

namespace emplace {
namespace {

int IndexOfMax(const std::vector<int>& values) {
  return static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin());
}

/// Returns the group to give to a device that has no group, or -1.
int GroupToGive(int device,
                const std::vector<std::vector<int>>& units,
                const std::vector<int>& device_of_group,
                const std::vector<int>& groups_of_device) {
  int best = -1;
  for (int group = 0; group < static_cast<int>(units.size()); ++group) {
    const int now = device_of_group[group];
    if (now < 0) return group;
    if (groups_of_device[now] < 2) continue;
    if (best < 0 || units[group][device] > units[best][device]) best = group;
  }
  return best;
}

}  // namespace

FittedGroups FitGroups(const Problem& problem, const Placement& placement, const Matrix& logits) {
  const int num_groups = static_cast<int>(logits.cols()), num_devices = problem.num_devices();
  FittedGroups fitted{ArgmaxRows(logits), std::vector<int>(num_groups, -1)};
  std::vector<std::vector<int>> units(num_groups, std::vector<int>(num_devices, 0));
  std::vector<int> units_of_device(num_devices, 0), groups_of_device(num_devices, 0);
  for (int unit = 0; unit < problem.num_groups(); ++unit) {
    ++units[fitted.group_of_unit[unit]][placement.device[unit]];
    ++units_of_device[placement.device[unit]];
  }
  for (int group = 0; group < num_groups; ++group) {
    const int device = IndexOfMax(units[group]);
    if (units[group][device] == 0) continue;
    fitted.device_of_group[group] = device;
    ++groups_of_device[device];
  }
  for (int device = 0; device < num_devices; ++device) {
    if (units_of_device[device] == 0 || groups_of_device[device] > 0) continue;
    const int group = GroupToGive(device, units, fitted.device_of_group, groups_of_device);
    if (group < 0) continue;
    if (fitted.device_of_group[group] >= 0) --groups_of_device[fitted.device_of_group[group]];
    fitted.device_of_group[group] = device;
    ++groups_of_device[device];
  }
  for (int unit = 0; unit < problem.num_groups(); ++unit) {
    const int device = placement.device[unit];
    int best = -1;
    for (int group = 0; group < num_groups; ++group) {
      if (fitted.device_of_group[group] != device) continue;
      if (best < 0 || logits(unit, group) > logits(unit, best)) best = group;
    }
    if (best >= 0) fitted.group_of_unit[unit] = best;
  }
  std::vector<bool> used(num_groups, false);
  for (int group : fitted.group_of_unit) used[group] = true;
  for (int group = 0; group < num_groups; ++group) {
    if (!used[group]) fitted.device_of_group[group] = -1;
  }
  return fitted;
}

}  // namespace emplace

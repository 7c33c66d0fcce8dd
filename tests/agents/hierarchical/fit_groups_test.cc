#include "agents/hierarchical/fit_groups.h"

#include <cmath>
#include <memory>
#include <set>

#include <doctest/doctest.h>

#include "agents/hierarchical/hierarchical_features.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

/// Units that may run on each of `num_gpus` devices.
std::shared_ptr<const Problem> FreeUnits(int num_units, int num_gpus) {
  ProblemBuilder builder = Gpus(num_gpus);
  for (int i = 0; i < num_units; ++i) {
    builder.Op("op" + std::to_string(i), std::vector<Nanos>(num_gpus, 10));
  }
  return builder.Build();
}

Matrix Logits(std::initializer_list<std::initializer_list<float>> rows) {
  Matrix logits(static_cast<int>(rows.size()), static_cast<int>(rows.begin()->size()));
  int r = 0;
  for (const auto& row : rows) {
    int c = 0;
    for (const float x : row) logits(r, c++) = x;
    ++r;
  }
  return logits;
}

TEST_CASE("groups get the device of most of their units; the others go where their device is") {
  // Most probable groups: 0 0 0 1. Group 0 gets device 1 (two of three), group 1 device 0.
  // Unit 0 has device 0, which is group 1's.
  const FittedGroups fitted = FitGroups(*FreeUnits(4, 2),
                                        Placement{{0, 1, 1, 0}},
                                        Logits({{3, 2, 1}, {3, 2, 1}, {3, 2, 1}, {0, 5, 1}}));
  CHECK(fitted.group_of_unit == std::vector<int>{1, 0, 0, 1});
  CHECK(fitted.device_of_group == std::vector<int>{1, 0, -1});
}

TEST_CASE("a device without a group gets an empty one, else one of a device that has two") {
  // Most probable groups: 0 0 0 1 2. Group 0 gets device 0, groups 1 and 2 device 0, too: device 1
  // takes the one with the most of its units, group 0.
  const Matrix logits = Logits({{3, 2, 1}, {3, 2, 1}, {3, 2, 1}, {0, 5, 1}, {0, 1, 5}});
  const auto problem = FreeUnits(5, 2);
  FittedGroups fitted = FitGroups(*problem, Placement{{0, 0, 1, 0, 0}}, logits);
  CHECK(fitted.group_of_unit == std::vector<int>{1, 1, 0, 1, 2});
  CHECK(fitted.device_of_group == std::vector<int>{1, 0, 0});
  // With a fourth group, empty, it takes that.
  Matrix wider = Matrix::Constant(5, 4, -9);
  wider.leftCols(3) = logits;
  fitted = FitGroups(*problem, Placement{{0, 0, 1, 0, 0}}, wider);
  CHECK(fitted.group_of_unit == std::vector<int>{0, 0, 3, 1, 2});
  CHECK(fitted.device_of_group == std::vector<int>{0, 0, 0, 1});
}

TEST_CASE("with fewer groups than devices units stay where the grouper wants them") {
  const FittedGroups fitted =
      FitGroups(*FreeUnits(3, 2), Placement{{1, 0, 1}}, Logits({{2}, {2}, {2}}));
  CHECK(fitted.group_of_unit == std::vector<int>{0, 0, 0});
  CHECK(fitted.device_of_group == std::vector<int>{1});
}

TEST_CASE("random placements are reproduced, only groups with units have devices") {
  Rng rng(5);
  for (int trial = 0; trial < 200; ++trial) {
    const int num_units = 1 + UniformInt(rng, 20), num_devices = 1 + UniformInt(rng, 5);
    const int num_groups = num_devices + UniformInt(rng, 4);
    const auto problem = FreeUnits(num_units, num_devices);
    Placement placement;
    for (int unit = 0; unit < num_units; ++unit) {
      placement.device.push_back(static_cast<DeviceIndex>(UniformInt(rng, num_devices)));
    }
    Matrix logits(num_units, num_groups);
    for (float& x : logits.reshaped()) x = static_cast<float>(Uniform01(rng));
    const FittedGroups fitted = FitGroups(*problem, placement, logits);
    CHECK(PlaceUnits(*problem, fitted.group_of_unit, fitted.device_of_group) == placement);
    const std::set<int> used(fitted.group_of_unit.begin(), fitted.group_of_unit.end());
    for (int group = 0; group < num_groups; ++group) {
      CHECK((fitted.device_of_group[group] >= 0) == used.contains(group));
    }
  }
}

}  // namespace

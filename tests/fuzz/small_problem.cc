#include "tests/fuzz/small_problem.h"

#include <fmt/format.h>

#include "tests/support/problems.h"

namespace emplace::fuzz {

const std::shared_ptr<const Problem>& SmallProblem() {
  static const std::shared_ptr<const Problem> kProblem = [] {
    testing::ProblemBuilder builder;
    builder.Device("cpu:0");
    builder.Device("gpu:0");
    builder.Device("gpu:1", 1 << 20);
    for (int device = 0; device < 3; ++device) {
      builder.kind(device).device_class = device == 0 ? DeviceClass::kCpu : DeviceClass::kGpu;
    }
    builder.AllToAll(1000, testing::kGigabytePerSecond);
    constexpr int kOps = 12;
    std::vector<int> groups;
    for (int op = 0; op < kOps; ++op) {
      std::vector<int> inputs;
      if (op > 0) inputs.push_back(op - 1);
      if (op > 3) inputs.push_back(op - 4);
      builder.Op(fmt::format("op{}", op), {9000, 2000 + 100 * op, 3000}, inputs, 1000 * (op + 1));
      groups.push_back(op / 2);
    }
    return builder.Build(Grouping(groups));
  }();
  return kProblem;
}

const std::shared_ptr<const Problem>& SmallPeriodProblem() {
  static const std::shared_ptr<const Problem> kProblem =
      testing::WithObjective(*SmallProblem(), Objective::kPeriod);
  return kProblem;
}

}  // namespace emplace::fuzz

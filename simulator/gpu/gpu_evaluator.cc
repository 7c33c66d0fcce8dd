// MakeGpuEvaluator(): simulates batches on a GPU, and all other requests on the processor.

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/engine/compiled_problem.h"
#include "simulator/engine/engine.h"
#include "simulator/gpu/gpu_program.h"
#include "simulator/gpu/gpu_runner.h"
#include "simulator/gpu/gpu_simulator.h"
#include "simulator/lanes/lane_program.h"
#include "simulator/semantics.h"

namespace emplace {
namespace {

GpuTables MakeTables(const Problem& problem, const SimulatorOptions& options) {
  const CompiledProblem compiled(problem,
                                 OpOrder(problem.graph(), options.issue_order, options.semantics));
  const LaneProgram lanes(compiled,
                          {options.count_gaps, options.memory, options.channel_contention});
  if (compiled.has_cold) {
    throw InputError(
        "a GPU does not simulate cold reads (`cold_read` of a device kind); simulate without a "
        "GPU");
  }
  if (!lanes.possible) {
    throw InputError(
        "an op or transfer takes too long for a GPU, which counts nanoseconds in 32 bits; simulate "
        "without a GPU");
  }
  std::vector<std::uint64_t> allowed;
  for (int group = 0; group < problem.num_groups(); ++group) {
    allowed.push_back(problem.allowed_devices(group));
  }
  return {lanes, allowed, compiled.memory};
}

class GpuEvaluator final : public Evaluator {
 public:
  GpuEvaluator(std::shared_ptr<const Problem> problem,
               const SimulatorOptions& options,
               std::unique_ptr<GpuDevice> device)
      : problem_(problem),
        on_cpu_(MakeSimulator(std::move(problem), options)),
        runner_(std::move(device), MakeTables(*problem_, options)) {}

  const Problem& problem() const override { return *problem_; }

  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    const size_t n = placements.size(), num_devices = problem_->num_devices();
    EMPLACE_CHECK(n == outcomes.size());
    const bool right_size = std::all_of(placements.begin(), placements.end(), [&](const auto& p) {
      return static_cast<int>(p.device.size()) == problem_->num_groups();
    });
    if (detail.channels || detail.op_times || !right_size) {
      return on_cpu_->Evaluate(placements, outcomes, detail);
    }
    rows_.clear();
    for (const Placement& placement : placements) {
      rows_.insert(rows_.end(), placement.device.begin(), placement.device.end());
    }
    step_time_.resize(n);
    peak_.resize(n * num_devices);
    busy_.resize(n * num_devices);
    EvaluateRows({rows_.data(), n, static_cast<size_t>(problem_->num_groups())},
                 {.step_time = step_time_, .peak = peak_, .busy = busy_});
    for (size_t i = 0; i < n; ++i) {
      Outcome& outcome = outcomes[i];
      outcome.step_time = step_time_[i];
      outcome.feasible = true;
      outcome.devices.resize(num_devices);
      outcome.channels.clear();
      outcome.start.clear();
      outcome.finish.clear();
      for (size_t d = 0; d < num_devices; ++d) {
        const std::int64_t peak = peak_[i * num_devices + d];
        const std::int64_t deficit = std::max<std::int64_t>(
            0, peak - problem_->cluster().device(static_cast<int>(d)).memory);
        outcome.devices[d] = {busy_[i * num_devices + d], peak, deficit};
        outcome.feasible &= deficit == 0;
      }
    }
  }

  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    if (static_cast<int>(placements.num_groups) != problem_->num_groups()) {
      return on_cpu_->EvaluateRows(placements, outcomes);  // throws
    }
    const auto columns = WithStepTime(outcomes, placements.num_placements);
    runner_.Run(placements, columns);
    FinishOnCpu(columns, [&](size_t i) {
      return Placement{{placements.row(i), placements.row(i) + placements.num_groups}};
    });
  }

  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    const int num_groups = problem_->num_groups();
    if (static_cast<int>(neighbors.base.device.size()) != num_groups) {
      on_cpu_->Evaluate(neighbors.base);  // throws
    }
    for (const Move& move : neighbors.moves) {
      if (move.group >= 0 && move.group < num_groups) continue;
      throw InputError(fmt::format(
          "move: group {} does not exist; the problem has {} groups", move.group, num_groups));
    }
    const auto columns = WithStepTime(outcomes, neighbors.size());
    runner_.Run(neighbors, columns);
    FinishOnCpu(columns, [&](size_t i) {
      Placement placement = neighbors.base;
      for (const Move& move : neighbors.of(i)) placement.device[move.group] = move.device;
      return placement;
    });
  }

 private:
  OutcomeColumns WithStepTime(OutcomeColumns columns, size_t n) {
    if (columns.step_time.empty()) {
      own_step_time_.resize(n);
      columns.step_time = own_step_time_;
    }
    return columns;
  }

  // Evaluates the placements that the GPU has left to the CPU.
  template <class PlacementAt>
  void FinishOnCpu(const OutcomeColumns& columns, const PlacementAt& placement_at) {
    std::vector<size_t> left;
    std::vector<Placement> placements;
    for (size_t i = 0; i < columns.step_time.size(); ++i) {
      if (columns.step_time[i] != kLeftToCpu) continue;
      left.push_back(i);
      placements.push_back(placement_at(i));
    }
    if (left.empty()) return;
    const std::vector<Outcome> outcomes = on_cpu_->Evaluate(placements);
    for (size_t i = 0; i < left.size(); ++i) WriteColumns({&outcomes[i], 1}, columns, left[i]);
  }

  const std::shared_ptr<const Problem> problem_;
  const std::unique_ptr<Evaluator> on_cpu_;
  GpuRunner runner_;
  // Buffers of the current call.
  std::vector<DeviceIndex> rows_;
  std::vector<Nanos> step_time_, busy_, own_step_time_;
  std::vector<std::int64_t> peak_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeGpuEvaluator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            std::unique_ptr<GpuDevice> device) {
  const std::string reason = WhyNotOnGpu(options.semantics, problem->objective());
  if (!reason.empty()) throw InputError(reason);
  return std::make_unique<GpuEvaluator>(std::move(problem), options, std::move(device));
}

}  // namespace emplace

#include "simulator/simulator.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/schedule/transfer_plan.h"
#include "simulator/engine.h"
#include "simulator/period.h"

namespace emplace {
namespace {

bool HasAllRoutes(const Cluster& cluster) {
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from != to && cluster.route(from, to).empty()) return false;
    }
  }
  return true;
}

void CheckHops(const Cluster& cluster, const SemanticsEntry& semantics) {
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const size_t hops = from != to ? cluster.route(from, to).size() : 0;
      if (hops <= static_cast<size_t>(semantics.most_hops)) continue;
      throw InputError(fmt::format(
          "cluster \"{}\": the route from \"{}\" to \"{}\" has {} hops; {} semantics allows at "
          "most {}",
          cluster.name(),
          cluster.device(from).name,
          cluster.device(to).name,
          hops,
          semantics.name,
          semantics.most_hops));
    }
  }
}

class Simulator final : public Evaluator {
 public:
  Simulator(std::shared_ptr<const Problem> problem, const SimulatorOptions& options)
      : problem_(std::move(problem)),
        compiled_(*problem_, EntryOf(options.semantics).op_order(problem_->graph())),
        all_routes_(HasAllRoutes(problem_->cluster())) {
    EMPLACE_CHECK(options.threads >= 1);
    const SemanticsEntry& semantics = EntryOf(options.semantics);
    if (problem_->objective() == Objective::kStepTime) CheckHops(problem_->cluster(), semantics);
    const EngineOptions engine_options{
        options.count_gaps, options.memory, options.channel_contention};
    for (int i = 0; i < options.threads; ++i) {
      workers_.push_back({semantics.make_engine(compiled_, engine_options),
                          std::vector<std::uint8_t>(compiled_.num_ops)});
    }
  }

  const Problem& problem() const override { return *problem_; }

  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    EMPLACE_CHECK(placements.size() == outcomes.size());
    for (const Placement& placement : placements) Validate(placement);
    const int chunks = static_cast<int>(std::min(workers_.size(), placements.size()));
    const auto run_chunk = [&](int chunk) {
      const size_t begin = placements.size() * chunk / chunks;
      const size_t end = placements.size() * (chunk + 1) / chunks;
      for (size_t i = begin; i < end; ++i) {
        RunOne(workers_[chunk], placements[i], detail, outcomes[i]);
      }
    };
    if (chunks <= 1) {
      if (chunks == 1) run_chunk(0);
    } else {
      ParallelFor(chunks, chunks, run_chunk);
    }
  }

 private:
  struct Worker {
    std::unique_ptr<Engine> engine;
    std::vector<std::uint8_t> device;  // [num_ops] by position
  };

  void RunOne(Worker& worker,
              const Placement& placement,
              const OutcomeDetail& detail,
              Outcome& outcome) const {
    if (problem_->objective() == Objective::kPeriod) {
      EvaluatePeriod(*problem_, ExpandPlacement(placement, problem_->grouping()), detail, outcome);
      return;
    }
    for (int position = 0; position < compiled_.num_ops; ++position) {
      worker.device[position] = placement.device[compiled_.group_at[position]];
    }
    worker.engine->Run(worker.device.data(), detail, outcome);
  }

  void Validate(const Placement& placement) const {
    if (static_cast<int>(placement.device.size()) != problem_->num_groups()) {
      throw InputError(fmt::format("placement: has {} groups; the problem has {}",
                                   placement.device.size(),
                                   problem_->num_groups()));
    }
    for (int group = 0; group < problem_->num_groups(); ++group) {
      const int d = placement.device[group];
      if (d < problem_->num_devices() && problem_->allowed(group, d)) continue;
      const Op& op = problem_->graph().op(problem_->grouping().members(group)[0]);
      throw InputError(
          fmt::format("placement: group {} (op \"{}\", {}) may not run on device {}",
                      group,
                      op.name,
                      op.kind,
                      d < problem_->num_devices()
                          ? "\"" + problem_->cluster().device(d).name + "\""
                          : fmt::format("{}: there are {}", d, problem_->num_devices())));
    }
    if (all_routes_) return;
    const auto device_of_op = ExpandPlacement(placement, problem_->grouping());
    for (int v = 0; v < problem_->num_ops(); ++v) {
      CopiesOf(
          problem_->graph(), problem_->cluster(), device_of_op, v);  // throws on a missing route
    }
  }

  const std::shared_ptr<const Problem> problem_;
  const CompiledProblem compiled_;
  const bool all_routes_;
  std::vector<Worker> workers_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeSimulator(std::shared_ptr<const Problem> problem,
                                         const SimulatorOptions& options) {
  return std::make_unique<Simulator>(std::move(problem), options);
}

}  // namespace emplace

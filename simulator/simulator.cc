#include "simulator/simulator.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/placement_check.h"
#include "simulator/lanes/lane_buffers.h"
#include "simulator/lanes/lane_kernel.h"
#include "simulator/lanes/lane_moves.h"
#include "simulator/lanes/lane_program.h"
#include "simulator/period/period.h"

namespace emplace {
namespace {

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

// Least number of neighbours of a new base for which lanes are faster: a pass over the base and one
// over the neighbours then take less time than single simulations.
constexpr size_t kFewestInLanes = 8;

// A view of placements by row, in either storage.
class Rows {
 public:
  explicit Rows(std::span<const Placement> placements) : placements_(placements) {}
  explicit Rows(const PlacementRows& rows) : rows_(rows) {}
  size_t size() const { return placements_.empty() ? rows_.num_placements : placements_.size(); }
  const DeviceIndex* operator[](size_t i) const {
    return placements_.empty() ? rows_.row(i) : placements_[i].device.data();
  }

 private:
  std::span<const Placement> placements_;
  PlacementRows rows_;
};

// The destination of outcomes: whole outcomes, or columns.
struct Results {
  std::span<Outcome> outcomes;
  OutcomeColumns columns;
  OutcomeDetail detail;

  bool busy_wanted() const { return !outcomes.empty() || !columns.busy.empty(); }
  RunDetail run_detail() const {
    return {detail,
            !outcomes.empty() || !columns.peak.empty(),
            !outcomes.empty() || !columns.deficit.empty()};
  }
};

class Simulator final : public Evaluator {
 public:
  Simulator(std::shared_ptr<const Problem> problem, const SimulatorOptions& options)
      : problem_(std::move(problem)),
        options_(options),
        compiled_(*problem_, OpOrder(problem_->graph(), options.issue_order, options.semantics)),
        engine_options_{options.count_gaps, options.memory, options.channel_contention},
        check_(*problem_) {
    EMPLACE_CHECK(options.threads >= 1);
    const SemanticsEntry& semantics = EntryOf(options.semantics);
    CheckHops(problem_->cluster(), semantics);
    if (semantics.in_lanes) kernel_ = FindLaneKernel(options.most_lanes);
    MakeWorkers();
  }

  const Problem& problem() const override { return *problem_; }

  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    EMPLACE_CHECK(placements.size() == outcomes.size());
    for (const Placement& placement : placements) check_.Size(placement.device.size());
    EvaluateAll(Rows(placements), {.outcomes = outcomes, .detail = detail});
  }

  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    check_.Size(placements.num_groups);
    EvaluateAll(Rows(placements), {.columns = outcomes});
  }

  bool SetIssueOrder(std::span<const int> order) override {
    if (!options_.order_may_change || !EntryOf(options_.semantics).has_issue_order) return false;
    if (order.empty()) order = options_.issue_order;
    const std::vector<int> op_order = OpOrder(problem_->graph(), order, options_.semantics);
    if (op_order == compiled_.op_at) return true;
    workers_.clear();
    concurrent_.clear();
    lane_program_.reset();
    compiled_ = CompiledProblem(*problem_, op_order);
    MakeWorkers();
    return true;
  }

  std::vector<Evaluator*> ConcurrentEvaluators(int count) override {
    std::vector<Evaluator*> evaluators;
    for (int i = 0; i < std::min(count, options_.threads); ++i) {
      if (i == std::ssize(concurrent_)) {
        SimulatorOptions options = options_;
        options.threads = 1;
        if (EntryOf(options_.semantics).has_issue_order) options.issue_order = compiled_.op_at;
        concurrent_.push_back(std::make_unique<Simulator>(problem_, options));
      }
      evaluators.push_back(concurrent_[i].get());
    }
    return evaluators;
  }

  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    check_.Base(neighbors);
    if (neighbors.size() == 0) return;
    const Results results{.columns = outcomes};
    if (neighbors.size() >= kFewestInLanes && check_.all_routes() && HasLanes()) {
      EvaluateNeighborsInLanes(neighbors, results);
    } else {
      ForParts(neighbors.size(), [&](int part, int parts) {
        Worker& worker = workers_[part];
        const bool from_base =
            check_.all_routes() &&
            worker.engine->SetBase(neighbors.base.device, neighbors.size() / parts);
        for (size_t i = part; i < neighbors.size(); i += parts) {
          if (from_base) {
            worker.engine->RunNeighbor(neighbors.of(i), results.run_detail(), worker.outcome);
            WriteColumns({&worker.outcome, 1}, outcomes, i);
          } else {
            RunNeighbor(worker, neighbors, i, results);
          }
        }
      });
    }
  }

 private:
  struct Worker {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<LaneBuffers> lanes;   // if there are lanes
    std::unique_ptr<LaneMoves> moves;     // made when neighbours are first evaluated
    std::vector<std::uint8_t> device;     // [num_ops] by position
    std::vector<std::uint8_t> placement;  // [num_groups]
    Outcome outcome;
  };

  void MakeWorkers() {
    for (int i = 0; i < options_.threads; ++i) {
      workers_.push_back(
          {.engine = EntryOf(options_.semantics).make_engine(compiled_, engine_options_),
           .device = std::vector<std::uint8_t>(compiled_.num_ops)});
    }
  }

  // Compiles the problem for lanes at their first use; single placements do not use lanes.
  bool HasLanes() {
    if (kernel_ == nullptr) return false;
    if (lane_program_ == nullptr) {
      lane_program_ = std::make_unique<LaneProgram>(compiled_, engine_options_);
      allowed_.clear();
      for (int group = 0; group < problem_->num_groups(); ++group) {
        allowed_.push_back(problem_->allowed_devices(group));
      }
      for (Worker& worker : workers_) {
        if (!lane_program_->possible) continue;
        worker.lanes = std::make_unique<LaneBuffers>(*lane_program_, *kernel_);
      }
    }
    return lane_program_->possible;
  }

  // A block has as many placements as there are lanes; each worker takes a run of blocks.
  void EvaluateAll(const Rows& rows, const Results& results) {
    const bool in_lanes =
        rows.size() > 1 && !results.detail.channels && !results.detail.op_times && HasLanes();
    if (!in_lanes || !check_.all_routes()) {
      for (size_t i = 0; i < rows.size(); ++i) check_(rows[i]);
    }
    const size_t block = in_lanes ? kernel_->lanes : 1;
    const size_t blocks = (rows.size() + block - 1) / block;
    ForParts(blocks, [&](int part, int parts) {
      const size_t begin = blocks * part / parts * block;
      const size_t end = std::min(rows.size(), blocks * (part + 1) / parts * block);
      for (size_t i = begin; i < end; i += block) {
        if (in_lanes) {
          RunInLanes(workers_[part], rows, i, std::min(block, end - i), results);
        } else {
          RunOne(workers_[part], rows[i], i, results);
        }
      }
    });
  }

  // Calls run(part, parts) for each part, with its own worker and thread.
  template <class Run>
  void ForParts(size_t most, const Run& run) const {
    const int parts = static_cast<int>(std::min(workers_.size(), most));
    if (parts == 1) {
      run(0, 1);
    } else if (parts > 1) {
      ParallelFor(parts, parts, [&](int part) { run(part, parts); });
    }
  }

  void EvaluateNeighborsInLanes(const Neighbors& neighbors, const Results& results) {
    SetBase(workers_[0], neighbors.base, results);
    SortBySnapshot(neighbors);
    const size_t block = workers_[0].moves->lanes();
    ForParts((neighbors.size() + block - 1) / block, [&](int part, int parts) {
      Worker& worker = workers_[part];
      SetBase(worker, neighbors.base, results);
      // Blocks are interleaved among the parts, since later ones take less time.
      for (size_t i = part * block; i < neighbors.size(); i += parts * block) {
        const size_t count = std::min(block, neighbors.size() - i);
        RunNeighborsInLanes(worker, neighbors, {sorted_.data() + i, count}, results);
      }
    });
  }

  void RunInLanes(Worker& worker,
                  const Rows& rows,
                  size_t first,
                  size_t count,
                  const Results& results) const {
    if (count == 1) {  // the engine is faster for a single placement
      check_(rows[first]);
      RunOne(worker, rows[first], first, results);
      return;
    }
    std::array<const DeviceIndex*, kMostLanes> in_lane;
    for (size_t lane = 0; lane < count; ++lane) in_lane[lane] = rows[first + lane];
    if (!worker.lanes->Run({in_lane.data(), count}, allowed_, results.busy_wanted())) {
      for (size_t i = 0; i < rows.size(); ++i) check_(rows[i]);  // throws for the first wrong one
    }
    for (size_t lane = 0; lane < count; ++lane) {
      if (worker.lanes->done(static_cast<int>(lane))) {
        Write(*worker.lanes, static_cast<int>(lane), first + lane, results);
      } else {
        RunOne(worker, rows[first + lane], first + lane, results);
      }
    }
  }

  void SetBase(Worker& worker, const Placement& base, const Results& results) const {
    if (worker.moves == nullptr) {
      worker.moves = std::make_unique<LaneMoves>(*lane_program_, *kernel_);
    }
    worker.moves->SetBase(base.device, results.busy_wanted());
  }

  // Sorts neighbours by their snapshots, so that those of a block have nearly the same one.
  void SortBySnapshot(const Neighbors& neighbors) {
    const LaneMoves& lanes = *workers_[0].moves;
    snapshot_of_.resize(neighbors.size());
    sorted_.resize(neighbors.size());
    begin_.assign(lanes.num_snapshots() + 1, 0);
    for (size_t i = 0; i < neighbors.size(); ++i) {
      snapshot_of_[i] = lanes.SnapshotFor(neighbors.of(i));
      ++begin_[snapshot_of_[i] + 1];
    }
    for (size_t s = 1; s < begin_.size(); ++s) begin_[s] += begin_[s - 1];
    for (size_t i = 0; i < neighbors.size(); ++i) {
      sorted_[begin_[snapshot_of_[i]]++] = static_cast<int>(i);
    }
  }

  void RunNeighborsInLanes(Worker& worker,
                           const Neighbors& neighbors,
                           std::span<const int> which,
                           const Results& results) const {
    worker.moves->Run(neighbors, which, snapshot_of_[which[0]]);
    for (size_t lane = 0; lane < which.size(); ++lane) {
      const auto i = static_cast<size_t>(which[lane]);
      if (worker.moves->results().done(static_cast<int>(lane))) {
        Write(worker.moves->results(), static_cast<int>(lane), i, results);
      } else {
        RunNeighbor(worker, neighbors, i, results);
      }
    }
  }

  void RunNeighbor(Worker& worker,
                   const Neighbors& neighbors,
                   size_t i,
                   const Results& results) const {
    neighbors.Apply(i, worker.placement);
    if (!check_.all_routes()) check_(worker.placement.data());
    RunOne(worker, worker.placement.data(), i, results);
  }

  void RunOne(Worker& worker, const DeviceIndex* device, size_t i, const Results& results) const {
    Outcome& outcome = results.outcomes.empty() ? worker.outcome : results.outcomes[i];
    for (int position = 0; position < compiled_.num_ops; ++position) {
      worker.device[position] = device[compiled_.group_at[position]];
    }
    worker.engine->Run(worker.device.data(), results.run_detail(), outcome);
    if (results.outcomes.empty()) WriteColumns({&outcome, 1}, results.columns, i);
  }

  // Writes the results of a lane, as FinishOutcome() does.
  void Write(const LaneBuffers& lanes, int lane, size_t i, const Results& results) const {
    const int num_devices = compiled_.num_devices;
    std::int64_t missing = 0;
    const auto deficit = [&](int d) {
      return std::max<std::int64_t>(0, lanes.peak(lane, d) - compiled_.memory[d]);
    };
    for (int d = 0; d < num_devices; ++d) missing += deficit(d);
    if (!results.outcomes.empty()) {
      Outcome& outcome = results.outcomes[i];
      PrepareOutcome(compiled_, results.detail, outcome);
      outcome.step_time = lanes.step_time(lane);
      outcome.feasible = missing == 0;
      for (int d = 0; d < num_devices; ++d) {
        outcome.devices[d] = {lanes.busy(lane, d), lanes.peak(lane, d), deficit(d)};
      }
      return;
    }
    const OutcomeColumns& columns = results.columns;
    if (!columns.step_time.empty()) columns.step_time[i] = lanes.step_time(lane);
    if (!columns.deficit.empty()) columns.deficit[i] = missing;
    for (int d = 0; d < num_devices; ++d) {
      if (!columns.peak.empty()) columns.peak[i * num_devices + d] = lanes.peak(lane, d);
      if (!columns.busy.empty()) columns.busy[i * num_devices + d] = lanes.busy(lane, d);
    }
  }

  const std::shared_ptr<const Problem> problem_;
  const SimulatorOptions options_;
  CompiledProblem compiled_;  // in the current issue order
  const EngineOptions engine_options_;
  PlacementCheck check_;
  std::unique_ptr<const LaneProgram> lane_program_;
  std::vector<std::uint64_t> allowed_;  // [num_groups] masks of devices, for the lanes
  const LaneKernel* kernel_ = nullptr;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<Evaluator>> concurrent_;  // of one thread each
  // Of the current neighbours: [num_neighbors] their snapshots, and their indices in that order.
  std::vector<int> snapshot_of_, sorted_, begin_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeSimulator(std::shared_ptr<const Problem> problem,
                                         const SimulatorOptions& options) {
  if (problem->objective() == Objective::kPeriod) {
    return MakePeriodEvaluator(std::move(problem), options.threads);
  }
  return std::make_unique<Simulator>(std::move(problem), options);
}

}  // namespace emplace

#pragma once

// The records of a search in a results file (framework/results/FORMAT.md, `/agents/<label>`).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/cost/costs.h"
#include "framework/graph/graph.h"
#include "framework/results/record.h"
#include "framework/search/evaluator.h"
#include "framework/search/meter.h"

namespace emplace {

/// The outcome of the best placement. Times in [ns], sizes in [B].
struct OutcomeRecord {
  Nanos step_time = 0;
  bool feasible = false;
  std::int64_t evaluation = 0;
  CostSourceShares shares{};
  std::vector<std::int64_t> busy, peak, deficit;  ///< [devices]

  OutcomeRecord() = default;
  OutcomeRecord(const MeteredEvaluator::Best& best, const CostSourceShares& shares);
  /// Returns the outcome with step time, feasibility and devices.
  /// @param where  file and group, for messages
  /// @throws InputError if the number of devices is not `num_devices`
  Outcome ToOutcome(int num_devices, const std::string& where) const;
  void Visit(RecordVisitor& v);
};

/// A search without its lists: the fields that tables and reports show.
struct SearchRecord {
  std::string algorithm;  ///< registered name of the agent
  std::string agent;      ///< its label in the config
  std::string settings;   ///< all settings, YAML
  bool uses_seed = false;
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0, steps = 0;
  double seconds = 0;           ///< [s]
  double hardware_seconds = 0;  ///< [s]
  int steps_per_measurement = 0;
  std::string status, error;
  std::optional<Nanos> own_bound;     ///< [ns]
  std::optional<OutcomeRecord> best;  ///< none: nothing was evaluated

  void Visit(RecordVisitor& v);
};

/// The best placement.
struct PlacementRecord {
  std::vector<std::int64_t> placement;
  std::optional<std::vector<std::int64_t>> issue_order;

  /// Returns the devices of all ops. @param where  file and group, for messages
  /// @throws InputError if their number is not `num_ops`, or a device is not below `num_devices`
  std::vector<DeviceIndex> Devices(int num_ops, int num_devices, const std::string& where) const;
  /// Returns the issue order; empty if there is none.
  /// @throws InputError if it is not an order of the graph's ops
  std::vector<int> IssueOrder(const Graph& graph, const std::string& where) const;
  void Visit(RecordVisitor& v);
};

/// A row of the table `evaluations`.
struct EvaluationRow {
  std::int64_t index = 0;
  EvaluationRecord record;

  void Visit(RecordVisitor& v);
};

// The lists of a search are in the same group as its SearchRecord.

struct EvaluationsRecord {
  std::vector<EvaluationRow> evaluations;

  void Visit(RecordVisitor& v);
};

/// The updates of a search or of a training.
struct UpdatesRecord {
  UpdateTable updates;

  void Visit(RecordVisitor& v);
};

/// All lists of a search.
struct SearchLists : EvaluationsRecord, UpdatesRecord {
  std::optional<PlacementRecord> best;
  LongText checkpoint;

  void Visit(RecordVisitor& v);
};

/// Returns the ids of a dataset as an order. @param where  file and dataset, for messages
/// @throws InputError if it is not an order of the graph's ops
std::vector<int> AsIssueOrder(const std::vector<std::int64_t>& ops,
                              const Graph& graph,
                              const std::string& where);

/// Visits the shares of a placement's op time by the source of the costs, as
/// `cost_source_measured`, ...
void VisitShares(RecordVisitor& v, CostSourceShares& shares);

}  // namespace emplace

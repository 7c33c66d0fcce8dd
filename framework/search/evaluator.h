#pragma once

// Evaluators map placements to outcomes, by which a search compares them. The interface hides from
// the agent whether placements are simulated (simulator/) or executed on devices
// (profilers/executor/).

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

/// The use of a device by one step.
struct DeviceOutcome {
  Nanos busy = 0;            ///< costs of its ops and wire times of transfers that occupy it [ns]
  std::int64_t peak = 0;     ///< peak memory [B]
  std::int64_t deficit = 0;  ///< bytes missing: max(0, peak - memory) [B]
};

/// The use of a channel by one step.
struct ChannelOutcome {
  Nanos busy = 0;              ///< sum of wire times [ns], without latency and gaps
  std::int64_t transfers = 0;  ///< hops over it; a hop that serves several devices counts once
  std::int64_t bytes = 0;      ///< [B]
};

/// The result of evaluating a placement. A placement that does not fit into memory is not an error:
/// its outcome is infeasible and gives the missing bytes per device.
struct Outcome {
  Nanos step_time = 0;                   ///< the problem's objective [ns]
  bool feasible = true;                  ///< no device has a deficit
  std::vector<DeviceOutcome> devices;    ///< [num_devices]
  std::vector<ChannelOutcome> channels;  ///< [num_channels], if requested
  std::vector<Nanos> start, finish;      ///< [num_ops], if requested [ns]

  /// Sum of deficits over the devices [B].
  std::int64_t deficit() const;
  /// Strict order for searches: feasible before infeasible, then less deficit, then less time.
  friend bool Better(const Outcome& a, const Outcome& b);
};

/// The part of an outcome by which searches compare placements. Less is better, as by Better().
struct Score {
  std::int64_t deficit = 0;  ///< sum over the devices [B]
  Nanos step_time = 0;       ///< [ns]

  bool feasible() const { return deficit == 0; }
  friend auto operator<=>(const Score&, const Score&) = default;
};
Score ScoreOf(const Outcome& outcome);
/// Returns the index of the best score, the first of equals. @pre at least one
std::size_t IndexOfBest(std::span<const Score> scores);

/// Parts of an outcome beyond time and memory that are computed on request.
struct OutcomeDetail {
  bool channels = false;  ///< fill Outcome::channels
  bool op_times = false;  ///< fill Outcome::start and finish
};

/// Placements as rows of bytes, without a vector per placement.
struct PlacementRows {
  const DeviceIndex* device = nullptr;  ///< [num_placements, num_groups]
  std::size_t num_placements = 0, num_groups = 0;

  const DeviceIndex* row(std::size_t i) const { return device + i * num_groups; }
};

/// Outcomes of n placements as columns. A column of size 0 is not computed and costs nothing.
struct OutcomeColumns {
  std::span<Nanos> step_time;       ///< [n] as Outcome::step_time [ns]
  std::span<std::int64_t> deficit;  ///< [n] sum over the devices; 0: feasible [B]
  std::span<std::int64_t> peak;     ///< [n, num_devices] peak memory [B]
  std::span<Nanos> busy;            ///< [n, num_devices] as DeviceOutcome::busy [ns]
};

/// Returns the columns of `count` of the outcomes, starting at outcome `first`.
OutcomeColumns PartOfColumns(const OutcomeColumns& columns,
                             std::size_t first,
                             std::size_t count,
                             std::size_t num_devices);

/// Writes outcomes as rows first, first + 1, ... of columns.
void WriteColumns(std::span<const Outcome> from, const OutcomeColumns& to, std::size_t first = 0);

/// The assignment of a group to another device.
struct Move {
  int group = 0;
  DeviceIndex device = 0;
};

/// Neighbours of a placement: the i-th is `base` after the moves begin[i] .. begin[i + 1] - 1.
struct Neighbors {
  const Placement& base;
  std::span<const int> begin;   ///< [n + 1] into `moves`, ascending
  std::span<const Move> moves;  ///< if a neighbour moves a group twice, the later move counts

  std::size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::span<const Move> of(std::size_t i) const {
    return moves.subspan(begin[i], begin[i + 1] - begin[i]);
  }
  /// Writes the devices of neighbour `i`, [num_groups], into `device`, reusing its memory.
  void Apply(std::size_t i, std::vector<DeviceIndex>& device) const {
    device = base.device;
    for (const Move& move : of(i)) device[move.group] = move.device;
  }
};

class Evaluator;

/// A search that runs concurrently with others and shares no state with them.
struct ConcurrentSearch {
  std::function<void(Evaluator&)> run;
  /// Write and read all state that `run` changes. An evaluator that runs some of the searches in
  /// another process uses them to copy that state here. Set both or neither; without them all
  /// searches run in this process.
  std::function<void(std::ostream&)> save = {};
  std::function<void(std::istream&)> load = {};
};

/// The processes that evaluate together. Each makes the whole search (distributed_evaluator.h).
struct EvaluatorRanks {
  int rank = 0;  ///< of this process. Rank 0 decides when the time is over
  int size = 1;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Problem& problem() const = 0;

  /// Fills outcomes[i] for placements[i], reusing the outcomes' memory. A result does not depend on
  /// the order or the size of the batch.
  /// @throws InputError for a placement of the wrong size or on a forbidden device
  virtual void Evaluate(std::span<const Placement> placements,
                        std::span<Outcome> outcomes,
                        const OutcomeDetail& detail = {}) = 0;

  /// Evaluates rows into columns, as Evaluate() does.
  virtual void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes);

  /// Evaluates the neighbours of a placement. Work that they share with the base may be computed
  /// once and kept until the next call, so large batches or many calls with one base are faster.
  virtual void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes);

  /// Sets the order in which ops are issued in all later evaluations. Takes as long as making the
  /// evaluator, so call it rarely.
  /// @param order  [num_ops] op ids, each after all ops that it awaits; empty: the order with which
  ///   the evaluator was made
  /// @return false, and changes nothing, if outcomes do not depend on an order
  /// @throws InputError as RequireOpOrder() does (framework/graph/op_order.h)
  virtual bool SetIssueOrder(std::span<const int> order);

  /// Returns evaluators for use by several threads, of the same problem and with the same outcomes.
  /// Each may be used by one thread at a time, and none while this evaluator is used. They live as
  /// long as this one, and their evaluations do not count for remaining(). SetIssueOrder()
  /// invalidates them.
  /// @param count  number wanted
  /// @return [1 .. count]; this evaluator alone if there is no other
  virtual std::vector<Evaluator*> ConcurrentEvaluators(int count);

  /// Runs each of some searches once, each with its own evaluator of this problem, and as many at a
  /// time as ConcurrentEvaluators() has evaluators. The result does not depend on the number of
  /// threads or ranks.
  /// @throws the exception of the first search in order that throws
  virtual void RunConcurrently(std::span<const ConcurrentSearch> searches);

  /// Returns the ranks. If there are several, they share the evaluations, and callers must make the
  /// same batches on each rank, independent of clocks and threads.
  virtual EvaluatorRanks ranks() const { return {}; }

  /// Returns the number of evaluations that the budget allows. BudgetExhausted cuts off a batch
  /// beyond it.
  virtual std::int64_t remaining() const { return INT64_MAX; }

  /// Evaluates placements of the problem without the outcomes of each device, which an evaluator
  /// may do much faster.
  std::vector<Score> Scores(std::span<const Placement> placements);
  Score ScoreAt(const Placement& placement) { return Scores({&placement, 1}).front(); }
  /// Evaluates placements and returns new outcomes.
  std::vector<Outcome> Evaluate(std::span<const Placement> placements,
                                const OutcomeDetail& detail = {});
  Outcome Evaluate(const Placement& placement, const OutcomeDetail& detail = {});
};

}  // namespace emplace

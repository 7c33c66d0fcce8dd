#pragma once

// What tells a search how good a placement is: placements in, outcomes out. An agent never learns
// whether they are simulated (simulator/) or executed on devices (profilers/executor/).

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

/// What one step does on a device.
struct DeviceOutcome {
  Nanos busy = 0;            ///< costs of its ops, wire times of transfers that occupy it [ns]
  std::int64_t peak = 0;     ///< peak memory [B]
  std::int64_t deficit = 0;  ///< bytes missing: max(0, peak - memory) [B]
};

/// What one step does on a channel.
struct ChannelOutcome {
  Nanos busy = 0;              ///< sum of wire times [ns], without latency and gaps
  std::int64_t transfers = 0;  ///< hops over it; one that serves several devices is one
  std::int64_t bytes = 0;      ///< [B]
};

/// What a placement leads to. A placement that does not fit into memory is no error: its outcome is
/// infeasible and names the missing bytes per device.
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

/// What to compute beyond time and memory.
struct OutcomeDetail {
  bool channels = false;  ///< fill Outcome::channels
  bool op_times = false;  ///< fill Outcome::start and finish
};

/// Placements as rows of bytes: no vector per placement.
struct PlacementRows {
  const DeviceIndex* device = nullptr;  ///< [num_placements, num_groups]
  std::size_t num_placements = 0, num_groups = 0;

  const DeviceIndex* row(std::size_t i) const { return device + i * num_groups; }
};

/// Outcomes of n placements as columns. A column of size 0 is not wanted, and costs nothing.
struct OutcomeColumns {
  std::span<Nanos> step_time;       ///< [n] [ns]
  std::span<std::int64_t> deficit;  ///< [n] sum over the devices; 0: feasible [B]
  std::span<std::int64_t> peak;     ///< [n, num_devices] peak memory [B]
  std::span<Nanos> busy;            ///< [n, num_devices] as DeviceOutcome::busy [ns]
};

/// `count` of the n outcomes, from `first`.
OutcomeColumns PartOfColumns(const OutcomeColumns& columns,
                             std::size_t first,
                             std::size_t count,
                             std::size_t num_devices);

/// Writes outcomes as rows first, first + 1, ... of columns.
void WriteColumns(std::span<const Outcome> from, const OutcomeColumns& to, std::size_t first = 0);

/// A group on another device.
struct Move {
  int group = 0;
  DeviceIndex device = 0;
};

/// Neighbours of a placement: the i-th is `base` after the moves begin[i] .. begin[i + 1] - 1.
struct Neighbors {
  const Placement& base;
  std::span<const int> begin;   ///< [n + 1] into `moves`, ascending
  std::span<const Move> moves;  ///< of two moves of one group in a neighbour, the later one counts

  std::size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::span<const Move> of(std::size_t i) const {
    return moves.subspan(begin[i], begin[i + 1] - begin[i]);
  }
  /// Writes the devices of neighbour `i`, [num_groups], into `device`, whose memory is reused.
  void Apply(std::size_t i, std::vector<DeviceIndex>& device) const {
    device = base.device;
    for (const Move& move : of(i)) device[move.group] = move.device;
  }
};

class Evaluator;

/// A search beside others, which touches nothing that another one does.
struct SearchAbreast {
  std::function<void(Evaluator&)> run;
  /// Write and read all that `run` changes: for evaluators that run some of the searches elsewhere,
  /// where everything was the same before. Both or neither; without them all are run here.
  std::function<void(std::ostream&)> save = {};
  std::function<void(std::istream&)> load = {};
};

/// The processes that evaluate together; each makes the whole search (distributed_evaluator.h).
struct EvaluatorRanks {
  int rank = 0;  ///< of this one. Rank 0 decides when the time is over
  int size = 1;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Problem& problem() const = 0;

  /// Fills outcomes[i] for placements[i], reusing the outcomes' memory. The order and size of the
  /// batch never change a result.
  /// @throws InputError for a placement of the wrong size or on a forbidden device
  virtual void Evaluate(std::span<const Placement> placements,
                        std::span<Outcome> outcomes,
                        const OutcomeDetail& detail = {}) = 0;

  /// The same for rows and columns.
  virtual void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes);

  /// The same for the neighbours of a placement. What they share with the base may be computed
  /// once, and kept until the next call: ask for many, or often, with one base.
  virtual void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes);

  /// Where a step depends on the order in which ops are issued: all that is evaluated from here on
  /// is issued in this one. Takes as long as making the evaluator anew: evaluate much between two
  /// calls.
  /// @param order  [num_ops] op ids, each behind all that it awaits; empty: the order that the
  ///   evaluator was made with
  /// @return false: outcomes depend on no order, and nothing changes
  /// @throws InputError as RequireOpOrder() does (framework/graph/op_order.h)
  virtual bool SetIssueOrder(std::span<const int> order);

  /// Evaluators for several threads: of the same problem, with the same outcomes, each for one
  /// thread at a time, and none of them while this one is used. They live as long as this one, and
  /// their evaluations do not count for remaining(). SetIssueOrder() ends them.
  /// @param count  wanted
  /// @return [1 .. count]; this one alone if there is no other
  virtual std::vector<Evaluator*> Abreast(int count);

  /// Runs each of some searches once, with an evaluator of its own of this problem, as many at a
  /// time as Abreast() has evaluators. The number of threads and processes changes no result.
  /// @throws what the first of them throws
  virtual void RunAbreast(std::span<const SearchAbreast> searches);

  /// More than one: outcomes are shared out. Whoever evaluates must then do so in batches that
  /// depend on no clock and no thread.
  virtual EvaluatorRanks ranks() const { return {}; }

  /// Evaluations still allowed by the budget; a batch beyond it is cut off by BudgetExhausted.
  virtual std::int64_t remaining() const { return INT64_MAX; }

  /// The same with outcomes of its own.
  std::vector<Outcome> Evaluate(std::span<const Placement> placements,
                                const OutcomeDetail& detail = {});
  Outcome Evaluate(const Placement& placement, const OutcomeDetail& detail = {});
};

}  // namespace emplace

#pragma once

// SimGrid (https://simgrid.org, interface S4U) as it is used for a graph of tasks: an execution per
// op on a host per device, and a communication per tensor and remote device on a link per ordered
// pair of devices. Hosts and links are shared, not queued for: what is ready runs, and all that
// runs on one gets an equal part of it.

#include <memory>
#include <span>
#include <string>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// How SimGrid is told of the graph.
enum class SimGridUse {
  kReady,       ///< executions and communications are created when what they wait for has completed
  kGraph,       ///< all are created at the beginning, with what waits for what; the same times
  kIssueOrder,  ///< as kGraph, and each op waits also for the one issued before it on its device,
                ///< each transfer for the one before it on its channel: stream semantics, but for
                ///< latencies
};

/// One per process, as SimGrid's engine.
class SimGridPeer {
 public:
  /// @param problem  as PlainPass wants it; outlives the peer
  /// @param options  SimGrid's, "cpu/optim:TI", besides those that switch its model of TCP off
  SimGridPeer(const Problem& problem, std::span<const std::string> options);
  ~SimGridPeer();

  /// Simulates a placement. @return step time, rounded [ns]
  Nanos StepTime(const Placement& placement, SimGridUse use);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

/// "3.32"
std::string SimGridVersion();

}  // namespace emplace::testing

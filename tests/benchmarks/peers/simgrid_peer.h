#pragma once

// SimGrid as it is used for a graph of tasks: an execution per op on a host per device, a
// communication per tensor and remote destination on a link per ordered pair of devices, and
// dependencies between them. SimGrid's resources are shared, not queued for: what is ready runs,
// and all that runs on a host or a link gets an equal share of it.
// https://simgrid.org, S4U interface, version 3.32

#include <memory>
#include <span>
#include <string>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// What waits for what besides the graph's dependencies.
enum class SimGridOrder {
  kNone,   ///< nothing: the natural use
  kIssue,  ///< each op for the one issued before it on its device, each transfer for the one before
           ///< it on its channel. With latency 0 that is stream semantics.
};

/// One per process, as SimGrid's engine.
class SimGridPeer {
 public:
  /// @param problem  as PlainPass wants it; outlives the peer
  /// @param options  SimGrid's, "cpu/optim:TI", besides those that switch its model of TCP off
  SimGridPeer(const Problem& problem, std::span<const std::string> options);
  ~SimGridPeer();

  /// Creates the activities of a placement and runs them. @return step time, rounded [ns]
  Nanos StepTime(const Placement& placement, SimGridOrder order);

 private:
  struct Platform;
  const Problem& problem_;
  std::unique_ptr<Platform> platform_;
};

/// "3.32"
std::string SimGridVersion();

}  // namespace emplace::testing

#pragma once

// A backend without devices: plans run in virtual time. Every stream runs its commands in order,
// each waits for what the plan says, and ops and copies take invented times. With TimesOf(problem)
// a step takes what the stream semantics without host costs says (simulator/README.md), computed
// from the plan alone.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "framework/search/problem.h"
#include "profilers/executor/backend.h"

namespace emplace::testing {

struct VirtualTimes {
  struct Copy {
    Nanos latency = 0, wire = 0, gap = 0;  ///< [ns]
  };
  /// Time of an op. @param op  its id, or -1 for the isolated op of an AloneSampler [ns]
  std::function<Nanos(int device, int op, const OpWork& work)> op;
  /// Idle time behind an op; empty: none [ns]
  std::function<Nanos(int device)> gap;
  /// How much longer an op on a device takes beside another; empty: devices share nothing.
  std::function<double(const LoneOp& timed, const LoneOp& beside)> slowdown;
  /// @param command  its source.device, destinations, bytes and stream count; stream is -1 for the
  /// isolated copy of a CopySampler
  std::function<Copy(const PlanCommand& command)> copy;
  /// Factor on a copy's time while link `beside` is busy; empty: 1
  std::function<double(int link, int beside)> contention;
  /// [ns]; empty: nullopt for all
  std::function<std::optional<double>(int device, DispatchQuantity quantity)> dispatch;
  /// Every timing is multiplied by 1 + noise * u, u uniform in [-1, 1).
  double noise = 0;
  std::uint64_t seed = 1;
};

/// What the problem's cost table and channels say. Keeps the problem alive.
VirtualTimes TimesOf(std::shared_ptr<const Problem> problem);

std::shared_ptr<Backend> MakeVirtualBackend(std::vector<BackendDevice> devices,
                                            std::vector<BackendLink> links,
                                            VirtualTimes times);
/// The devices of the problem's cluster, a link for every route of one hop, TimesOf(problem).
std::shared_ptr<Backend> MakeVirtualBackend(std::shared_ptr<const Problem> problem);

}  // namespace emplace::testing

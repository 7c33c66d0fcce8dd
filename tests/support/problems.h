#pragma once

// Small problems in a few lines, and random ones by the thousand.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// Builds graphs whose ops each make one tensor, and clusters in which every ordered pair of
/// devices has a private channel unless said otherwise. All costs are explicit.
class ProblemBuilder {
 public:
  /// Adds an op and its output tensor `name`.
  /// @param costs   [num_devices] [ns]; one entry: the same on every device
  /// @param inputs  ops whose output it reads
  /// @return op id
  int Op(const std::string& name,
         std::vector<Nanos> costs,
         std::vector<int> inputs = {},
         std::int64_t output_bytes = 0);
  // Access to refine what was added last or before.
  emplace::Op& op(int id) { return ops_[id]; }
  Tensor& output(int op_id, int index = 0) { return tensors_[ops_[op_id].outputs[index]]; }
  /// A tensor without producer. @return tensor id, to be pushed to op(id).inputs
  int Input(const std::string& name, std::int64_t bytes);
  int AddOutput(int op_id, const std::string& name, std::int64_t bytes);

  /// Adds a device of its own kind. @return device index
  int Device(const std::string& name, std::int64_t memory = kUnlimitedMemory, int slots = 1);
  DeviceKind& kind(int device) { return kinds_[device]; }
  /// Makes two devices neighbours.
  void Share(int a, int b);
  /// Figures of an op on each device, in 1/1024. Others have none.
  void Interfere(int op, std::vector<Interference> by_device);
  /// Adds a channel; routes name it. @return channel index
  int Channel(const std::string& name,
              Nanos latency,
              Bandwidth bandwidth,
              Nanos gap = 0,
              bool broadcast = false);
  emplace::Channel& channel(int index) { return channels_[index]; }
  void Route(int from, int to, std::vector<int> channels);
  /// Private channel for each ordered pair without a route yet.
  void AllToAll(Nanos latency, Bandwidth bandwidth, Nanos gap = 0);
  /// One broadcasting (or not) channel per source for every pair without a route yet.
  void EgressBus(Nanos latency, Bandwidth bandwidth, Nanos gap, bool broadcast = true);

  std::shared_ptr<const Graph> BuildGraph() const;
  std::shared_ptr<const Cluster> BuildCluster() const;
  /// Every op its own group.
  std::shared_ptr<const Problem> Build() const;
  std::shared_ptr<const Problem> Build(const Grouping& grouping,
                                       ProblemChecks checks = ProblemChecks::kAll) const;

 private:
  std::vector<emplace::Op> ops_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Nanos>> costs_;
  std::map<int, std::vector<Interference>> interference_;  // by op
  std::vector<DeviceKind> kinds_;
  std::vector<emplace::Device> devices_;
  std::vector<emplace::Channel> channels_;
  struct RouteEntry {
    int from, to;
    std::vector<int> channels;
  };
  std::vector<RouteEntry> routes_;
};

/// 1 B/ns.
inline constexpr Bandwidth kGigabytePerSecond{1'000'000'000, 1};

/// Devices "gpu:0", "gpu:1", ..., 1 B/ns from each to every other after `latency` [ns].
ProblemBuilder Gpus(int count, Nanos latency = 1);

/// The same problem with another objective. Its routes and its memory are not checked again.
std::shared_ptr<const Problem> WithObjective(const Problem& problem, Objective objective);

/// The same problem with every device of the first one's kind.
std::shared_ptr<const Problem> WithEqualKinds(const Problem& problem);

/// What random problems may contain.
struct RandomProblemOptions {
  int num_ops = 20;
  int num_devices = 3;
  bool ties = true;               ///< small integer costs, so that many times coincide
  Nanos longest = 1'000'000'000;  ///< of costs and other times, unless ties [ns]
  int largest = 100'000'000;      ///< tensor, unless ties [B]
  bool zero_costs = true;
  bool gaps = true;
  bool slots = true;
  bool shared_channels = true;
  double sharing = 0.5;  ///< how many routes share one of three channels, if shared_channels
  bool egress = false;   ///< some devices have one channel for all that they send
  bool hops = true;
  bool broadcast = true;
  bool control_edges = true;
  bool host_costs = true;     ///< issue and launch
  bool occupies = true;       ///< channels that occupy devices
  bool setups = true;         ///< channels whose transfers take a fixed time besides
  bool cold_reads = false;    ///< ops that take longer for what arrived from another device
  bool interference = false;  ///< devices that slow one another down
  bool resident = true;       ///< parameters, graph inputs, outputs, aliases, workspaces
  bool tight_memory = true;   ///< some placements do not fit
  bool forbidden = false;     ///< some ops may not run on some devices
};
std::shared_ptr<const Problem> RandomProblem(Rng& rng, const RandomProblemOptions& options);

/// A device per op, allowed everywhere. @return [num_ops]
Placement RandomPlacement(Rng& rng, const Problem& problem);

/// Every placement of the problem: num_devices to the power of num_groups, less where groups are
/// restricted.
std::vector<Placement> AllPlacements(const Problem& problem);

/// Any order in which every op stands behind what it awaits. @return [num_ops] op ids
std::vector<int> RandomIssueOrder(Rng& rng, const Graph& graph);

}  // namespace emplace::testing

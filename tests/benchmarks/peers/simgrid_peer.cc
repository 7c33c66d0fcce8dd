#include "tests/benchmarks/peers/simgrid_peer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include "framework/schedule/issue_order.h"

namespace emplace::testing {

namespace sg = simgrid::s4u;

// A second of SimGrid's is a microsecond: it takes times less than 10^-5 s apart for equal.
constexpr double kNanosPerSecond = 1e3;

struct SimGridPeer::Platform {
  sg::Engine engine{"emplace_peers"};
  std::vector<sg::Host*> hosts;
  std::vector<int> order;
};

SimGridPeer::SimGridPeer(const Problem& problem, std::span<const std::string> options)
    : problem_(problem), platform_(std::make_unique<Platform>()) {
  // No factors that correct latency and bandwidth, no window of TCP, no traffic of its
  // acknowledgements.
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/TCP-gamma:0");
  sg::Engine::set_config("network/crosstraffic:0");
  for (const std::string& option : options) sg::Engine::set_config(option);

  const Cluster& cluster = problem.cluster();
  platform_->order = IssueOrder(problem.graph());
  sg::NetZone* zone = sg::create_full_zone("cluster");
  for (int d = 0; d < cluster.num_devices(); ++d) {
    platform_->hosts.push_back(zone->create_host(cluster.device(d).name, kNanosPerSecond)->seal());
  }
  for (int d = 0; d < cluster.num_devices(); ++d) {
    for (int e = 0; e < cluster.num_devices(); ++e) {
      if (d == e) continue;
      const Channel& channel = cluster.channel(cluster.route(d, e)[0]);
      sg::Link* link = zone->create_link(
          channel.name, channel.bandwidth.BytesPerSecond() * kNanosPerSecond / 1e9);
      link->set_latency(static_cast<double>(channel.latency) / kNanosPerSecond);
      link->seal();
      zone->add_route(platform_->hosts[d]->get_netpoint(),
                      platform_->hosts[e]->get_netpoint(),
                      nullptr,
                      nullptr,
                      {sg::LinkInRoute(link)},
                      false);
    }
  }
  zone->seal();
}

SimGridPeer::~SimGridPeer() = default;

Nanos SimGridPeer::StepTime(const Placement& placement, SimGridOrder order) {
  const Graph& graph = problem_.graph();
  const int num_devices = problem_.num_devices();
  const double begin = sg::Engine::get_clock();
  std::vector<sg::ExecPtr> execs(problem_.num_ops());
  std::vector<sg::CommPtr> comms;
  for (int v = 0; v < problem_.num_ops(); ++v) {
    const int d = placement.device[v];
    execs[v] = sg::Exec::init()
                   ->set_flops_amount(static_cast<double>(problem_.costs().at(v, d)))
                   ->set_host(platform_->hosts[d]);
  }
  std::vector<int> last_op(num_devices, -1);
  std::vector<sg::CommPtr> last_comm(num_devices * num_devices), to(num_devices);
  for (const int v : platform_->order) {
    const int d = placement.device[v];
    if (order == SimGridOrder::kIssue) {
      const auto before = graph.predecessors(v);
      const int last = std::exchange(last_op[d], v);
      if (last >= 0 && !std::ranges::binary_search(before, last)) {
        execs[last]->add_successor(execs[v]);
      }
    }
    for (const int tensor : graph.op(v).outputs) {
      to.assign(num_devices, nullptr);
      for (const int reader : graph.readers(tensor)) {
        const int e = placement.device[reader];
        if (e == d) {
          execs[v]->add_successor(execs[reader]);
          continue;
        }
        if (to[e] == nullptr) {
          to[e] = sg::Comm::sendto_init(platform_->hosts[d], platform_->hosts[e])
                      ->set_payload_size(graph.tensor(tensor).bytes);
          execs[v]->add_successor(to[e]);
        }
        to[e]->add_successor(execs[reader]);
      }
      for (int e = 0; e < num_devices; ++e) {
        if (to[e] == nullptr) continue;
        comms.push_back(to[e]);
        sg::CommPtr& last = last_comm[d * num_devices + e];
        if (order == SimGridOrder::kIssue && last != nullptr) last->add_successor(to[e]);
        last = to[e];
      }
    }
  }
  for (const sg::CommPtr& comm : comms) comm->vetoable_start();
  for (const int v : platform_->order) execs[v]->vetoable_start();
  platform_->engine.run();
  return std::llround((sg::Engine::get_clock() - begin) * kNanosPerSecond);
}

std::string SimGridVersion() {
  return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
}

}  // namespace emplace::testing

#include "tests/benchmarks/peers/simgrid_peer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include "framework/schedule/issue_order.h"

namespace emplace::testing {
namespace {

namespace sg = simgrid::s4u;

// A second of SimGrid's is a microsecond: it takes times less than 10^-5 s apart for equal. A flop
// is a nanosecond of an op.
constexpr double kNanosPerSecond = 1e3;

}  // namespace

class SimGridPeer::Engine {
 public:
  Engine(const Problem& problem, std::span<const std::string> options)
      : problem_(problem), graph_(problem.graph()), order_(IssueOrder(problem.graph())) {
    // No factors on latency and bandwidth, no window of TCP, no traffic of acknowledgements.
    sg::Engine::set_config("network/model:CM02");
    sg::Engine::set_config("network/TCP-gamma:0");
    sg::Engine::set_config("network/crosstraffic:0");
    for (const std::string& option : options) sg::Engine::set_config(option);
    MakePlatform();
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) { Complete(activity); });
  }

  Nanos StepTime(const Placement& placement, SimGridUse use) {
    device_ = placement.device.data();
    const double begin = sg::Engine::get_clock();
    use == SimGridUse::kReady ? StartReady() : StartGraph(use == SimGridUse::kIssueOrder);
    engine_.run();
    created_.clear();
    return std::llround((sg::Engine::get_clock() - begin) * kNanosPerSecond);
  }

 private:
  void MakePlatform() {
    const Cluster& cluster = problem_.cluster();
    sg::NetZone* zone = sg::create_full_zone("cluster");
    for (const Device& device : cluster.devices()) {
      hosts_.push_back(zone->create_host(device.name, kNanosPerSecond)->seal());
    }
    for (int d = 0; d < cluster.num_devices(); ++d) {
      for (int e = 0; e < cluster.num_devices(); ++e) {
        if (d == e) continue;
        const Channel& channel = cluster.channel(cluster.route(d, e)[0]);
        sg::Link* link = zone->create_link(
            channel.name, channel.bandwidth.BytesPerSecond() * kNanosPerSecond / 1e9);
        link->set_latency(static_cast<double>(channel.latency) / kNanosPerSecond);
        link->seal();
        zone->add_route(hosts_[d]->get_netpoint(),
                        hosts_[e]->get_netpoint(),
                        nullptr,
                        nullptr,
                        {sg::LinkInRoute(link)},
                        false);
      }
    }
    zone->seal();
  }

  sg::ExecPtr MakeExec(int v) {
    sg::ExecPtr exec =
        sg::Exec::init()
            ->set_flops_amount(static_cast<double>(problem_.costs().at(v, device_[v])))
            ->set_host(hosts_[device_[v]]);
    created_.push_back(exec);
    return exec;
  }

  sg::CommPtr MakeComm(int tensor, int d, int e) {
    sg::CommPtr comm =
        sg::Comm::sendto_init(hosts_[d], hosts_[e])->set_payload_size(graph_.tensor(tensor).bytes);
    created_.push_back(comm);
    return comm;
  }

  // Bit e: device e, other than d, reads the tensor.
  std::uint64_t RemoteDevices(int tensor, int d) const {
    std::uint64_t devices = 0;
    for (const int reader : graph_.readers(tensor)) devices |= std::uint64_t{1} << device_[reader];
    return devices & ~(std::uint64_t{1} << d);
  }

  void StartGraph(bool issue_order) {
    const int num_devices = problem_.num_devices();
    std::vector<sg::ExecPtr> execs;
    for (int v = 0; v < problem_.num_ops(); ++v) execs.push_back(MakeExec(v));
    std::vector<int> last_op(num_devices, -1);
    std::vector<sg::CommPtr> last_comm(num_devices * num_devices);
    for (const int v : order_) {
      const int d = device_[v];
      if (const int last = std::exchange(last_op[d], v); issue_order && last >= 0) {
        const bool reads = std::ranges::binary_search(graph_.predecessors(v), last);
        if (!reads) execs[last]->add_successor(execs[v]);
      }
      for (const int tensor : graph_.op(v).outputs) {
        for (const int reader : graph_.readers(tensor)) {
          if (device_[reader] == d) execs[v]->add_successor(execs[reader]);
        }
        for (std::uint64_t remote = RemoteDevices(tensor, d); remote != 0; remote &= remote - 1) {
          const int e = std::countr_zero(remote);
          const sg::CommPtr comm = MakeComm(tensor, d, e);
          execs[v]->add_successor(comm);
          for (const int reader : graph_.readers(tensor)) {
            if (device_[reader] == e) comm->add_successor(execs[reader]);
          }
          const sg::CommPtr last = std::exchange(last_comm[d * num_devices + e], comm);
          if (issue_order && last != nullptr) last->add_successor(comm);
        }
      }
    }
    for (const sg::ActivityPtr& activity : created_) activity->vetoable_start();
  }

  void StartReady() {
    awaited_.assign(problem_.num_ops(), 0);
    for (int v = 0; v < problem_.num_ops(); ++v) {
      for (const int tensor : graph_.reads(v)) awaited_[v] += graph_.tensor(tensor).producer >= 0;
    }
    for (int v = 0; v < problem_.num_ops(); ++v) {
      if (awaited_[v] == 0) StartOp(v);
    }
  }

  void StartOp(int v) {
    const sg::ExecPtr exec = MakeExec(v);
    op_of_.emplace(exec.get(), v);
    exec->vetoable_start();
  }

  // A tensor is on a device.
  void Arrive(int tensor, int d) {
    for (const int reader : graph_.readers(tensor)) {
      if (device_[reader] == d && --awaited_[reader] == 0) StartOp(reader);
    }
  }

  // Something is done that StartReady() or what follows from it has started.
  void Complete(const sg::Activity& activity) {
    if (const auto comm = transfer_of_.find(&activity); comm != transfer_of_.end()) {
      const auto [tensor, e] = comm->second;
      transfer_of_.erase(comm);
      Arrive(tensor, e);
    } else if (const auto exec = op_of_.find(&activity); exec != op_of_.end()) {
      const int v = exec->second, d = device_[v];
      op_of_.erase(exec);
      for (const int tensor : graph_.op(v).outputs) {
        for (std::uint64_t remote = RemoteDevices(tensor, d); remote != 0; remote &= remote - 1) {
          const int e = std::countr_zero(remote);
          const sg::CommPtr comm = MakeComm(tensor, d, e);
          transfer_of_.emplace(comm.get(), std::pair(tensor, e));
          comm->vetoable_start();
        }
        Arrive(tensor, d);
      }
    }
  }

  const Problem& problem_;
  const Graph& graph_;
  const std::vector<int> order_;
  sg::Engine engine_{"emplace_peers"};
  std::vector<sg::Host*> hosts_;  // [num_devices]

  // Of the placement that is being simulated.
  const DeviceIndex* device_ = nullptr;  // [num_ops]
  std::vector<sg::ActivityPtr> created_;
  std::vector<int> awaited_;  // [num_ops] tensors that are not there yet
  std::unordered_map<const sg::Activity*, int> op_of_;
  std::unordered_map<const sg::Activity*, std::pair<int, int>> transfer_of_;  // tensor, device
};

SimGridPeer::SimGridPeer(const Problem& problem, std::span<const std::string> options)
    : engine_(std::make_unique<Engine>(problem, options)) {
}

SimGridPeer::~SimGridPeer() = default;

Nanos SimGridPeer::StepTime(const Placement& placement, SimGridUse use) {
  return engine_->StepTime(placement, use);
}

std::string SimGridVersion() {
  return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
}

}  // namespace emplace::testing

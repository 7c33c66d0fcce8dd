#include "tests/profilers/virtual_backend.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"

namespace emplace::testing {
namespace {

// Shared by backend and programs, so that noise goes on from step to step.
struct World {
  VirtualTimes times;
  Rng rng;

  Nanos Noisy(Nanos time) { return std::llround(Noisy(static_cast<double>(time))); }
  double Noisy(double time) {
    if (times.noise == 0) return time;
    return time * (1 + times.noise * (2 * Uniform01(rng) - 1));
  }
};

class VirtualProgram : public Program {
 public:
  VirtualProgram(std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<World> world)
      : plan_(std::move(plan)), world_(std::move(world)) {}

  StepRecord Step(bool traced) override {
    const auto& commands = plan_->commands;
    StepRecord record;
    record.start.resize(commands.size());
    record.finish.resize(commands.size());
    std::vector<Nanos> free(plan_->num_streams(), 0);
    for (size_t c = 0; c < commands.size(); ++c) {
      const PlanCommand& command = commands[c];
      Nanos start = free[command.stream];
      for (int other : command.waits) start = std::max(start, record.finish[other]);
      // A channel takes its next copy before the last one has arrived, so that a hop over the same
      // channel as the hop before must look for that one's arrival itself.
      if (FollowsOnSameChannel(c)) start = std::max(start, record.finish[c - 1]);
      record.start[c] = start;
      if (command.type == PlanCommand::Type::kOp) {
        const int device = command.stream;
        const Nanos time = world_->times.op(device, command.op, plan_->ops[command.op].work);
        record.finish[c] = start + world_->Noisy(time);
        free[device] = record.finish[c];
        if (time > 0 && world_->times.gap) free[device] += world_->times.gap(device);
      } else {
        const VirtualTimes::Copy copy = world_->times.copy(command);
        const Nanos wire = world_->Noisy(copy.wire);
        record.finish[c] = start + copy.latency + wire;
        free[command.stream] = start + wire + copy.gap;
      }
      record.step_time = std::max(record.step_time, record.finish[c]);
    }
    if (!traced) record.start.clear(), record.finish.clear();
    return record;
  }

  std::vector<std::byte> ReadTensor(Address, std::int64_t) override {
    throw InputError("virtual devices hold no bytes");
  }

 private:
  bool FollowsOnSameChannel(size_t c) const {
    const PlanCommand& command = plan_->commands[c];
    if (command.hop == 0) return false;
    const PlanCommand& before = plan_->commands[c - 1];
    return before.stream == command.stream && before.tensor == command.tensor &&
           before.hop == command.hop - 1 && before.destinations[0].device == kStaging;
  }

  std::shared_ptr<const ExecutionPlan> plan_;
  std::shared_ptr<World> world_;
};

class VirtualBackend : public Backend {
 public:
  VirtualBackend(std::vector<BackendDevice> devices,
                 std::vector<BackendLink> links,
                 VirtualTimes times)
      : devices_(std::move(devices)), links_(std::move(links)) {
    world_ = std::make_shared<World>(World{std::move(times), {}});
    world_->rng.seed(world_->times.seed);
  }

  std::span<const BackendDevice> devices() const override { return devices_; }
  std::span<const BackendLink> links() const override { return links_; }
  std::map<std::string, std::string> Properties() const override { return {{"cpu", "virtual"}}; }
  std::vector<ClockReading> ReadClocks() override {
    std::vector<ClockReading> clocks;
    for (const BackendDevice& device : devices_) clocks.push_back({device.name, 1000, {}});
    return clocks;
  }

  std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan, DispatchMode) override {
    EMPLACE_CHECK(plan->num_devices == static_cast<int>(devices_.size()));
    return std::make_unique<VirtualProgram>(std::move(plan), world_);
  }

  struct VirtualOp : PreparedOp {
    LoneOp op;
  };

  std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) override {
    auto prepared = std::make_shared<VirtualOp>();
    prepared->op = op;
    return prepared;
  }

  Sampler AloneSampler(std::shared_ptr<PreparedOp> prepared) override {
    const LoneOp& op = std::dynamic_pointer_cast<VirtualOp>(prepared)->op;
    return Repeat(static_cast<double>(world_->times.op(op.device, -1, op.work)));
  }

  std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                       std::shared_ptr<PreparedOp> beside) override {
    if (!world_->times.slowdown) return std::nullopt;
    const LoneOp &victim = std::dynamic_pointer_cast<VirtualOp>(timed)->op,
                 &aggressor = std::dynamic_pointer_cast<VirtualOp>(beside)->op;
    return Repeat(static_cast<double>(world_->times.op(victim.device, -1, victim.work)) *
                  world_->times.slowdown(victim, aggressor));
  }

  Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside) override {
    const PlanCommand command{.type = PlanCommand::Type::kCopy,
                              .stream = -1,
                              .bytes = bytes,
                              .source = {links_[link].from, 0},
                              .destinations = {{links_[link].to, 0}}};
    const VirtualTimes::Copy copy = world_->times.copy(command);
    double time = static_cast<double>(copy.latency + copy.wire);
    if (beside && world_->times.contention) time *= world_->times.contention(link, *beside);
    return Repeat(time);
  }

  std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) override {
    if (!world_->times.dispatch) return std::nullopt;
    const auto time = world_->times.dispatch(device, quantity);
    return time ? std::optional(Repeat(*time)) : std::nullopt;
  }

 private:
  Sampler Repeat(double time) {
    return [world = world_, time](int count, std::vector<double>& timings) {
      for (int i = 0; i < count; ++i) timings.push_back(world->Noisy(time));
    };
  }

  std::vector<BackendDevice> devices_;
  std::vector<BackendLink> links_;
  std::shared_ptr<World> world_;
};

}  // namespace

VirtualTimes TimesOf(std::shared_ptr<const Problem> problem) {
  VirtualTimes times;
  times.op = [problem](int device, int op, const OpWork&) {
    return problem->costs().at(op, device);
  };
  times.gap = [problem](int device) { return problem->cluster().kind_of(device).gap; };
  times.copy = [problem](const PlanCommand& command) {
    const Cluster& cluster = problem->cluster();
    const int k = command.stream >= 0
                      ? command.stream - cluster.num_devices()
                      : cluster.route(command.source.device, command.destinations.at(0).device)[0];
    const Channel& channel = cluster.channel(k);
    return VirtualTimes::Copy{channel.latency, WireTime(command.bytes, channel), channel.gap};
  };
  return times;
}

std::shared_ptr<Backend> MakeVirtualBackend(std::vector<BackendDevice> devices,
                                            std::vector<BackendLink> links,
                                            VirtualTimes times) {
  return std::make_shared<VirtualBackend>(std::move(devices), std::move(links), std::move(times));
}

std::shared_ptr<Backend> MakeVirtualBackend(std::shared_ptr<const Problem> problem) {
  const Cluster& cluster = problem->cluster();
  std::vector<BackendDevice> devices;
  std::vector<BackendLink> links;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    devices.push_back({cluster.device(d).name, cluster.kind_of(d), cluster.device(d).memory, ""});
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (to != d && cluster.route(d, to).size() == 1) links.push_back({d, to, "virtual"});
    }
  }
  return MakeVirtualBackend(std::move(devices), std::move(links), TimesOf(std::move(problem)));
}

}  // namespace emplace::testing

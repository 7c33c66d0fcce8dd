#include "tests/support/layered_periods.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/problems.h"

namespace emplace::testing {
namespace {

class LayerBuilder {
 public:
  LayerBuilder(Rng& rng, const LayeredOptions& options) : rng_(rng), options_(options) {
    if (options.cpu) {
      const int cpu = builder_.Device("cpu:0");
      builder_.kind(cpu).device_class = DeviceClass::kCpu;
      builder_.kind(cpu).pays_transfers = false;
    }
    for (int d = 0; d < options.num_devices; ++d) builder_.Device(fmt::format("gpu:{}", d));
    builder_.AllToAll(0, kGigabytePerSecond);
  }

  // @param cost   of the op, up to a random factor of 2 [ns]
  // @param bytes  of its output, which are the ns of its transfer
  int Add(double cost, std::int64_t bytes, std::vector<int> inputs) {
    const Nanos time = std::llround(cost * (0.7 + 0.6 * Uniform01(rng_)));
    std::vector<Nanos> costs(options_.num_devices, time);
    if (options_.cpu) costs.insert(costs.begin(), 20 * time);
    const int id = builder_.Op(fmt::format("op{}", num_ops_++), costs, inputs, bytes);
    labels_.push_back(id);
    forward_.push_back({id, std::llround(2 * cost), bytes, std::move(inputs)});
    return id;
  }

  std::shared_ptr<const Problem> Build() {
    for (int layer = 0; layer < options_.layers; ++layer) AddLayer();
    stream_ = Add(50'000, 200'000, {stream_});
    Add(400'000, 3'000, {stream_});
    if (options_.training) AddBackward();
    std::int64_t total = 0;
    for (int id = 0; id < num_ops_; ++id) total += builder_.output(id).bytes;
    const auto even = builder_.Build(Grouping(labels_));
    std::vector<Device> devices(even->cluster().devices().begin(), even->cluster().devices().end());
    for (Device& device : devices) {
      if (device.name == "cpu:0") continue;
      device.memory =
          std::llround(options_.memory * static_cast<double>(total) / options_.num_devices);
    }
    std::vector<std::vector<int>> routes;
    for (int from = 0; from < even->num_devices(); ++from) {
      for (int to = 0; to < even->num_devices(); ++to) {
        const auto route = even->cluster().route(from, to);
        routes.emplace_back(route.begin(), route.end());
      }
    }
    const std::span<const DeviceKind> kinds = even->cluster().kinds();
    // Equal devices are of one kind, so that searches see that they are.
    for (Device& device : devices) device.kind = device.name == "cpu:0" ? 0 : options_.cpu ? 1 : 0;
    const std::span<const Channel> channels = even->cluster().channels();
    return std::make_shared<Problem>(
        std::make_shared<Graph>(even->graph()),
        even->grouping(),
        std::make_shared<Cluster>("layered",
                                  std::vector<DeviceKind>(kinds.begin(), kinds.end()),
                                  devices,
                                  std::vector<Channel>(channels.begin(), channels.end()),
                                  routes),
        even->costs(),
        Objective::kPeriod);
  }

 private:
  struct Forward {
    int id;
    Nanos backward_cost;
    std::int64_t bytes;
    std::vector<int> inputs;
  };

  void AddLayer() {
    constexpr std::int64_t kSmall = 70'000, kWide = 600'000, kTiny = 25;
    constexpr double kCheap = 5'000;
    const std::vector<int> in = stream_ < 0 ? std::vector<int>{} : std::vector<int>{stream_};
    const int normed = Add(20'000, kSmall, in);
    std::vector<int> heads;
    for (int i = 0; i < 3; ++i) {
      const int weight = Add(0, kTiny, {});
      const int product = Add(kCheap, kSmall, {normed, weight});
      const int biased = Add(kCheap, kSmall, {product});
      const int reshaped = Add(kCheap / 2, kSmall, {biased});
      heads.push_back(Add(kCheap, kSmall, {reshaped}));
    }
    int inner = Add(40'000, kWide, {heads[0], heads[1]});
    for (int i = 0; i < 4; ++i) inner = Add(kCheap * 4, kWide, {inner});
    const int mixed = Add(30'000, kSmall, {inner, heads[2]});
    const int projected = Add(kCheap, kSmall, {mixed});
    std::vector<int> sum{projected};
    if (stream_ >= 0) sum.push_back(stream_);
    const int residual = Add(kCheap, kSmall, sum);
    int hidden = Add(60'000 + 40'000 * Uniform01(rng_), kWide / 2, {residual});
    hidden = Add(kCheap * 3, kWide / 2, {hidden});
    hidden = Add(60'000, kSmall, {hidden});
    stream_ = Add(kCheap, kSmall, {hidden, residual});
  }

  // In reverse: reads the gradients of its readers and the forward output, in its op's group.
  void AddBackward() {
    std::vector<std::vector<int>> readers(num_ops_);
    for (const Forward& op : forward_) {
      for (const int input : op.inputs) readers[input].push_back(op.id);
    }
    std::vector<int> gradient_of(num_ops_, -1);
    const std::vector<Forward> forward = forward_;
    for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
      std::vector<int> inputs{op->id};
      for (const int reader : readers[op->id]) inputs.push_back(gradient_of[reader]);
      const int id = Add(static_cast<double>(op->backward_cost), op->bytes, inputs);
      builder_.op(id).phase = Phase::kBackward;
      gradient_of[op->id] = id;
      if (UniformInt(rng_, 10) != 0) labels_[id] = op->id;
    }
  }

  Rng& rng_;
  LayeredOptions options_;
  ProblemBuilder builder_;
  int num_ops_ = 0, stream_ = -1;
  std::vector<int> labels_;
  std::vector<Forward> forward_;
};

}  // namespace

std::shared_ptr<const Problem> LayeredPeriod(Rng& rng, const LayeredOptions& options) {
  return LayerBuilder(rng, options).Build();
}

}  // namespace emplace::testing

#include "framework/instances/max_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/base/time.h"

namespace emplace {
namespace {

constexpr double kSameCost = 1e-6;  // units by which equal costs may differ, as published
constexpr std::array<std::string_view, 2> kMaxLoadRecords = {"nodes", "edges"};

class MaxLoadReader {
 public:
  MaxLoadReader(std::string name, std::string where, double ns_per_unit)
      : name_(std::move(name)), where_(std::move(where)), ns_per_unit_(ns_per_unit) {}

  void Visit(const JsonPart& part) {
    if (part.index < 0) {
      if (part.key == "maxFPGAs") accelerators_ = Count(part.value, "maxFPGAs");
      if (part.key == "maxCPUs") cpus_ = Count(part.value, "maxCPUs");
      if (part.key == "maxSizePerFPGA") memory_ = Bytes(part.value, "maxSizePerFPGA");
      return;
    }
    place_ = fmt::format("{}[{}]", part.key, part.index);
    if (!part.value.is_object()) Fail(part.value, "expected an object");
    if (part.key == "nodes") {
      AddNode(part.value);
    } else {
      edges_.push_back({place_,
                        Id(Key(part.value, "sourceId"), "sourceId"),
                        Id(Key(part.value, "destId"), "destId"),
                        Time(Key(part.value, "cost"), "cost")});
    }
    place_.clear();
  }

  MaxLoadInstance Make() {
    for (const auto& [value, key] : {std::pair{accelerators_.has_value(), "maxFPGAs"},
                                     std::pair{cpus_.has_value(), "maxCPUs"},
                                     std::pair{memory_.has_value(), "maxSizePerFPGA"}}) {
      if (!value) throw InputError(fmt::format("{}: no key \"{}\"", where_, key));
    }
    for (const Edge& edge : edges_) AddEdge(edge);
    auto graph = std::make_shared<Graph>(name_, std::move(tensors_), std::move(ops_), "", where_);
    return {std::move(graph), MakeCluster()};
  }

 private:
  struct Edge {
    std::string place;
    std::int64_t source, target;
    Nanos cost;  // [ns]
  };

  [[noreturn]] void Fail(const Json& value, std::string_view expected) const {
    throw InputError(fmt::format("{}: {}{}got {}; {}",
                                 where_,
                                 place_,
                                 place_.empty() ? "" : ": ",
                                 ClippedJson(value),
                                 expected));
  }
  // Reads the value of a key by `read`, with its place in messages.
  template <class Read>
  auto At(const Json& value, std::string_view key, const Read& read) const {
    try {
      return read(value);
    } catch (const InputError& error) {
      throw InputError(fmt::format(
          "{}: {}{}{}: {}", where_, place_, place_.empty() ? "" : ": ", key, error.what()));
    }
  }
  const Json& Key(const Json& record, const char* key) const {
    const auto found = record.find(key);
    if (found == record.end()) {
      throw InputError(fmt::format("{}: {}: no key \"{}\"", where_, place_, key));
    }
    return *found;
  }
  int Count(const Json& value, std::string_view key) const {
    const std::int64_t count = At(value, key, JsonCount);
    if (count > kMaxDevices) Fail(value, fmt::format("expected at most {} devices", kMaxDevices));
    return static_cast<int>(count);
  }
  std::int64_t Id(const Json& value, std::string_view key) const {
    return At(value, key, JsonCount);
  }
  std::int64_t Bytes(const Json& value, std::string_view key) const {
    const double amount = At(value, key, JsonAmount);
    if (amount >= 0x1p62) Fail(value, fmt::format("expected {} below 2^62 B", key));
    return static_cast<std::int64_t>(std::ceil(amount));
  }
  double Amount(const Json& value, std::string_view key) const {
    const double amount = At(value, key, JsonAmount) * ns_per_unit_;
    if (amount >= static_cast<double>(kMaxNanos)) {
      Fail(value, fmt::format("expected {} below 2^56 ns; a unit is {} ns", key, ns_per_unit_));
    }
    return amount;
  }
  Nanos Time(const Json& value, std::string_view key) const {
    return std::llround(Amount(value, key));
  }
  // Reads true, false, 1 or 0.
  bool Flag(const Json& value, std::string_view key) const {
    if (value.is_boolean()) return value.get<bool>();
    const std::int64_t number = At(value, key, JsonCount);
    if (number > 1) Fail(value, fmt::format("{}: expected true, false, 1 or 0", key));
    return number == 1;
  }

  void AddNode(const Json& node) {
    const std::int64_t id = Id(Key(node, "id"), "id");
    if (!op_of_id_.try_emplace(id, static_cast<int>(ops_.size())).second) {
      throw InputError(fmt::format("{}: {}: id {} is that of another node", where_, place_, id));
    }
    Op op;
    if (const auto text = node.find("name"); text != node.end()) {
      op.name = At(*text, "name", [](const Json& v) { return JsonText(v, "a name"); });
    }
    if (op.name.empty()) op.name = fmt::format("node {}", id);
    if (!names_.insert(op.name).second) op.name += fmt::format(" ({})", id);
    names_.insert(op.name);
    op.kind = "node";
    op.cost_ns.emplace_back("cpu", Amount(Key(node, "cpuLatency"), "cpuLatency"));
    if (Flag(Key(node, "supportedOnFpga"), "supportedOnFpga")) {
      op.cost_ns.emplace_back("accelerator", Amount(Key(node, "fpgaLatency"), "fpgaLatency"));
    } else {
      op.device_kinds = {"cpu"};
    }
    if (const auto flag = node.find("isBackwardNode"); flag != node.end()) {
      op.phase = Flag(*flag, "isBackwardNode") ? Phase::kBackward : Phase::kForward;
    }
    if (const auto color = node.find("colorClass"); color != node.end() && !color->is_null()) {
      op.colocate = "color " + color->dump();
    }
    const auto size = node.find("size");
    Tensor memory;
    memory.name = op.name;
    memory.bytes = size == node.end() ? 0 : Bytes(*size, "size");
    op.outputs.push_back(static_cast<int>(tensors_.size()));
    tensors_.push_back(std::move(memory));
    ops_.push_back(std::move(op));
  }

  int Find(std::int64_t id, const Edge& edge, std::string_view key) const {
    const auto found = op_of_id_.find(id);
    if (found == op_of_id_.end()) {
      throw InputError(
          fmt::format("{}: {}: {}: no node has the id {}", where_, edge.place, key, id));
    }
    return found->second;
  }

  void AddEdge(const Edge& edge) {
    Op& source = ops_[Find(edge.source, edge, "sourceId")];
    Op& target = ops_[Find(edge.target, edge, "destId")];
    if (source.outputs.size() == 1) {
      Tensor sent;
      sent.name = source.name + " sent";
      sent.bytes = edge.cost;
      sent.alias_of = source.outputs[0];
      source.outputs.push_back(static_cast<int>(tensors_.size()));
      tensors_.push_back(std::move(sent));
    }
    const int tensor = source.outputs[1];
    std::int64_t& bytes = tensors_[tensor].bytes;
    if (static_cast<double>(std::abs(bytes - edge.cost)) > kSameCost * ns_per_unit_) {
      throw InputError(
          fmt::format("{}: {}: cost: {} ns; an edge of the same source has {} ns, and a node's "
                      "output has one cost",
                      where_,
                      edge.place,
                      edge.cost,
                      bytes));
    }
    bytes = std::max(bytes, edge.cost);
    if (std::ranges::find(target.inputs, tensor) == target.inputs.end()) {
      target.inputs.push_back(tensor);
    }
  }

  std::shared_ptr<const Cluster> MakeCluster() const {
    std::vector<DeviceKind> kinds(2);
    kinds[0].name = "cpu";
    kinds[0].device_class = DeviceClass::kCpu;
    kinds[0].pays_transfers = false;
    kinds[1].name = "accelerator";
    std::vector<Device> devices;
    for (int i = 0; i < *cpus_; ++i) devices.push_back({fmt::format("cpu:{}", i), 0});
    for (int i = 0; i < *accelerators_; ++i) {
      devices.push_back({fmt::format("gpu:{}", i), 1, *memory_});
    }
    const std::size_t count = devices.size();
    std::vector<std::vector<int>> routes(count * count);
    for (std::size_t pair = 0; pair < routes.size(); ++pair) {
      if (pair / count != pair % count) routes[pair] = {0};
    }
    const Channel channel{.name = "memory", .bandwidth = {1'000'000'000, 1}};
    return std::make_shared<Cluster>(name_, kinds, devices, std::vector{channel}, routes, where_);
  }

  std::string name_, where_, place_;
  double ns_per_unit_;
  std::optional<int> accelerators_, cpus_;
  std::optional<std::int64_t> memory_;
  std::vector<Op> ops_;
  std::vector<Tensor> tensors_;
  std::vector<Edge> edges_;
  std::unordered_map<std::int64_t, int> op_of_id_;
  std::unordered_set<std::string> names_;
};

}  // namespace

MaxLoadInstance ReadMaxLoad(std::string_view text,
                            const std::string& name,
                            const std::string& where,
                            double ns_per_unit) {
  MaxLoadReader reader(name, where, ns_per_unit);
  VisitJson(text, where, kMaxLoadRecords, [&](const JsonPart& part) { reader.Visit(part); });
  return reader.Make();
}

}  // namespace emplace

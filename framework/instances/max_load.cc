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
#include "framework/base/json_record.h"
#include "framework/base/time.h"

namespace emplace {
namespace {

constexpr double kNanosPerUnit = 1e9;
constexpr double kSameCost = 1e-6;  // units by which equal costs may differ, as published
constexpr std::array<std::string_view, 2> kMaxLoadRecords = {"nodes", "edges"};

class MaxLoadReader {
 public:
  MaxLoadReader(std::string name, std::string where)
      : name_(std::move(name)), where_(std::move(where)) {}

  void Visit(const JsonPart& part) {
    if (part.index >= 0) {
      const JsonRecord record(part.value, part.key, part.index);
      part.key == "nodes" ? AddNode(record) : AddEdge(record, part.index);
      return;
    }
    const std::string key(part.key);
    AtPlace(key, [&] {
      if (key == "maxFPGAs") accelerators_ = ReadCount(part.value);
      if (key == "maxCPUs") cpus_ = ReadCount(part.value);
      if (key == "maxSizePerFPGA") memory_ = ReadSize(part.value);
    });
  }

  Instance Make() {
    for (const auto& [value, key] : {std::pair{accelerators_.has_value(), "maxFPGAs"},
                                     std::pair{cpus_.has_value(), "maxCPUs"},
                                     std::pair{memory_.has_value(), "maxSizePerFPGA"}}) {
      if (!value) throw InputError(fmt::format("{}: required key \"{}\" is missing", where_, key));
    }
    for (const Edge& edge : edges_) Connect(edge);
    std::unordered_map<std::string, int> of_color;
    for (const Op& op : ops_) ++of_color[op.colocate];
    for (Op& op : ops_) {
      if (of_color[op.colocate] == 1) op.colocate.clear();
    }
    return {.graph = Graph(name_, std::move(tensors_), std::move(ops_), "", where_),
            .cluster = MakeCluster()};
  }

 private:
  struct Edge {
    int index;
    std::int64_t source, target;
    Nanos cost;  // [ns]
  };

  static int ReadCount(const Json& value) {
    const std::int64_t count = JsonCount(value);
    if (count <= kMaxDevices) return static_cast<int>(count);
    throw InputError(fmt::format("got {}; expected at most {} devices", count, kMaxDevices));
  }
  static std::int64_t ReadSize(const Json& value) {
    const double amount = JsonAmount(value);
    if (amount < 0x1p62) return static_cast<std::int64_t>(std::ceil(amount));
    throw InputError(fmt::format("got {}; expected less than 2^62 B", amount));
  }
  // Reads true, false, 1 or 0.
  static bool ReadFlag(const Json& value) {
    if (value.is_boolean()) return value.get<bool>();
    const std::int64_t number = JsonCount(value);
    if (number <= 1) return number == 1;
    throw InputError(fmt::format("got {}; expected true, false, 1 or 0", number));
  }
  double Amount(const JsonRecord& record, std::string_view key) const {
    return record.At(key, [&](const Json& value) {
      const double amount = JsonAmount(value) * kNanosPerUnit;
      if (amount < static_cast<double>(kMaxNanos)) return amount;
      throw InputError(fmt::format("got {}; expected less than 2^56 ns; a unit is {} ns",
                                   ClippedJson(value),
                                   kNanosPerUnit));
    });
  }

  void AddNode(const JsonRecord& node) {
    const std::int64_t id = node.Count("id");
    if (!op_of_id_.try_emplace(id, static_cast<int>(ops_.size())).second) {
      node.Fail(fmt::format("id {} is already used by another node", id));
    }
    Op op;
    op.name = node.Get<std::string>(
        "name", "", [](const Json& value) { return JsonText(value, "a name"); });
    if (op.name.empty()) op.name = fmt::format("node {}", id);
    if (!names_.insert(op.name).second) op.name += fmt::format(" ({})", id);
    names_.insert(op.name);
    op.kind = "node";
    op.cost_ns.emplace_back("cpu", Amount(node, "cpuLatency"));
    if (node.At("supportedOnFpga", ReadFlag)) {
      op.cost_ns.emplace_back("accelerator", Amount(node, "fpgaLatency"));
    } else {
      op.device_kinds = {"cpu"};
    }
    if (node.Get("isBackwardNode", false, ReadFlag)) op.phase = Phase::kBackward;
    if (node.Has("colorClass")) {
      op.colocate = node.At("colorClass", [](const Json& color) {
        return color.is_null() ? "" : "color " + color.dump();
      });
    }
    Tensor memory;
    memory.name = op.name;
    memory.bytes = node.Get<std::int64_t>("size", 0, ReadSize);
    op.outputs.push_back(static_cast<int>(tensors_.size()));
    tensors_.push_back(std::move(memory));
    ops_.push_back(std::move(op));
  }

  void AddEdge(const JsonRecord& edge, int index) {
    edges_.push_back(
        {index, edge.Count("sourceId"), edge.Count("destId"), std::llround(Amount(edge, "cost"))});
  }

  int Find(std::int64_t id, const Edge& edge, std::string_view key) const {
    const auto found = op_of_id_.find(id);
    if (found == op_of_id_.end()) {
      throw InputError(
          fmt::format("{}: edges[{}]: {}: no node has id {}", where_, edge.index, key, id));
    }
    return found->second;
  }

  void Connect(const Edge& edge) {
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
    if (static_cast<double>(std::abs(bytes - edge.cost)) > kSameCost * kNanosPerUnit) {
      throw InputError(fmt::format(
          "{}: edges[{}]: cost: {} ns; an edge of the same source has {} ns, and a node's "
          "output has one cost",
          where_,
          edge.index,
          edge.cost,
          bytes));
    }
    bytes = std::max(bytes, edge.cost);
    if (std::ranges::find(target.inputs, tensor) == target.inputs.end()) {
      target.inputs.push_back(tensor);
    }
  }

  Cluster MakeCluster() const {
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
    return Cluster(name_, kinds, devices, std::vector{channel}, routes, where_);
  }

  std::string name_, where_;
  std::optional<int> accelerators_, cpus_;
  std::optional<std::int64_t> memory_;
  std::vector<Op> ops_;
  std::vector<Tensor> tensors_;
  std::vector<Edge> edges_;
  std::unordered_map<std::int64_t, int> op_of_id_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Instance ReadMaxLoad(std::string_view text, const std::string& name, const std::string& where) {
  MaxLoadReader reader(name, where);
  VisitJson(text, where, kMaxLoadRecords, [&](const JsonPart& part) {
    AtPlace(where, [&] { reader.Visit(part); });
  });
  return reader.Make();
}

}  // namespace emplace

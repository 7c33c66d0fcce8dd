#include "framework/search/problem_id.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "framework/base/raw_stream.h"
#include "framework/search/replicated_search.h"

namespace emplace {
namespace {

// Returns the fingerprint of the bytes that `write` writes.
template <class Write>
std::int64_t FingerprintBy(const Write& write) {
  std::ostringstream out;
  write(out);
  return FingerprintOf(out.view());
}

void WriteGraphParts(std::ostream& out, const Graph& graph) {
  WriteRawText(out, graph.name());
  for (const Tensor& tensor : graph.tensors()) {
    WriteRawList(out, tensor.shape);
    WriteRawText(out, tensor.dtype);
    WriteRaw(out, tensor.bytes);
    WriteRaw(out, tensor.role);
    WriteRaw(out, tensor.alias_of);
  }
  for (const Op& op : graph.ops()) {
    for (const std::string* text : {&op.name, &op.kind, &op.colocate, &op.attributes}) {
      WriteRawText(out, *text);
    }
    for (const std::vector<int>* ids : {&op.inputs, &op.outputs, &op.control_inputs}) {
      WriteRawList(out, *ids);
    }
    WriteRaw(out, op.flops);
    WriteRaw(out, op.bytes_accessed);
    WriteRaw(out, op.workspace_bytes);
    WriteRaw(out, op.phase);
    WriteRaw(out, op.device_kinds.size());
    for (const std::string& kind : op.device_kinds) WriteRawText(out, kind);
    if (op.devices.empty()) continue;  // as before the key existed
    WriteRaw(out, op.devices.size());
    for (const std::string& pattern : op.devices) WriteRawText(out, pattern);
  }
}

// Writes the data of the cluster that a simulation needs. Other parameters of device kinds are in
// the costs.
void WriteClusterParts(std::ostream& out, const Cluster& cluster) {
  WriteRawText(out, cluster.name());
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const Device& device = cluster.device(d);
    const DeviceKind& kind = cluster.kind_of(d);
    WriteRawText(out, device.name);
    WriteRaw(out, device.memory);
    WriteRaw(out, device.slots);
    WriteRaw(out, device.neighbors);
    WriteRawText(out, kind.name);
    WriteRaw(out, kind.device_class);
    for (const Nanos time : {kind.gap, kind.issue, kind.launch}) WriteRaw(out, time);
    WriteRaw(out, kind.pays_transfers);
    WriteRaw(out, kind.cold_read.value_or(Bandwidth{}));
    for (const auto& [op_class, figures] : kind.interference) {
      WriteRawText(out, op_class);
      WriteRaw(out, figures);
    }
  }
  for (const Channel& channel : cluster.channels()) {
    WriteRawText(out, channel.name);
    for (const Nanos time : {channel.latency, channel.setup, channel.gap}) WriteRaw(out, time);
    WriteRaw(out, channel.bandwidth);
    WriteRaw(out, channel.broadcast);
    WriteRaw(out, channel.occupies);
  }
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from == to) continue;
      const std::span<const int> route = cluster.route(from, to);
      WriteRawList(out, std::vector<int>(route.begin(), route.end()));
    }
  }
}

}  // namespace

std::string_view ToString(ProblemPart part) {
  constexpr std::array<std::string_view, kAllParts.size()> kNames = {
      "graph", "groups", "cluster", "costs", "objective", "semantics", "order"};
  return kNames[static_cast<std::size_t>(part)];
}

ProblemId IdOf(const Problem& problem) {
  const std::span<const int> groups = problem.grouping().group_of_op();
  ProblemId id;
  id[ProblemPart::kGraph] =
      FingerprintBy([&](std::ostream& out) { WriteGraphParts(out, problem.graph()); });
  id[ProblemPart::kGroups] = FingerprintBy([&](std::ostream& out) {
    WriteRawList(out, std::vector<int>(groups.begin(), groups.end()));
  });
  id[ProblemPart::kCluster] =
      FingerprintBy([&](std::ostream& out) { WriteClusterParts(out, problem.cluster()); });
  id[ProblemPart::kCosts] = FingerprintBy([&](std::ostream& out) {
    WriteRawList(out, problem.costs().time);
    WriteRawList(out, problem.costs().interference);
  });
  id[ProblemPart::kObjective] =
      FingerprintBy([&](std::ostream& out) { WriteRaw(out, problem.objective()); });
  return id;
}

std::vector<ProblemPart> Differing(const ProblemId& a, const ProblemId& b, ProblemParts parts) {
  std::vector<ProblemPart> differing;
  std::ranges::copy_if(
      parts, std::back_inserter(differing), [&](ProblemPart part) { return a[part] != b[part]; });
  return differing;
}

std::uint64_t Combined(const ProblemId& id) {
  return Checksum(std::as_bytes(std::span(id.parts)));
}

std::int64_t FingerprintOf(std::string_view raw) {
  return static_cast<std::int64_t>(Checksum(std::as_bytes(std::span(raw))));
}

}  // namespace emplace

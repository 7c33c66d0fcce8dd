// Every op of every committed graph: kernels for all but the named kinds, as many FLOPs as the
// graph says, and no view outside of its storage.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/cost/op_kind.h"
#include "framework/graph/graph_io.h"
#include "profilers/kernels/kernel_table.h"
#include "profilers/kernels/op_work.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using std::int64_t;

// Kinds without kernels: shape arithmetic on a few integers, and one search for duplicates.
const std::set<std::string> kProxies{"ConcatOffset", "FloorMod", "Unique"};
const std::map<std::string, std::set<std::string>> kProxiesOf{
    {"bert_base_torch", {}},
    {"gpt2_small_torch", {}},
    {"densenet121", {}},
    {"efficientnet_b0", {}},
    {"inception_v3", {"ConcatOffset", "FloorMod"}},
    {"inception_v3_torch", {}},
    {"mobilenet_v3", {}},
    {"nasnet", {"ConcatOffset", "FloorMod"}},
    {"nmt", {"ConcatOffset", "FloorMod", "Unique"}},
    {"resnet50", {}},
    {"resnet50_torch", {}},
    {"rnnlm", {"ConcatOffset", "FloorMod"}},
    {"t5", {}},
};
constexpr double kProxyBytes = 1e-5;  // their share of all bytes accessed
// Of the graphs that nothing was trained on.
const std::set<std::string> kUnseenProxies{"aten.binary_cross_entropy_with_logits"};
constexpr double kUnseenProxyBytes = 1e-4;

void CheckInside(const Graph& graph, const Op& op, const OpWork& work) {
  for (const KernelCall& call : work.calls) {
    CHECK_EQ(WhyMalformed(call), "");
    for (const auto* arguments : {&call.inputs, &call.outputs}) {
      for (const Argument& argument : *arguments) {
        const auto& tensors = argument.is_output ? op.outputs : op.inputs;
        REQUIRE(argument.index < static_cast<int>(tensors.size()));
        const int tensor = tensors[argument.index];
        const int64_t bytes = graph.tensor(graph.alias_root(tensor)).bytes;
        CHECK_MESSAGE(argument.view.end_bytes() <= bytes, op.name);
        CHECK(argument.view.offset >= 0);
      }
    }
  }
}

void CheckGraphs(const std::filesystem::path& folder,
                 const std::set<std::string>& known,
                 double known_bytes,
                 std::set<std::string>& found) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gz") continue;
    const Graph graph = ReadGraph(entry.path());
    CAPTURE(graph.name());
    found.insert(graph.name());
    std::set<std::string> proxies;
    double bytes = 0, proxy_bytes = 0, proxy_flops = 0;
    for (int id = 0; id < graph.num_ops(); ++id) {
      const Op& op = graph.op(id);
      const OpWork work = WorkOf(graph, id);
      CheckInside(graph, op, work);
      CHECK(work.is_proxy() == !WhyProxy(graph, id).empty());
      if (op.IsStorage() || ClassifyOp(op.kind) == OpClass::kView) {
        CHECK(work.calls.empty());
        continue;
      }
      CHECK_MESSAGE(!work.calls.empty(), op.name);
      double multiply_adds = 0;
      for (const KernelCall& call : work.calls) multiply_adds += MultiplyAdds(call);
      if (multiply_adds > 0) CHECK_MESSAGE(2 * multiply_adds == op.flops, op.name);
      bytes += static_cast<double>(op.bytes_accessed);
      if (!work.is_proxy()) continue;
      proxies.insert(op.kind);
      proxy_bytes += static_cast<double>(op.bytes_accessed);
      proxy_flops += op.flops;
    }
    for (int tensor = 0; tensor < graph.num_tensors(); ++tensor) {
      const TensorView layout = LayoutOf(graph, tensor);
      CHECK(layout.end_bytes() <= graph.tensor(graph.alias_root(tensor)).bytes);
      CHECK(layout.num_elements() * SizeOf(layout.dtype) == graph.tensor(tensor).bytes);
    }
    CHECK(proxy_flops == 0);
    CHECK(proxy_bytes <= known_bytes * bytes);
    const auto expected = kProxiesOf.find(graph.name());
    if (expected != kProxiesOf.end()) {
      CHECK(fmt::format("{}", proxies) == fmt::format("{}", expected->second));
    } else {
      CHECK(std::includes(known.begin(), known.end(), proxies.begin(), proxies.end()));
    }
  }
}

TEST_CASE("committed graphs: kernels for all but the known kinds, views inside of their storage") {
  const std::filesystem::path graphs = testing::SourceDir() / "configs" / "graphs";
  std::set<std::string> found;
  CheckGraphs(graphs, kProxies, kProxyBytes, found);
  CheckGraphs(graphs / "unseen", kUnseenProxies, kUnseenProxyBytes, found);
  for (const auto& [name, proxies] : kProxiesOf) CHECK_MESSAGE(found.contains(name), name);
}

}  // namespace
}  // namespace emplace

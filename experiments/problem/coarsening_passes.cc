#include "experiments/problem/coarsening_passes.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

const std::vector<std::string> kPassNames =
    {"colocate", "gradients", "heavy_edge", "merge_cheapest", "scope", "single_consumer"};

Grouping Apply(const Graph& graph,
               const CoarseningPass& pass,
               const std::vector<double>& weight,
               const Grouping& grouping) {
  if (pass.name == "colocate") return ColocateByLabel(graph, grouping);
  if (pass.name == "gradients") return ColocateGradients(graph, grouping);
  if (pass.name == "scope") return GroupByScope(graph, grouping, pass.depth);
  if (pass.name == "merge_cheapest") return MergeCheapest(graph, grouping, weight, pass.groups);
  if (pass.name == "heavy_edge") return MergeHeavyEdges(graph, grouping, weight, pass.groups);
  EMPLACE_CHECK(pass.name == "single_consumer", pass.name);
  return MergeSingleConsumers(graph, grouping, weight, pass.max_share);
}

}  // namespace

void CoarseningPass::Visit(FieldVisitor& v) {
  if (name == "single_consumer")
    v.Field("max_share", max_share, "largest share of the graph's cost");
  if (name == "scope")
    v.Field("depth", depth, AtLeast(1), "number of leading scopes that must agree");
  if (name == "merge_cheapest" || name == "heavy_edge")
    v.Field("groups", groups, AtLeast(1), "number of groups at which merging stops");
}

CoarseningPass ParsePass(const ConfigNode& node) {
  CoarseningPass pass;
  if (node.IsMap()) {
    const std::vector<std::string> keys = node.Keys();
    if (keys.size() != 1) node.Fail("expected one pass, as in \"scope: {depth: 2}\"");
    pass.name = keys[0];
  } else {
    pass.name = node.AsString();
  }
  if (std::find(kPassNames.begin(), kPassNames.end(), pass.name) == kPassNames.end()) {
    ThrowUnknown(node.Where(), "coarsening pass", pass.name, kPassNames);
  }
  if (!node.IsMap()) return pass;
  const ConfigNode settings = node.At(pass.name);
  pass = ReadFields<CoarseningPass>(settings, pass);
  if (!(pass.max_share > 0 && pass.max_share <= 1)) {
    settings.At("max_share").Fail("expected a share above 0 and at most 1");
  }
  return pass;
}

std::vector<CoarseningPass> ParsePasses(const ConfigNode& list) {
  std::vector<CoarseningPass> passes;
  for (const ConfigNode& node : list.Elements()) passes.push_back(ParsePass(node));
  return passes;
}

std::string FormatPasses(const std::vector<CoarseningPass>& passes) {
  std::vector<std::string> texts;
  for (const CoarseningPass& pass : passes) {
    texts.push_back(pass.name);
    for (const FieldHelp& field : DescribeFields(pass)) {  // at most one
      texts.back() += fmt::format(": {{{}: {}}}", field.key, field.default_value);
    }
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

Grouping ApplyPasses(const Graph& graph,
                     const std::vector<CoarseningPass>& passes,
                     const std::vector<double>& weight,
                     const std::function<void(const CoarseningPass&, const Grouping&)>& report) {
  std::vector<CoarseningPass> all = passes;
  if (all.empty() || all.front().name != "colocate") {
    all.insert(all.begin(), CoarseningPass{.name = "colocate"});
  }
  Grouping grouping = Grouping::Identity(graph.num_ops());
  for (const CoarseningPass& pass : all) {
    grouping = Apply(graph, pass, weight, grouping);
    if (report) report(pass, grouping);
  }
  return grouping;
}

}  // namespace emplace

#include <algorithm>
#include <array>

#include "framework/cost/cost_model.h"
#include "framework/cost/op_tables.h"

namespace emplace {
namespace {

using internal::OpRule;

constexpr std::array<std::string_view, 11> kClassNames{"matmul",
                                                       "convolution",
                                                       "elementwise",
                                                       "reduction",
                                                       "normalization",
                                                       "pooling",
                                                       "gather",
                                                       "copy",
                                                       "update",
                                                       "view",
                                                       "unknown"};

// The rule for `kind` itself, else the one with the longest beginning of it; nullptr if none.
const OpRule* FindRule(std::span<const OpRule> rules, std::string_view kind) {
  const auto by_name = [](const OpRule& rule, std::string_view name) { return rule.name < name; };
  const auto exact = std::lower_bound(rules.begin(), rules.end(), kind, by_name);
  if (exact != rules.end() && exact->name == kind) return &*exact;
  const OpRule* longest = nullptr;
  for (const OpRule& rule : rules) {
    if (!rule.name.ends_with('*')) continue;
    const std::string_view prefix = rule.name.substr(0, rule.name.size() - 1);
    if (kind.starts_with(prefix) &&
        (longest == nullptr || rule.name.size() > longest->name.size())) {
      longest = &rule;
    }
  }
  return longest;
}

// "AddV2" -> "Add".
std::string_view WithoutVersion(std::string_view kind) {
  size_t end = kind.size();
  while (end > 0 && kind[end - 1] >= '0' && kind[end - 1] <= '9') --end;
  const bool has_version = end < kind.size() && end > 1 && kind[end - 1] == 'V';
  return has_version ? kind.substr(0, end - 1) : kind;
}

OpClass ClassifyAten(std::string_view name) {
  name = name.substr(0, name.find('.'));  // the overload: "add.Tensor"
  const OpRule* rule = FindRule(internal::AtenOps(), name);
  if (rule == nullptr && name.ends_with('_')) {  // in place: "relu_"
    name.remove_suffix(1);
    rule = FindRule(internal::AtenOps(), name);
  }
  return rule != nullptr ? rule->op_class : OpClass::kUnknown;
}

}  // namespace

std::string_view ToString(OpClass op_class) {
  return kClassNames[static_cast<size_t>(op_class)];
}

std::vector<std::string> OpClassNames() {
  std::vector<std::string> names;
  for (const std::string_view name : kClassNames) {
    if (name != ToString(OpClass::kView)) names.emplace_back(name);
  }
  return names;
}

OpClass ClassifyOp(std::string_view kind) {
  if (kind == "parameter" || kind == "constant") return OpClass::kView;
  for (const std::string_view prefix : {"aten.", "aten::"}) {
    if (kind.starts_with(prefix)) return ClassifyAten(kind.substr(prefix.size()));
  }
  if (kind.starts_with("optimizer.")) return OpClass::kUpdate;
  const OpRule* rule = FindRule(internal::TensorFlowOps(), kind);
  if (rule == nullptr) rule = FindRule(internal::TensorFlowOps(), WithoutVersion(kind));
  return rule != nullptr ? rule->op_class : OpClass::kUnknown;
}

}  // namespace emplace

#include "framework/cost/op_kind.h"

#include <algorithm>
#include <span>

#include "framework/cost/op_tables.h"

namespace emplace {
namespace {

using internal::OpRule;

// The rule for `name` itself, else the one with the longest beginning of it; nullptr if none.
const OpRule* FindRule(std::span<const OpRule> rules, std::string_view name) {
  const auto exact = std::ranges::lower_bound(rules, name, {}, &OpRule::name);
  if (exact != rules.end() && exact->name == name) return &*exact;
  const OpRule* longest = nullptr;
  for (const OpRule& rule : rules) {
    if (!rule.name.ends_with('*')) continue;
    const std::string_view prefix = rule.name.substr(0, rule.name.size() - 1);
    if (name.starts_with(prefix) &&
        (longest == nullptr || rule.name.size() > longest->name.size())) {
      longest = &rule;
    }
  }
  return longest;
}

std::span<const OpRule> Rules(OpOrigin origin) {
  switch (origin) {
    case OpOrigin::kAten:
      return internal::AtenOps();
    case OpOrigin::kOnnx:
      return internal::OnnxOps();
    case OpOrigin::kJax:
      return internal::JaxOps();
    case OpOrigin::kOptimizer:  // all are updates
      return {};
    case OpOrigin::kTensorFlow:
      return internal::TensorFlowOps();
  }
  return {};
}

// "AddV2" -> "Add".
std::string_view WithoutVersion(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  const bool has_version = end < name.size() && end > 1 && name[end - 1] == 'V';
  return has_version ? name.substr(0, end - 1) : name;
}

}  // namespace

OpName ParseOpKind(std::string_view kind) {
  for (const std::string_view prefix : {"aten.", "aten::"}) {
    if (!kind.starts_with(prefix)) continue;
    std::string_view name = kind.substr(prefix.size());
    name = name.substr(0, name.find('.'));  // the overload: "add.Tensor"
    return {OpOrigin::kAten, name, name.substr(0, name.size() - name.ends_with('_'))};
  }
  if (kind.starts_with("optimizer.")) return {OpOrigin::kOptimizer, kind, kind};
  if (constexpr std::string_view kPrefix = "onnx."; kind.starts_with(kPrefix)) {
    const std::string_view name = kind.substr(kPrefix.size());
    return {OpOrigin::kOnnx, name, name.substr(name.rfind('.') + 1)};  // npos + 1 is 0: no domain
  }
  if (constexpr std::string_view kPrefix = "jax."; kind.starts_with(kPrefix)) {
    const std::string_view name = kind.substr(kPrefix.size());
    return {OpOrigin::kJax, name, name};
  }
  return {OpOrigin::kTensorFlow, kind, WithoutVersion(kind)};
}

std::string_view AtenName(std::string_view kind) {
  const OpName op = ParseOpKind(kind);
  return op.origin == OpOrigin::kAten ? op.name : std::string_view();
}

OpClass ClassifyOp(std::string_view kind) {
  if (kind == "parameter" || kind == "constant") return OpClass::kView;
  const OpName op = ParseOpKind(kind);
  if (op.origin == OpOrigin::kOptimizer) return OpClass::kUpdate;
  const std::span<const OpRule> rules = Rules(op.origin);
  const OpRule* rule = FindRule(rules, op.name);
  if (rule == nullptr) rule = FindRule(rules, op.base);
  return rule != nullptr ? rule->op_class : OpClass::kUnknown;
}

}  // namespace emplace

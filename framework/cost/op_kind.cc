#include "framework/cost/op_kind.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {
namespace internal {
extern const std::string_view kAtenOps, kJaxOps, kOnnxOps, kTensorFlowOps;  // op_classes/*.yaml
}

namespace {

// The classes of complete names, and of names with a given beginning ("Apply" for "Apply*").
struct OpRules {
  std::map<std::string, OpClass, std::less<>> names, beginnings;
};

// @throws InputError if a class is unknown or a name is listed twice
OpRules ReadRules(std::string_view text, const std::string& file) {
  const ConfigNode kinds = ConfigNode::FromString(std::string(text), file);
  OpRules rules;
  std::vector<std::string> classes;
  for (int c = 0; c < static_cast<int>(OpClass::kUnknown); ++c) {
    const auto op_class = static_cast<OpClass>(c);
    const std::string& key = classes.emplace_back(ToString(op_class));
    if (!kinds.Has(key)) continue;
    for (const ConfigNode& kind : kinds.At(key).Elements()) {
      std::string name = kind.AsString();
      const bool is_beginning = name.ends_with('*');
      if (is_beginning) name.pop_back();
      auto& table = is_beginning ? rules.beginnings : rules.names;
      if (!table.emplace(name, op_class).second) kind.Fail("the name is listed twice");
    }
  }
  kinds.RequireKnownKeys(classes);
  return rules;
}

// Returns the class of `name`, or of its longest listed beginning; kUnknown without one.
OpClass FindClass(const OpRules& rules, std::string_view name) {
  if (const auto rule = rules.names.find(name); rule != rules.names.end()) return rule->second;
  for (size_t length = name.size(); length > 0; --length) {
    const auto rule = rules.beginnings.find(name.substr(0, length));
    if (rule != rules.beginnings.end()) return rule->second;
  }
  return OpClass::kUnknown;
}

// Each file is read when the first op of its origin is classified.
const OpRules& Rules(OpOrigin origin) {
  if (origin == OpOrigin::kAten) {
    static const OpRules kRules = ReadRules(internal::kAtenOps, "op_classes/aten.yaml");
    return kRules;
  }
  if (origin == OpOrigin::kOnnx) {
    static const OpRules kRules = ReadRules(internal::kOnnxOps, "op_classes/onnx.yaml");
    return kRules;
  }
  if (origin == OpOrigin::kJax) {
    static const OpRules kRules = ReadRules(internal::kJaxOps, "op_classes/jax.yaml");
    return kRules;
  }
  static const OpRules kRules = ReadRules(internal::kTensorFlowOps, "op_classes/tensorflow.yaml");
  return kRules;
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
  const OpRules& rules = Rules(op.origin);
  const OpClass op_class = FindClass(rules, op.name);
  return op_class != OpClass::kUnknown ? op_class : FindClass(rules, op.base);
}

}  // namespace emplace

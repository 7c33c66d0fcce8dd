#include "experiments/table/layout_columns.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/table/run_keys.h"
#include "framework/base/error.h"

namespace emplace::internal {
namespace {

struct ColumnFields {
  std::string name, label, agent, value = "step_time", target, formula, unit;
  ConfigNode where = ConfigNode::FromString("{}", "default");

  void Visit(FieldVisitor& v) {
    v.Field("name", name, "name in formulas");
    v.Field("label", label, "heading");
    v.Field("agent", agent, "label of the agent");
    v.Field("value", value, "quantity of the agent's runs");
    v.Field("target", target, "target of the values that end in _to, and of reached");
    v.Field("formula", formula, "formula of other columns");
    v.Field("unit", unit, "unit of the formula's numbers");
    v.Field("where", where, "further conditions on the runs");
  }
};

struct NamedValue {
  const char* name;
  ColumnValue value;
  const char* unit;  // "": unit of the table
};
constexpr NamedValue kValues[] = {
    {"step_time", ColumnValue::kStepTime, ""},
    {"evaluations", ColumnValue::kEvaluations, "count"},
    {"seconds", ColumnValue::kSeconds, "s"},
    {"ranks", ColumnValue::kRanks, "count"},
    {"hardware_hours", ColumnValue::kHardwareHours, "h"},
    {"evaluations_to", ColumnValue::kEvaluationsTo, "count"},
    {"seconds_to", ColumnValue::kSecondsTo, "s"},
    {"expected_evaluations_to", ColumnValue::kExpectedEvaluationsTo, "count"},
    {"expected_seconds_to", ColumnValue::kExpectedSecondsTo, "s"},
    {"reached", ColumnValue::kReached, "percent"},
    {"bound", ColumnValue::kBound, ""},
    {"best_known", ColumnValue::kBestKnown, ""},
    {"best_single_device", ColumnValue::kBestSingleDevice, ""},
    {"speed_up", ColumnValue::kSpeedUp, "ratio"},
    {"gap", ColumnValue::kGap, "percent"},
    {"optimal", ColumnValue::kOptimal, "count"},
    {"noise_regret", ColumnValue::kNoiseRegret, "percent"},
    {"formula", ColumnValue::kFormula, ""}};  // the last; not for the key `value`

const NamedValue& FindValue(const std::string& name, const ConfigNode& place) {
  std::vector<std::string> names;
  for (const NamedValue& value : std::span(kValues).first(std::size(kValues) - 1)) {
    if (value.name == name) return value;
    names.emplace_back(value.name);
  }
  ThrowUnknown(place.Where(), "value", name, names);
}

void ReadAgentColumn(const ConfigNode& node,
                     const ColumnFields& fields,
                     const std::string& unit,
                     LayoutColumn& column) {
  const NamedValue& value = FindValue(fields.value, PlaceOf(node, "value"));
  column.value = value.value;
  column.agent = fields.agent;
  column.where = ReadConditions(fields.where);
  column.unit = *value.unit != 0 ? value.unit : unit;
  if (!fields.unit.empty() && fields.unit != column.unit) {
    node.At("unit").Fail(fmt::format("{} is in {} here", fields.value, column.unit));
  }
  if (HasTarget(column.value) != !fields.target.empty()) {
    PlaceOf(node, "target")
        .Fail(
            "expected target: FORMULA with value: evaluations_to, seconds_to, "
            "expected_evaluations_to, expected_seconds_to or reached, only there");
  }
  if (!fields.target.empty()) column.formula.emplace(fields.target, node.At("target"));
}

void ReadFormulaColumn(const ConfigNode& node,
                       const ColumnFields& fields,
                       const std::string& unit,
                       LayoutColumn& column) {
  for (const char* key : {"agent", "value", "target", "where"}) {
    if (node.Has(key)) node.At(key).Fail("does not apply to columns with a formula");
  }
  std::vector<std::string> units = {"percent", "ratio", "count", "h"};
  units.insert(units.end(), kTimeUnits.begin(), kTimeUnits.end());
  column.value = ColumnValue::kFormula;
  column.formula.emplace(fields.formula, node.At("formula"));
  column.unit =
      fields.unit.empty() ? unit : RequireOneOf(fields.unit, units, "unit", PlaceOf(node, "unit"));
}

}  // namespace

const std::string& RequireOneOf(const std::string& value,
                                const std::vector<std::string>& choices,
                                const std::string& what,
                                const ConfigNode& place) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    ThrowUnknown(place.Where(), what, value, choices);
  }
  return value;
}

std::vector<RunCondition> ReadConditions(const ConfigNode& node,
                                         const std::vector<std::string>& own) {
  const std::vector<std::string> keys = RunKeys();
  std::vector<std::string> known = own;
  known.insert(known.end(), keys.begin(), keys.end());
  node.RequireKnownKeys(known);
  std::vector<RunCondition> conditions;
  for (const std::string& key : node.Keys()) {
    if (std::find(own.begin(), own.end(), key) != own.end()) continue;
    conditions.push_back({key, FlowText(node.At(key))});
  }
  return conditions;
}

LayoutColumns::LayoutColumns(const ConfigNode& list, const std::string& unit) : unit_(unit) {
  for (const ConfigNode& node : list.Elements()) Read(node);
  if (columns_.empty()) list.Fail("expected at least one column");
  for (int i = 0; i < std::ssize(columns_); ++i) AppendToOrder(i);
}

void LayoutColumns::Read(const ConfigNode& node) {
  const auto fields = ReadFields<ColumnFields>(node);
  LayoutColumn column;
  column.name = fields.name.empty() ? fields.agent : fields.name;
  column.label = fields.label.empty() ? column.name : fields.label;
  if (column.name.empty()) node.Fail("expected a name");
  if (!Formula::CanName(column.name)) {
    PlaceOf(node, "name")
        .Fail(fmt::format("\"{}\" cannot be used in formulas; expected letters, digits and _, "
                          "without a digit first, and not the name of a function",
                          column.name));
  }
  if (IndexOf(column.name) >= 0) {
    PlaceOf(node, "name").Fail(fmt::format("there are two columns \"{}\"", column.name));
  }
  if (fields.formula.empty()) {
    ReadAgentColumn(node, fields, unit_, column);
  } else {
    ReadFormulaColumn(node, fields, unit_, column);
  }
  columns_.push_back(std::move(column));
  nodes_.push_back(node);
}

int LayoutColumns::IndexOf(const std::string& name) const {
  for (int i = 0; i < std::ssize(columns_); ++i) {
    if (columns_[i].name == name) return i;
  }
  return -1;
}

std::vector<std::string> LayoutColumns::Names() const {
  std::vector<std::string> names;
  for (const LayoutColumn& column : columns_) names.push_back(column.name);
  return names;
}

void LayoutColumns::RequireNames(const Formula& formula) const {
  for (const std::string& name : formula.names()) {
    if (IndexOf(name) >= 0) continue;
    ThrowUnknown(formula.place().Where(), "column", name, Names());
  }
}

// Appends the column after its inputs, depth first.
void LayoutColumns::AppendToOrder(int index) {
  if (std::find(order_.begin(), order_.end(), index) != order_.end()) return;
  const LayoutColumn& column = columns_[index];
  path_.push_back(column.name);
  const auto waiting = std::find(path_.begin(), path_.end(), column.name);
  if (waiting != path_.end() - 1) {
    const std::vector<std::string> circle(waiting, path_.end());
    nodes_[index].Fail(
        fmt::format("columns depend on one another: {}", fmt::join(circle, " needs ")));
  }
  if (column.formula) {
    RequireNames(*column.formula);
    for (const std::string& name : column.formula->names()) AppendToOrder(IndexOf(name));
  }
  path_.pop_back();
  order_.push_back(index);
}

}  // namespace emplace::internal

std::string_view emplace::ToString(ColumnValue value) {
  return std::ranges::find(internal::kValues, value, &internal::NamedValue::value)->name;
}

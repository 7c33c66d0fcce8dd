#include "experiments/table/table_layout.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/table/layout_columns.h"
#include "experiments/table/run_keys.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

using internal::LayoutColumns;
using internal::ReadConditions;
using internal::RequireOneOf;

const std::vector<std::string> kConfidences = {"V", "R", "?", "ours"};

struct LayoutFields {
  std::string title, note, unit = "s", sort;
  ConfigNode rows = ConfigNode::FromString("varying", "default");
  ConfigNode columns = ConfigNode::FromString("agents", "default");
  ConfigNode published = ConfigNode::FromString("{}", "default");
  ConfigNode claims = ConfigNode::FromString("[]", "default");

  void Visit(FieldVisitor& v) {
    v.Field("title", title, "heading");
    v.Field("note", note, "printed below the table");
    v.Field("unit", unit, "unit of all step times: s, ms, us or ns");
    v.Field("rows",
            rows,
            "list of maps of keys of a run config and agent (its label), which select the row's "
            "runs, with label: TEXT and published: {COLUMN: NUMBER, oom, null or {value: ..., "
            "confidence: ...}}; or a list of such keys: a row per combination found; or varying: "
            "by graph, cluster and all other keys in which the runs differ");
    v.Field("columns",
            columns,
            "list of {name: NAME, label: TEXT, agent: LABEL, value: step_time, evaluations, "
            "seconds, ranks (processes of the run), hardware_hours, speed_up (over the best single "
            "device), gap, optimal, noise_regret (after emplace stress), evaluations_to or "
            "seconds_to (medians), expected_evaluations_to or expected_seconds_to (total of all "
            "runs divided by the number that reached the target) or reached (share of the runs) "
            "with target: FORMULA, or bound, best_known or best_single_device (of all agents and "
            "runs of the problem if none is named), where: {KEY: VALUE}} and {name: NAME, label: "
            "TEXT, formula: FORMULA, unit: percent, ratio, count or a time}, whose names stand for "
            "the other columns' numbers in their units (23.5 in percent); or agents: the step time "
            "of each agent found, best first. A number is the median over the seeds, with their "
            "[range] below 6 seeds and its [95 % bootstrap interval] from 6 on");
    v.Field("sort",
            sort,
            "name of a column: the row with its least number comes first, in each problem if rows "
            "differ in the agent alone; empty: the order of the runs");
    v.Field("published",
            published,
            "{source: TEXT, confidence: V, R, ? or ours} of the rows' published numbers, which "
            "have their columns' units");
    v.Field("claims",
            claims,
            "list of {text: TEXT, confidence: V, R, ? or ours, holds: FORMULA <= FORMULA (or <, >, "
            ">=), where: {KEY: VALUE} of the rows, in: every, some or most of them, of: COLUMN of "
            "the method whose step times the claim calls short: adds the values with the best "
            "known placements and with the bounds}");
  }
};

struct PublishedFields {
  std::string source, confidence;
  void Visit(FieldVisitor& v) {
    v.Field("source", source, "paper and table");
    v.Field("confidence", confidence, "confidence in its numbers");
  }
};

struct ClaimFields {
  std::string text, confidence, holds, in = "every", of;
  ConfigNode where = ConfigNode::FromString("{}", "default");
  void Visit(FieldVisitor& v) {
    v.Field("text", text, "the claim in words");
    v.Field("confidence", confidence, "confidence that the paper makes the claim");
    v.Field("holds", holds, "comparison of two formulas");
    v.Field("where", where, "rows to which it applies");
    v.Field("in", in, "every, some or most of them");
    v.Field("of", of, "column of the method");
  }
};

std::string ReadConfidence(const std::string& value, const ConfigNode& place) {
  if (value.empty()) place.Fail("expected confidence: " + JoinChoices(kConfidences));
  return RequireOneOf(value, kConfidences, "confidence", place);
}

// Reads a number, oom, or {value: one of these, confidence: V}; none for null.
std::optional<PublishedNumber> ReadPublished(const ConfigNode& node,
                                             const std::string& confidence) {
  if (node.IsNull()) return std::nullopt;
  if (node.IsMap()) {
    node.RequireKnownKeys(std::vector<std::string>{"value", "confidence"});
    const ConfigNode place = PlaceOf(node, "confidence");
    return ReadPublished(
        node.At("value"),
        node.Has("confidence") ? ReadConfidence(place.AsString(), place) : confidence);
  }
  if (confidence.empty()) {
    node.Fail("a published number needs a confidence; add published: {source: ..., confidence: " +
              JoinChoices(kConfidences) + "}");
  }
  if (node.IsScalar() && node.AsString() == "oom") {
    return PublishedNumber{std::numeric_limits<double>::infinity(), "OOM", confidence};
  }
  return PublishedNumber{node.AsDouble(), node.AsString(), confidence};
}

// Reads the parts of a layout in order; later parts are checked against earlier ones.
class LayoutReader {
 public:
  explicit LayoutReader(const ConfigNode& root) : fields_(ReadFields<LayoutFields>(root)) {
    layout_.title = fields_.title;
    layout_.note = fields_.note;
    layout_.unit = RequireOneOf(fields_.unit, internal::kTimeUnits, "unit", PlaceOf(root, "unit"));
    layout_.sort = fields_.sort;
    layout_.yaml = root.Dump();
    sort_place_ = PlaceOf(root, "sort");
  }

  TableLayout Read() {
    ReadPublishedSource();
    ReadColumns();
    ReadRows();
    RequireAgents();
    for (const ConfigNode& node : fields_.claims.Elements()) ReadClaim(node);
    return std::move(layout_);
  }

 private:
  void ReadPublishedSource() {
    const auto published = ReadFields<PublishedFields>(fields_.published);
    layout_.published_source = published.source;
    if (fields_.published.Keys().empty()) return;
    layout_.published_confidence =
        ReadConfidence(published.confidence, PlaceOf(fields_.published, "confidence"));
  }

  void ReadColumns() {
    if (fields_.columns.IsScalar()) {
      RequireOneOf(fields_.columns.AsString(), {"agents"}, "columns", fields_.columns);
      layout_.agents_as_columns = true;
      if (!layout_.sort.empty()) sort_place_.Fail("expected a list of columns with sort");
      return;
    }
    columns_.emplace(fields_.columns, layout_.unit);
    if (!layout_.sort.empty()) {
      RequireOneOf(layout_.sort, columns_->Names(), "column", sort_place_);
    }
    layout_.columns = columns_->columns();
    layout_.order = columns_->order();
  }

  void ReadRows() {
    const ConfigNode& rows = fields_.rows;
    if (rows.IsScalar()) {
      RequireOneOf(rows.AsString(), {"varying"}, "rows", rows);
      return;
    }
    const std::vector<ConfigNode> elements = rows.Elements();
    if (elements.empty()) rows.Fail("expected at least one row or key");
    for (const ConfigNode& node : elements) {
      if (elements[0].IsMap()) {
        ReadRow(node);
        continue;
      }
      const std::string key = node.AsString();
      RequireOneOf(key, RunKeys(), "key", node);
      if (std::count(layout_.row_keys.begin(), layout_.row_keys.end(), key) > 0) {
        node.Fail(fmt::format("key \"{}\" is listed twice", key));
      }
      layout_.row_keys.push_back(key);
    }
  }

  void ReadRow(const ConfigNode& node) {
    LayoutRow row;
    row.runs = ReadConditions(node, {"label", "published"});
    if (row.runs.empty()) node.Fail("expected a key that selects runs, such as graph");
    if (node.Has("label")) {
      row.label = node.At("label").AsString();
    } else {
      for (const auto& [key, value] : row.runs) {
        row.label += fmt::format("{}{}={}", row.label.empty() ? "" : " ", key, value);
      }
    }
    if (node.Has("published")) {
      const ConfigNode published = node.At("published");
      if (columns_) published.RequireKnownKeys(columns_->Names());
      for (const std::string& name : published.Keys()) {
        const auto number = ReadPublished(published.At(name), layout_.published_confidence);
        if (number) row.published[name] = *number;
      }
    }
    layout_.rows.push_back(std::move(row));
  }

  // A median over several agents would be meaningless.
  void RequireAgents() const {
    const auto says_agent = [](const std::vector<RunCondition>& conditions) {
      return std::any_of(conditions.begin(), conditions.end(), [](const RunCondition& condition) {
        return condition.key == "agent";
      });
    };
    const bool in_keys = std::count(layout_.row_keys.begin(), layout_.row_keys.end(), "agent") > 0;
    const bool in_rows = !layout_.rows.empty() &&
                         std::all_of(layout_.rows.begin(),
                                     layout_.rows.end(),
                                     [&](const LayoutRow& row) { return says_agent(row.runs); });
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      const LayoutColumn& column = layout_.columns[i];
      if (column.value == ColumnValue::kFormula || !column.agent.empty()) continue;
      if (IsOfProblem(column.value)) continue;
      if (!in_keys && !in_rows && !says_agent(column.where)) {
        columns_->node(i).Fail("expected agent: LABEL (or rows with the key agent), or a formula");
      }
    }
  }

  void ReadClaim(const ConfigNode& node) {
    const auto fields = ReadFields<ClaimFields>(node);
    if (fields.text.empty()) node.Fail("expected text, the claim in words");
    if (fields.holds.empty()) node.Fail("expected holds, a comparison as in \"rl <= expert\"");
    RequireOneOf(fields.in, kClaimScopes, "in", PlaceOf(node, "in"));
    LayoutClaim claim{
        fields.text,
        ReadConfidence(fields.confidence, PlaceOf(node, "confidence")),
        fields.holds,
        ParseComparison(fields.holds, node.At("holds")),
        ReadConditions(fields.where),
        static_cast<ClaimScope>(std::ranges::find(kClaimScopes, fields.in) - kClaimScopes.begin()),
        fields.of};
    if (columns_) {
      columns_->RequireNames(claim.holds.left);
      columns_->RequireNames(claim.holds.right);
      RequireMethod(claim, node);
    }
    RequireRows(claim, fields.where);
    layout_.claims.push_back(std::move(claim));
  }

  void RequireMethod(const LayoutClaim& claim, const ConfigNode& node) const {
    if (claim.of.empty()) return;
    std::vector<std::string> choices;
    for (const LayoutColumn& column : layout_.columns) {
      if (column.value == ColumnValue::kStepTime) choices.push_back(column.name);
    }
    RequireOneOf(claim.of, choices, "column of a step time", node.At("of"));
  }

  void RequireRows(const LayoutClaim& claim, const ConfigNode& where) const {
    for (const RunCondition& condition : claim.where) {
      if (!layout_.row_keys.empty()) {
        RequireOneOf(condition.key, layout_.row_keys, "key of the rows", where.At(condition.key));
      }
    }
    if (layout_.rows.empty()) return;
    const bool matches =
        std::any_of(layout_.rows.begin(), layout_.rows.end(), [&](const LayoutRow& row) {
          return SatisfiesAll(row.runs, claim.where);
        });
    if (!matches) where.Fail(fmt::format("{} matches no row", FlowText(where)));
  }

  LayoutFields fields_;
  ConfigNode sort_place_;
  TableLayout layout_;
  std::optional<LayoutColumns> columns_;  // none: agents are columns
};

}  // namespace

bool SatisfiesAll(const std::vector<RunCondition>& row, const std::vector<RunCondition>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const RunCondition& condition) {
    return std::find(row.begin(), row.end(), condition) != row.end();
  });
}

TableLayout ReadTableLayout(const ConfigNode& root) {
  return LayoutReader(root).Read();
}

std::vector<FieldHelp> DescribeTableLayout() {
  return DescribeFields<LayoutFields>();
}

double PerNanosecond(const std::string& unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e-3;
  if (unit == "ms") return 1e-6;
  EMPLACE_CHECK(unit == "s", unit);
  return 1e-9;
}

}  // namespace emplace

#include "framework/cost/cost_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/cost/cost_table_records.h"

namespace emplace {
namespace {

using internal::FieldWriter;
using internal::VisitFields;

template <class T>
std::string FormatRecord(T record, FieldWriter writer = {}) {
  VisitFields(writer, record);
  return writer.Close();
}

std::string FormatOp(const std::string& device_kind, const OpMeasurement& op) {
  FieldWriter writer;
  writer.Raw("device_kind", QuoteJson(device_kind));
  return FormatRecord(op, std::move(writer));
}

std::string FormatFit(const std::string& device_kind,
                      std::string_view scope,
                      const std::string& name,
                      const RooflineFit& fit) {
  FieldWriter writer;
  writer.Raw("device_kind", QuoteJson(device_kind));
  writer.Raw("scope", QuoteJson(scope));
  writer.Raw("name", QuoteJson(name));
  return FormatRecord(fit, std::move(writer));
}

// ,"key": [one record per line]
void AppendList(std::string& text, std::string_view key, const std::vector<std::string>& records) {
  text += fmt::format(",\n\"{}\": [", key);
  if (!records.empty()) text += fmt::format("\n{}\n", fmt::join(records, ",\n"));
  text += ']';
}

template <class T, class Format>
void AppendList(std::string& text,
                std::string_view key,
                const std::vector<T>& values,
                const Format& format) {
  std::vector<std::string> records;
  records.reserve(values.size());
  for (const T& value : values) records.push_back(format(value));
  AppendList(text, key, records);
}

template <class T>
void AppendRecords(std::string& text, std::string_view key, const std::vector<T>& values) {
  AppendList(text, key, values, [](const T& value) { return FormatRecord(value); });
}

}  // namespace

const Timing* OpMeasurement::Best(bool prefer_in_situ) const {
  if (prefer_in_situ && in_situ) return &*in_situ;
  if (isolated) return &*isolated;
  if (cold) return &*cold;
  return in_situ ? &*in_situ : nullptr;
}

std::optional<double> OpMeasurement::Time(bool prefer_in_situ) const {
  const Timing* timing = Best(prefer_in_situ);
  if (timing == nullptr) return std::nullopt;
  return in_situ && timing == &*in_situ ? timing->Additive() : timing->median;
}

const OpMeasurement* KindCosts::Find(std::string_view signature) const {
  const auto op = std::lower_bound(
      ops.begin(), ops.end(), signature, [](const OpMeasurement& a, std::string_view b) {
        return a.signature < b;
      });
  return op != ops.end() && op->signature == signature ? &*op : nullptr;
}

const KindCosts* CostTable::Find(std::string_view device_kind) const {
  const auto found = std::find_if(
      kinds.begin(), kinds.end(), [&](const KindCosts& k) { return k.kind.name == device_kind; });
  return found != kinds.end() ? &*found : nullptr;
}

std::string FormatCostTable(const CostTable& table) {
  std::vector<std::string> kinds, ops, fits;
  for (const KindCosts& costs : table.kinds) {
    const std::string& name = costs.kind.name;
    kinds.push_back(FormatRecord(costs.kind));
    for (const OpMeasurement& op : costs.ops) ops.push_back(FormatOp(name, op));
    for (const auto& [op, fit] : costs.by_op) fits.push_back(FormatFit(name, "op", op, fit));
    for (const auto& [op_class, fit] : costs.by_class) {
      fits.push_back(FormatFit(name, "class", op_class, fit));
    }
  }
  std::vector<std::string> properties;
  for (const auto& [key, value] : table.properties) {
    properties.push_back(fmt::format("  {}: {}", QuoteJson(key), QuoteJson(value)));
  }

  // Readers of version 1 do not know the class network.
  const bool has_network = std::ranges::any_of(
      table.kinds, [](const KindCosts& k) { return k.kind.device_class == DeviceClass::kNetwork; });
  std::string text =
      fmt::format("{{\"format\": \"emplace-costs\",\n\"version\": {},\n", has_network ? 2 : 1);
  text += fmt::format("\"machine\": {},\n\"complete\": {},\n\"properties\": {{\n{}\n}}",
                      QuoteJson(table.machine),
                      table.complete,
                      fmt::join(properties, ",\n"));
  AppendList(text, "warnings", table.warnings, QuoteJson);
  AppendList(text, "device_kinds", kinds);
  AppendRecords(text, "dispatch", table.dispatch);
  AppendList(text, "fits", fits);
  AppendList(text, "ops", ops);
  AppendRecords(text, "links", table.links);
  AppendRecords(text, "link_contention", table.link_contention);
  AppendRecords(text, "interference", table.interference);
  AppendRecords(text, "held_out", table.held_out);
  return text + "\n}\n";
}

}  // namespace emplace

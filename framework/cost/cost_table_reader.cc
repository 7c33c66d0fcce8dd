#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/base/json_record.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/cost_table_records.h"

namespace emplace {
namespace {

using internal::FieldReader;

constexpr std::string_view kFormat = "emplace-costs";
constexpr int kVersion = 2;
constexpr std::array<std::string_view, 8> kRecordKeys{"device_kinds",
                                                      "dispatch",
                                                      "fits",
                                                      "ops",
                                                      "links",
                                                      "link_contention",
                                                      "interference",
                                                      "held_out"};

class TableReader {
 public:
  explicit TableReader(const std::string& where) : where_(where) {}

  // Errors are reported at the end, when it is known whether the file has our format.
  void Visit(const JsonPart& part) {
    if (!error_.empty() && part.key != "format" && part.key != "version") return;
    try {
      part.index < 0 ? ReadFileKey(part.key, part.value)
                     : ReadRecord(JsonRecord(part.value, part.key, part.index), part);
    } catch (const InputError& error) {
      error_ = fmt::format("{}: {}", where_, error.what());
    }
  }

  CostTable Finish() {
    CheckJsonFormat(format_, version_, kFormat, kVersion, where_);
    if (!error_.empty()) throw InputError(error_);
    for (const char* key : {"machine", "device_kinds", "ops"}) {
      if (std::find(seen_.begin(), seen_.end(), key) == seen_.end()) {
        throw InputError(fmt::format("{}: required key \"{}\" is missing", where_, key));
      }
    }
    for (auto& [device_kind, place, op] : ops_) {
      FindKind(device_kind, place).ops.push_back(std::move(op));
    }
    for (KindCosts& kind : table_.kinds) SortOps(kind);
    for (auto& [device_kind, place, scope, name, fit] : fits_) {
      KindCosts& kind = FindKind(device_kind, place);
      if (!(scope == "op" ? kind.by_op : kind.by_class).emplace(name, fit).second) {
        throw InputError(fmt::format("{}: {}: {} {} of device kind \"{}\" is listed twice",
                                     where_,
                                     place,
                                     scope,
                                     QuoteJson(name),
                                     device_kind));
      }
    }
    return std::move(table_);
  }

 private:
  struct PlacedOp {
    std::string device_kind, place;
    OpMeasurement op;
  };
  struct PlacedFit {
    std::string device_kind, place, scope, name;
    RooflineFit fit;
  };

  void ReadFileKey(std::string_view key, const Json& value) {
    seen_.emplace_back(key);
    try {
      if (key == "format") {
        format_ = value;
      } else if (key == "version") {
        version_ = value;
      } else if (key == "machine") {
        table_.machine = JsonText(value, "a description of the machine");
      } else if (key == "complete") {
        table_.complete = JsonBool(value);
      } else if (key == "properties") {
        if (!value.is_object()) {
          throw InputError(fmt::format("got {}; expected an object", ClippedJson(value)));
        }
        for (const auto& [name, text] : value.items()) {
          table_.properties[name] = JsonText(text, "a property");
        }
      } else if (key == "warnings") {
        RequireJsonList(value);
        for (const Json& warning : value) {
          table_.warnings.push_back(JsonText(warning, "a warning"));
        }
      } else if (std::find(kRecordKeys.begin(), kRecordKeys.end(), key) != kRecordKeys.end()) {
        RequireJsonList(value);
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", key, error.what()));
    }
  }

  void ReadRecord(const JsonRecord& record, const JsonPart& part) {
    static const std::vector<std::string> kScopes{"op", "class"};
    const auto place = [&] { return fmt::format("{}[{}]", part.key, part.index); };
    if (part.key == "ops") {
      ops_.push_back(
          {record.Name("device_kind"), place(), FieldReader::ReadFields<OpMeasurement>(record)});
    } else if (part.key == "device_kinds") {
      KindCosts kind{.kind = FieldReader::ReadFields<DeviceKind>(record)};
      if (table_.Find(kind.kind.name) != nullptr) record.Fail("the device kind is listed twice");
      table_.kinds.push_back(std::move(kind));
    } else if (part.key == "fits") {
      const auto read_scope = [](const Json& value) { return JsonChoice(value, "scope", kScopes); };
      const std::string scope = record.At("scope", read_scope);
      if (scope == "class") record.At("name", internal::JsonOpClass);
      fits_.push_back({record.Name("device_kind"),
                       place(),
                       scope,
                       record.Name("name"),
                       FieldReader::ReadFields<RooflineFit>(record)});
    } else if (part.key == "links") {
      table_.links.push_back(FieldReader::ReadFields<LinkMeasurement>(record));
    } else if (part.key == "dispatch") {
      table_.dispatch.push_back(FieldReader::ReadFields<DispatchCosts>(record));
    } else if (part.key == "held_out") {
      const HeldOutStep step = FieldReader::ReadFields<HeldOutStep>(record);
      if (!held_out_.emplace(step.graph, step.placement).second) {
        record.Fail(fmt::format("placement {} of graph {} is listed twice",
                                QuoteJson(step.placement),
                                QuoteJson(step.graph)));
      }
      table_.held_out.push_back(step);
    } else {
      (part.key == "interference" ? table_.interference : table_.link_contention)
          .push_back(FieldReader::ReadFields<Slowdown>(record));
    }
  }

  KindCosts& FindKind(const std::string& name, const std::string& place) {
    std::vector<std::string> names;
    for (KindCosts& kind : table_.kinds) {
      if (kind.kind.name == name) return kind;
      names.push_back(kind.kind.name);
    }
    ThrowUnknown(fmt::format("{}: {}: device_kind", where_, place), "device kind", name, names);
  }

  void SortOps(KindCosts& kind) const {
    const auto by_signature = [](const OpMeasurement& a, const OpMeasurement& b) {
      return a.signature < b.signature;
    };
    std::sort(kind.ops.begin(), kind.ops.end(), by_signature);
    const auto twice = std::adjacent_find(
        kind.ops.begin(), kind.ops.end(), [](const OpMeasurement& a, const OpMeasurement& b) {
          return a.signature == b.signature;
        });
    if (twice != kind.ops.end()) {
      throw InputError(fmt::format("{}: ops: signature {} of device kind \"{}\" is listed twice",
                                   where_,
                                   QuoteJson(twice->signature),
                                   kind.kind.name));
    }
  }

  const std::string where_;
  std::string error_;  // the first error
  Json format_ = Json(Json::value_t::discarded), version_ = Json(Json::value_t::discarded);
  std::vector<std::string> seen_;  // top-level keys
  CostTable table_;
  std::vector<PlacedOp> ops_;                               // until all device kinds are known
  std::vector<PlacedFit> fits_;                             // likewise
  std::set<std::pair<std::string, std::string>> held_out_;  // graph, placement
};

}  // namespace

CostTable ParseCostTable(const std::string& json, const std::string& where) {
  TableReader reader(where);
  VisitJson(json, where, kRecordKeys, [&](const JsonPart& part) { reader.Visit(part); });
  return reader.Finish();
}

CostTable ReadCostTable(const std::filesystem::path& path) {
  return ParseCostTable(ReadFile(path), path.string());
}

}  // namespace emplace

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
#include "framework/config/units.h"
#include "framework/cost/cost_table.h"

namespace emplace {
namespace {

constexpr std::string_view kFormat = "emplace-costs";
constexpr int kVersion = 1;
constexpr std::array<std::string_view, 8> kRecordKeys{"device_kinds",
                                                      "dispatch",
                                                      "fits",
                                                      "ops",
                                                      "links",
                                                      "link_contention",
                                                      "interference",
                                                      "held_out"};

double ReadPositive(const Json& value) {
  const double number = JsonAmount(value);
  if (!(number > 0)) throw InputError(fmt::format("got {}; expected a number > 0", number));
  return number;
}

Bandwidth ReadRate(const Json& value) {
  return ParseBandwidth(JsonText(value, "a rate such as \"7.6GB/s\""));
}

bool ReadBool(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  throw InputError(fmt::format("got {}; expected true or false", ClippedJson(value)));
}

std::string ReadName(const Json& value) {
  std::string name = JsonText(value, "a name");
  if (name.empty()) throw InputError("got \"\"; expected a name");
  return name;
}

std::string ReadChoice(const Json& value,
                       std::string_view what,
                       std::span<const std::string> choices) {
  std::string text = JsonText(value, what);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  text.resize(std::min<size_t>(text.size(), 60));
  throw InputError(
      fmt::format("unknown {} {}{}", what, QuoteJson(text), ChoicesHint(text, choices)));
}

const std::vector<std::string>& ClassNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = OpClassNames();
    names.emplace_back(ToString(OpClass::kView));
    return names;
  }();
  return kNames;
}

OpClass ReadClass(const Json& value) {
  const std::string name = ReadChoice(value, "op class", ClassNames());
  for (int c = 0;; ++c) {
    if (name == ToString(static_cast<OpClass>(c))) return static_cast<OpClass>(c);
  }
}

// An object of the file and where it stands. Messages: "place: key: what is wrong".
class Reader {
 public:
  Reader(const Json& object, std::string_view list, int index)
      : object_(object), list_(list), index_(index) {
    RequireObject();
  }
  Reader(const Json& object, std::string_view key, const Reader& outer, int index = -1)
      : object_(object), list_(key), index_(index), outer_(&outer) {
    RequireObject();
  }

  bool Has(std::string_view key) const { return object_.contains(key); }

  /// read(value of a required key)
  template <class Read>
  auto At(std::string_view key, const Read& read) const {
    const auto found = object_.find(key);
    if (found == object_.end()) Fail(fmt::format("required key \"{}\" is missing", key));
    try {
      return read(*found);
    } catch (const PlacedError&) {
      throw;
    } catch (const InputError& error) {
      Fail(fmt::format("{}: {}", key, error.what()));
    }
  }
  /// The same, or `fallback` if the key is not there.
  template <class Value, class Read>
  Value Get(std::string_view key, Value fallback, const Read& read) const {
    return Has(key) ? Value(At(key, read)) : fallback;
  }
  std::string Name(std::string_view key) const { return At(key, ReadName); }
  double Amount(std::string_view key) const { return At(key, JsonAmount); }
  std::int64_t Count(std::string_view key) const { return At(key, JsonCount); }

  /// read(Reader of an element) for each element of a list.
  template <class Read>
  void Each(std::string_view key, const Read& read) const {
    At(key, [&](const Json& list) {
      if (!list.is_array()) {
        throw InputError(fmt::format("got {}; expected a list", ClippedJson(list)));
      }
      for (size_t i = 0; i < list.size(); ++i) {
        read(Reader(list[i], key, *this, static_cast<int>(i)));
      }
    });
  }
  [[noreturn]] void Fail(const std::string& message) const {
    throw PlacedError(fmt::format("{}: {}", Place(), message));
  }

 private:
  class PlacedError : public InputError {  // says already where
   public:
    using InputError::InputError;
  };

  void RequireObject() const {
    if (!object_.is_object()) {
      Fail(fmt::format("got {}; expected an object", ClippedJson(object_)));
    }
  }
  std::string Place() const {
    std::string place = outer_ != nullptr ? outer_->Place() + ": " : "";
    place += list_;
    if (index_ >= 0) place += fmt::format("[{}]", index_);
    if (!object_.is_object()) return place;
    for (const char* name : {"name", "signature"}) {
      if (Has(name) && object_[name].is_string()) place += " " + ClippedJson(object_[name]);
    }
    return place;
  }

  const Json& object_;
  const std::string_view list_;
  const int index_;
  const Reader* outer_ = nullptr;
};

Timing ReadTiming(const Reader& timing) {
  Timing read{timing.Amount("median_ns"),
              timing.Amount("low_ns"),
              timing.Amount("high_ns"),
              timing.Count("samples"),
              timing.Get("mean_ns", 0.0, JsonAmount)};
  if (!(read.low <= read.median && read.median <= read.high)) {
    timing.Fail(fmt::format("got low_ns {}, median_ns {}, high_ns {}; expected them to ascend",
                            read.low,
                            read.median,
                            read.high));
  }
  return read;
}

std::optional<Timing> ReadTimingIfThere(const Reader& op, std::string_view key) {
  if (!op.Has(key)) return std::nullopt;
  return op.At(key, [&](const Json& timing) { return ReadTiming(Reader(timing, key, op)); });
}

// {"f32": 1e12}
std::map<std::string, double> ReadRates(const Reader& kind,
                                        std::string_view key,
                                        std::span<const std::string> choices) {
  std::map<std::string, double> rates;
  if (!kind.Has(key)) return rates;
  kind.At(key, [&](const Json& json) {
    const Reader map(json, key, kind);
    for (const auto& [name, value] : json.items()) {
      ReadChoice(Json(name), "key", choices);
      rates[name] = map.At(name, ReadPositive);
    }
  });
  return rates;
}

Interference ReadInterference(const Reader& record) {
  const auto read = [](const Json& value) {
    const std::optional<int> figure = ParseInterference(JsonAmount(value));
    if (!figure) {
      throw InputError(fmt::format("got {}; expected a number from 0 to 16", ClippedJson(value)));
    }
    return *figure;
  };
  return {record.Get("sensitivity", 0, read), record.Get("pressure", 0, read)};
}

std::map<std::string, Interference> ReadKindInterference(const Reader& kind) {
  std::map<std::string, Interference> classes;
  if (!kind.Has("interference")) return classes;
  kind.At("interference", [&](const Json& json) {
    const Reader map(json, "interference", kind);
    for (const auto& [name, value] : json.items()) {
      ReadChoice(Json(name), "key", InterferenceKeys());
      classes[name] = map.At(name, [&, key = name](const Json& figures) {
        return ReadInterference(Reader(figures, key, map));
      });
    }
  });
  return classes;
}

DeviceKind ReadKind(const Reader& record) {
  static const std::vector<std::string> kClasses{"cpu", "gpu"};
  const auto read_class = [](const Json& value) {
    return ReadChoice(value, "device class", kClasses);
  };
  DeviceKind kind;
  kind.name = record.Name("name");
  kind.device_class =
      record.At("class", read_class) == "cpu" ? DeviceClass::kCpu : DeviceClass::kGpu;
  kind.peak = ReadRates(record, "peak", PeakKeys());
  kind.efficiency = ReadRates(record, "efficiency", EfficiencyKeys());
  for (const auto& [name, share] : kind.efficiency) {
    if (share > 1) {
      record.Fail(fmt::format("efficiency: {}: got {}; expected a share in (0, 1]", name, share));
    }
  }
  kind.memory_bandwidth = record.Get("memory_bandwidth", 0.0, JsonAmount);
  kind.overhead = record.Get<Nanos>("overhead_ns", 0, JsonCount);
  kind.gap = record.Get<Nanos>("gap_ns", 0, JsonCount);
  kind.issue = record.Get<Nanos>("issue_ns", 0, JsonCount);
  kind.launch = record.Get<Nanos>("launch_ns", 0, JsonCount);
  kind.pays_transfers = record.Get("pays_transfers", true, ReadBool);
  kind.cold_read = record.Get<std::optional<Bandwidth>>("cold_read", std::nullopt, ReadRate);
  kind.interference = ReadKindInterference(record);
  kind.source = record.Get<std::string>(
      "source", "", [](const Json& value) { return JsonText(value, "a source"); });
  return kind;
}

OpMeasurement ReadOp(const Reader& record) {
  OpMeasurement op;
  op.signature = record.Name("signature");
  op.kind = record.Name("kind");
  op.op_class = record.At("class", ReadClass);
  op.flops = record.Amount("flops");
  op.bytes = record.Count("bytes");
  op.is_proxy = record.Get("proxy", false, ReadBool);
  op.isolated = ReadTimingIfThere(record, "isolated");
  op.cold = ReadTimingIfThere(record, "cold");
  op.in_situ = ReadTimingIfThere(record, "in_situ");
  if (record.Has("apart_ns")) op.apart_ns = record.Amount("apart_ns");
  if (record.Has("interference")) {
    op.interference = record.At("interference", [&](const Json& figures) {
      return ReadInterference(Reader(figures, "interference", record));
    });
  }
  return op;
}

RooflineFit ReadFit(const Reader& record) {
  return {.overhead_ns = record.Amount("overhead_ns"),
          .flops_per_second = record.Amount("flops_per_second"),
          .flops_half = record.Amount("flops_half"),
          .bytes_per_second = record.Amount("bytes_per_second"),
          .bytes_half = record.Amount("bytes_half"),
          .spill_bytes = record.Get("spill_bytes", 0.0, JsonAmount),
          .spill_bytes_per_second = record.Get("spill_bytes_per_second", 0.0, JsonAmount),
          .neighbour_length = record.Get("neighbour_length", 0.0, JsonAmount),
          .samples = record.Count("samples"),
          .error = record.Amount("error"),
          .error_p90 = record.Amount("error_p90")};
}

LinkMeasurement ReadLink(const Reader& record) {
  LinkMeasurement link;
  link.from = record.Name("from");
  link.to = record.Name("to");
  link.memory = record.Name("memory");
  link.max_relative_error = record.Get("max_relative_error", 0.0, JsonAmount);
  record.Each("points", [&](const Reader& point) {
    const std::int64_t bytes = point.Count("bytes");
    link.points.emplace_back(bytes, ReadTiming(point));
  });
  record.Each("ranges", [&](const Reader& range) {
    const LinkRange read{range.Count("from_bytes"),
                         range.Amount("latency_ns"),
                         range.At("bytes_per_second", ReadPositive)};
    if (!link.ranges.empty() && read.from_bytes <= link.ranges.back().from_bytes) {
      range.Fail(fmt::format("from_bytes: got {} after {}; expected ranges to ascend",
                             read.from_bytes,
                             link.ranges.back().from_bytes));
    }
    link.ranges.push_back(read);
  });
  return link;
}

DispatchCosts ReadDispatch(const Reader& record) {
  return {.device_kind = record.Name("device_kind"),
          .null_kernel_ns = record.Amount("null_kernel_ns"),
          .launch_ns = record.Amount("launch_ns"),
          .issue_ns = record.Amount("issue_ns"),
          .graph_launch_ns = record.Amount("graph_launch_ns"),
          .wait_ns = record.Amount("wait_ns")};
}

Slowdown ReadSlowdown(const Reader& record) {
  return {.victim = record.Name("victim"),
          .aggressor = record.Name("aggressor"),
          .factor = record.At("factor", ReadPositive),
          .low = record.Get("low", 0.0, JsonAmount),
          .high = record.Get("high", 0.0, JsonAmount),
          .modelled = record.Get("modelled", 0.0, JsonAmount)};
}

HeldOutStep ReadHeldOut(const Reader& record) {
  return {.graph = record.Name("graph"),
          .placement = record.Name("placement"),
          .simulated_ns = record.At("simulated_ns", ReadPositive),
          .measured_ns = record.At("measured_ns", ReadPositive),
          .samples = record.Count("samples"),
          .stream_ns = record.Get("stream_ns", 0.0, ReadPositive),
          .queue_ns = record.Get("queue_ns", 0.0, ReadPositive)};
}

class TableReader {
 public:
  explicit TableReader(const std::string& where) : where_(where) {}

  // What is wrong is told at the end: only then is it known whether the file is one of ours.
  void Visit(const JsonPart& part) {
    if (!error_.empty() && part.key != "format" && part.key != "version") return;
    try {
      part.index < 0 ? ReadFileKey(part.key, part.value)
                     : ReadRecord(Reader(part.value, part.key, part.index), part);
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
        throw InputError(fmt::format("{}: {}: {} {} of device kind \"{}\" is there twice",
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
        table_.machine = JsonText(value, "what the machine is");
      } else if (key == "complete") {
        table_.complete = ReadBool(value);
      } else if (key == "properties") {
        if (!value.is_object()) {
          throw InputError(fmt::format("got {}; expected an object", ClippedJson(value)));
        }
        for (const auto& [name, text] : value.items()) {
          table_.properties[name] = JsonText(text, "a property");
        }
      } else if (key == "warnings") {
        RequireList(value);
        for (const Json& warning : value) {
          table_.warnings.push_back(JsonText(warning, "a warning"));
        }
      } else if (std::find(kRecordKeys.begin(), kRecordKeys.end(), key) != kRecordKeys.end()) {
        RequireList(value);
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", key, error.what()));
    }
  }

  static void RequireList(const Json& value) {
    if (!value.is_array()) {
      throw InputError(fmt::format("got {}; expected a list", ClippedJson(value)));
    }
  }

  void ReadRecord(const Reader& record, const JsonPart& part) {
    static const std::vector<std::string> kScopes{"op", "class"};
    const auto place = [&] { return fmt::format("{}[{}]", part.key, part.index); };
    if (part.key == "ops") {
      ops_.push_back({record.Name("device_kind"), place(), ReadOp(record)});
    } else if (part.key == "device_kinds") {
      KindCosts kind{.kind = ReadKind(record)};
      if (table_.Find(kind.kind.name) != nullptr) record.Fail("the device kind is there already");
      table_.kinds.push_back(std::move(kind));
    } else if (part.key == "fits") {
      const auto read_scope = [](const Json& value) { return ReadChoice(value, "scope", kScopes); };
      const std::string scope = record.At("scope", read_scope);
      if (scope == "class") record.At("name", ReadClass);
      fits_.push_back(
          {record.Name("device_kind"), place(), scope, record.Name("name"), ReadFit(record)});
    } else if (part.key == "links") {
      table_.links.push_back(ReadLink(record));
    } else if (part.key == "dispatch") {
      table_.dispatch.push_back(ReadDispatch(record));
    } else if (part.key == "held_out") {
      const HeldOutStep step = ReadHeldOut(record);
      if (!held_out_.emplace(step.graph, step.placement).second) {
        record.Fail(fmt::format("placement {} of graph {} is there already",
                                QuoteJson(step.placement),
                                QuoteJson(step.graph)));
      }
      table_.held_out.push_back(step);
    } else {
      (part.key == "interference" ? table_.interference : table_.link_contention)
          .push_back(ReadSlowdown(record));
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
      throw InputError(fmt::format("{}: ops: signature {} of device kind \"{}\" is there twice",
                                   where_,
                                   QuoteJson(twice->signature),
                                   kind.kind.name));
    }
  }

  const std::string where_;
  std::string error_;  // the first
  Json format_ = Json(Json::value_t::discarded), version_ = Json(Json::value_t::discarded);
  std::vector<std::string> seen_;  // outermost keys
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

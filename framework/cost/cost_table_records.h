#pragma once

// The records of a cost table's file (FORMAT.md), each described once: VisitFields() visits the
// fields of a record in the order of the file. FieldReader reads them from JSON, FieldWriter writes
// them. A record does not know its relations to others. Errors are InputError with the record's
// place.

#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/json_record.h"
#include "framework/cost/cost_table.h"

namespace emplace::internal {

/// When a field is in the file.
enum class Presence {
  kRequired,
  kOptional,   ///< always written; keeps its default if it is absent
  kIfSet,      ///< likewise, but not written with its default
  kUnwritten,  ///< likewise, but not written
};

// Readers of single values.

OpClass JsonOpClass(const Json& value);  ///< the name of a class, including "view"
DeviceClass JsonDeviceClass(const Json& value);
Bandwidth JsonRate(const Json& value);  ///< "7.6GB/s"
int JsonFigure(const Json& value);      ///< ParseInterference()
void RequireKey(const std::string& key, std::span<const std::string> choices);

/// Returns the JSON text of a single value, the reverse of the readers. @pre numbers are finite
template <class T>
std::string FormatValue(const T& value) {
  if constexpr (std::is_same_v<T, int>) {
    return FormatValue(InterferenceNumber(value));
  } else if constexpr (std::is_same_v<T, double>) {
    EMPLACE_CHECK(std::isfinite(value), "a cost table holds a number that is not finite");
    // Readers would take "-0" for the integer 0.
    return fmt::format("{}", value == 0 ? 0.0 : value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return QuoteJson(value);
  } else if constexpr (std::is_enum_v<T>) {
    return QuoteJson(ToString(value));
  } else if constexpr (std::is_same_v<T, std::optional<Bandwidth>>) {
    return QuoteJson(FormatBandwidth(*value));
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return FormatValue(*value);
  } else {
    return fmt::to_string(value);
  }
}

/// Writes one record on one line: {"key": value, ...}.
class FieldWriter {
 public:
  template <class T, class Read>
  void Field(std::string_view key,
             const T& value,
             const Read&,
             Presence presence = Presence::kRequired) {
    const bool is_unset = presence == Presence::kIfSet && value == T{};
    if (!is_unset && presence != Presence::kUnwritten) Raw(key, FormatValue(value));
  }
  template <class T>
  void Record(std::string_view key, std::optional<T>& value) {
    if (value) Raw(key, FormatFields(*value));
  }
  template <class T, class Check>
  void Records(std::string_view key, std::vector<T>& values, const char* between, const Check&) {
    std::vector<std::string> texts;
    for (T& value : values) texts.push_back(FormatFields(value));
    Raw(key, fmt::format("[{}]", fmt::join(texts, between)));
  }
  template <class T>
  void Map(std::string_view key,
           std::map<std::string, T>& map,
           std::span<const std::string>,
           Presence presence) {
    if (presence == Presence::kIfSet && map.empty()) return;
    std::vector<std::string> members;
    for (auto& [name, value] : map) {
      members.push_back(QuoteJson(name) + ": " + FormatEntry(value));
    }
    Raw(key, fmt::format("{{{}}}", fmt::join(members, ", ")));
  }
  template <class Message>
  void Check(bool, const Message&) {}

  void Raw(std::string_view key, std::string_view json) {
    text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "{" : ", ", key, json);
  }
  std::string Close() const { return text_ + "}"; }

 private:
  static std::string FormatEntry(double value) { return FormatValue(value); }
  static std::string FormatEntry(Interference& value) { return FormatFields(value); }
  template <class T>
  static std::string FormatFields(T& value) {
    FieldWriter writer;
    VisitFields(writer, value);
    return writer.Close();
  }

  std::string text_;
};

/// Reads one record. Fields must have their defaults.
class FieldReader {
 public:
  explicit FieldReader(const JsonRecord& record) : record_(record) {}

  template <class T, class Read>
  void Field(std::string_view key,
             T& value,
             const Read& read,
             Presence presence = Presence::kRequired) {
    if (presence == Presence::kRequired || record_.Has(key)) value = record_.At(key, read);
  }
  template <class T>
  void Record(std::string_view key, std::optional<T>& value) {
    record_.Inner(key, [&](const JsonRecord& inner) { value = ReadFields<T>(inner); });
  }
  /// @param check  returns the error of a record after those that were read; empty: none
  template <class T, class Check>
  void Records(std::string_view key, std::vector<T>& values, const char*, const Check& check) {
    record_.Each(key, [&](const JsonRecord& one) {
      T value = ReadFields<T>(one);
      const std::string error = check(values, value);
      if (!error.empty()) one.Fail(error);
      values.push_back(std::move(value));
    });
  }
  /// @param choices  the allowed keys
  template <class T>
  void Map(std::string_view key,
           std::map<std::string, T>& map,
           std::span<const std::string> choices,
           Presence) {
    record_.Inner(key, [&](const JsonRecord& entries) {
      entries.EachKey([&](const std::string& name) {
        RequireKey(name, choices);
        ReadEntry(entries, name, map[name]);
      });
    });
  }
  /// @param message  returns the error, if `is_right` is false
  template <class Message>
  void Check(bool is_right, const Message& message) {
    if (!is_right) record_.Fail(message());
  }

  template <class T>
  static T ReadFields(const JsonRecord& record) {
    T value;
    FieldReader reader(record);
    VisitFields(reader, value);
    return value;
  }

 private:
  static void ReadEntry(const JsonRecord& map, const std::string& key, double& value) {
    value = map.At(key, JsonPositive);
  }
  static void ReadEntry(const JsonRecord& map, const std::string& key, Interference& value) {
    map.Inner(key, [&](const JsonRecord& entry) { value = ReadFields<Interference>(entry); });
  }

  const JsonRecord& record_;
};

template <class V>
void VisitFields(V& v, Timing& timing) {
  v.Field("median_ns", timing.median, JsonAmount);
  v.Field("low_ns", timing.low, JsonAmount);
  v.Field("high_ns", timing.high, JsonAmount);
  v.Field("mean_ns", timing.mean, JsonAmount, Presence::kIfSet);
  v.Field("samples", timing.samples, JsonCount);
  v.Check(timing.low <= timing.median && timing.median <= timing.high, [&] {
    return fmt::format("got low_ns {}, median_ns {}, high_ns {}; expected them to ascend",
                       timing.low,
                       timing.median,
                       timing.high);
  });
}

template <class V>
void VisitFields(V& v, Interference& figures) {
  v.Field("sensitivity", figures.sensitivity, JsonFigure, Presence::kOptional);
  v.Field("pressure", figures.pressure, JsonFigure, Presence::kOptional);
}

template <class V>
void VisitFields(V& v, DeviceKind& kind) {
  v.Field("name", kind.name, JsonName);
  v.Field("class", kind.device_class, JsonDeviceClass);
  v.Map("peak", kind.peak, PeakKeys(), Presence::kOptional);
  v.Field("memory_bandwidth", kind.memory_bandwidth, JsonAmount, Presence::kOptional);
  v.Field("overhead_ns", kind.overhead, JsonCount, Presence::kOptional);
  v.Field("gap_ns", kind.gap, JsonCount, Presence::kOptional);
  v.Field("issue_ns", kind.issue, JsonCount, Presence::kOptional);
  v.Field("launch_ns", kind.launch, JsonCount, Presence::kOptional);
  v.Field("pays_transfers", kind.pays_transfers, JsonBool, Presence::kOptional);
  v.Field("cold_read", kind.cold_read, JsonRate, Presence::kIfSet);
  v.Map("interference", kind.interference, InterferenceKeys(), Presence::kIfSet);
  v.Map("efficiency", kind.efficiency, EfficiencyKeys(), Presence::kOptional);
  v.Field(
      "source",
      kind.source,
      [](const Json& value) { return JsonText(value, "a source"); },
      Presence::kIfSet);
  for (const auto& [name, share] : kind.efficiency) {
    v.Check(share <= 1, [&, &name = name, &share = share] {
      return fmt::format("efficiency: {}: got {}; expected a share in (0, 1]", name, share);
    });
  }
}

/// An op without its device kind.
template <class V>
void VisitFields(V& v, OpMeasurement& op) {
  v.Field("signature", op.signature, JsonName);
  v.Field("kind", op.kind, JsonName);
  v.Field("class", op.op_class, JsonOpClass);
  v.Field("flops", op.flops, JsonAmount);
  v.Field("bytes", op.bytes, JsonCount);
  v.Field("proxy", op.is_proxy, JsonBool, Presence::kIfSet);
  v.Record("isolated", op.isolated);
  v.Record("cold", op.cold);
  v.Record("in_situ", op.in_situ);
  v.Field("apart_ns", op.apart_ns, JsonAmount, Presence::kIfSet);
  v.Record("interference", op.interference);
}

/// A fit without its device kind, scope and name.
template <class V>
void VisitFields(V& v, RooflineFit& fit) {
  v.Field("overhead_ns", fit.overhead_ns, JsonAmount);
  v.Field("flops_per_second", fit.flops_per_second, JsonAmount);
  v.Field("flops_half", fit.flops_half, JsonAmount);
  v.Field("bytes_per_second", fit.bytes_per_second, JsonAmount);
  v.Field("bytes_half", fit.bytes_half, JsonAmount);
  v.Field("spill_bytes", fit.spill_bytes, JsonAmount, Presence::kOptional);
  v.Field("spill_bytes_per_second", fit.spill_bytes_per_second, JsonAmount, Presence::kOptional);
  v.Field("neighbour_length", fit.neighbour_length, JsonAmount, Presence::kIfSet);
  v.Field("samples", fit.samples, JsonCount);
  v.Field("error", fit.error, JsonAmount);
  v.Field("error_p90", fit.error_p90, JsonAmount);
}

template <class V>
void VisitFields(V& v, std::pair<std::int64_t, Timing>& point) {
  v.Field("bytes", point.first, JsonCount);
  VisitFields(v, point.second);
}

template <class V>
void VisitFields(V& v, LinkRange& range) {
  v.Field("from_bytes", range.from_bytes, JsonCount);
  v.Field("latency_ns", range.latency_ns, JsonAmount);
  v.Field("bytes_per_second", range.bytes_per_second, JsonPositive);
}

template <class V>
void VisitFields(V& v, LinkMeasurement& link) {
  v.Field("from", link.from, JsonName);
  v.Field("to", link.to, JsonName);
  v.Field("memory", link.memory, JsonName);
  v.Field("max_relative_error", link.max_relative_error, JsonAmount, Presence::kOptional);
  v.Records("ranges", link.ranges, ", ", [](const auto& before, const LinkRange& range) {
    if (before.empty() || range.from_bytes > before.back().from_bytes) return std::string();
    return fmt::format("from_bytes: got {} after {}; expected ranges to ascend",
                       range.from_bytes,
                       before.back().from_bytes);
  });
  v.Records("points", link.points, ",\n  ", [](const auto&, const auto&) { return std::string(); });
}

template <class V>
void VisitFields(V& v, DispatchCosts& costs) {
  v.Field("device_kind", costs.device_kind, JsonName);
  v.Field("null_kernel_ns", costs.null_kernel_ns, JsonAmount);
  v.Field("launch_ns", costs.launch_ns, JsonAmount);
  v.Field("issue_ns", costs.issue_ns, JsonAmount);
  v.Field("graph_launch_ns", costs.graph_launch_ns, JsonAmount);
  v.Field("wait_ns", costs.wait_ns, JsonAmount);
}

template <class V>
void VisitFields(V& v, Slowdown& slowdown) {
  v.Field("victim", slowdown.victim, JsonName);
  v.Field("aggressor", slowdown.aggressor, JsonName);
  v.Field("factor", slowdown.factor, JsonPositive);
  v.Field("low", slowdown.low, JsonAmount, Presence::kIfSet);
  const bool has_interval = slowdown.low > 0;
  v.Field(
      "high", slowdown.high, JsonAmount, has_interval ? Presence::kOptional : Presence::kUnwritten);
  v.Field("modelled", slowdown.modelled, JsonAmount, Presence::kIfSet);
}

template <class V>
void VisitFields(V& v, HeldOutStep& step) {
  v.Field("graph", step.graph, JsonName);
  v.Field("placement", step.placement, JsonName);
  v.Field("simulated_ns", step.simulated_ns, JsonPositive);
  v.Field("measured_ns", step.measured_ns, JsonPositive);
  v.Field("samples", step.samples, JsonCount);
  v.Field("stream_ns", step.stream_ns, JsonPositive, Presence::kIfSet);
  v.Field("queue_ns", step.queue_ns, JsonPositive, Presence::kIfSet);
}

}  // namespace emplace::internal

#include "framework/cost/cost_table_records.h"

#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/config/units.h"

namespace emplace::internal {
namespace {

const std::vector<std::string>& ClassNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = OpClassNames();
    names.emplace_back(ToString(OpClass::kView));
    return names;
  }();
  return kNames;
}

Bandwidth JsonRate(const Json& value) {
  return ParseBandwidth(JsonText(value, "a rate such as \"7.6GB/s\""));
}

Timing ReadTiming(const JsonRecord& timing) {
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

std::optional<Timing> ReadTimingIfThere(const JsonRecord& op, std::string_view key) {
  std::optional<Timing> timing;
  op.Inner(key, [&](const JsonRecord& record) { timing = ReadTiming(record); });
  return timing;
}

// {"f32": 1e12}
std::map<std::string, double> ReadRates(const JsonRecord& kind,
                                        std::string_view key,
                                        std::span<const std::string> choices) {
  std::map<std::string, double> rates;
  kind.Inner(key, [&](const JsonRecord& map) {
    map.EachKey([&](const std::string& name) {
      JsonChoice(Json(name), "key", choices);
      rates[name] = map.At(name, JsonPositive);
    });
  });
  return rates;
}

Interference ReadInterference(const JsonRecord& record) {
  const auto read = [](const Json& value) {
    const std::optional<int> figure = ParseInterference(JsonAmount(value));
    if (!figure) {
      throw InputError(fmt::format("got {}; expected a number from 0 to 16", ClippedJson(value)));
    }
    return *figure;
  };
  return {record.Get("sensitivity", 0, read), record.Get("pressure", 0, read)};
}

std::map<std::string, Interference> ReadKindInterference(const JsonRecord& kind) {
  std::map<std::string, Interference> classes;
  kind.Inner("interference", [&](const JsonRecord& map) {
    map.EachKey([&](const std::string& name) {
      JsonChoice(Json(name), "key", InterferenceKeys());
      map.Inner(name,
                [&](const JsonRecord& figures) { classes[name] = ReadInterference(figures); });
    });
  });
  return classes;
}

}  // namespace

OpClass JsonOpClass(const Json& value) {
  const std::string name = JsonChoice(value, "op class", ClassNames());
  for (int c = 0;; ++c) {
    if (name == ToString(static_cast<OpClass>(c))) return static_cast<OpClass>(c);
  }
}

DeviceKind ReadKind(const JsonRecord& record) {
  static const std::vector<std::string> kClasses{"cpu", "gpu"};
  const auto read_class = [](const Json& value) {
    return JsonChoice(value, "device class", kClasses);
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
  kind.pays_transfers = record.Get("pays_transfers", true, JsonBool);
  kind.cold_read = record.Get<std::optional<Bandwidth>>("cold_read", std::nullopt, JsonRate);
  kind.interference = ReadKindInterference(record);
  kind.source = record.Get<std::string>(
      "source", "", [](const Json& value) { return JsonText(value, "a source"); });
  return kind;
}

OpMeasurement ReadOp(const JsonRecord& record) {
  OpMeasurement op;
  op.signature = record.Name("signature");
  op.kind = record.Name("kind");
  op.op_class = record.At("class", JsonOpClass);
  op.flops = record.Amount("flops");
  op.bytes = record.Count("bytes");
  op.is_proxy = record.Get("proxy", false, JsonBool);
  op.isolated = ReadTimingIfThere(record, "isolated");
  op.cold = ReadTimingIfThere(record, "cold");
  op.in_situ = ReadTimingIfThere(record, "in_situ");
  if (record.Has("apart_ns")) op.apart_ns = record.Amount("apart_ns");
  record.Inner("interference",
               [&](const JsonRecord& figures) { op.interference = ReadInterference(figures); });
  return op;
}

RooflineFit ReadFit(const JsonRecord& record) {
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

LinkMeasurement ReadLink(const JsonRecord& record) {
  LinkMeasurement link;
  link.from = record.Name("from");
  link.to = record.Name("to");
  link.memory = record.Name("memory");
  link.max_relative_error = record.Get("max_relative_error", 0.0, JsonAmount);
  record.Each("points", [&](const JsonRecord& point) {
    const std::int64_t bytes = point.Count("bytes");
    link.points.emplace_back(bytes, ReadTiming(point));
  });
  record.Each("ranges", [&](const JsonRecord& range) {
    const LinkRange read{range.Count("from_bytes"),
                         range.Amount("latency_ns"),
                         range.At("bytes_per_second", JsonPositive)};
    if (!link.ranges.empty() && read.from_bytes <= link.ranges.back().from_bytes) {
      range.Fail(fmt::format("from_bytes: got {} after {}; expected ranges to ascend",
                             read.from_bytes,
                             link.ranges.back().from_bytes));
    }
    link.ranges.push_back(read);
  });
  return link;
}

DispatchCosts ReadDispatch(const JsonRecord& record) {
  return {.device_kind = record.Name("device_kind"),
          .null_kernel_ns = record.Amount("null_kernel_ns"),
          .launch_ns = record.Amount("launch_ns"),
          .issue_ns = record.Amount("issue_ns"),
          .graph_launch_ns = record.Amount("graph_launch_ns"),
          .wait_ns = record.Amount("wait_ns")};
}

Slowdown ReadSlowdown(const JsonRecord& record) {
  return {.victim = record.Name("victim"),
          .aggressor = record.Name("aggressor"),
          .factor = record.At("factor", JsonPositive),
          .low = record.Get("low", 0.0, JsonAmount),
          .high = record.Get("high", 0.0, JsonAmount),
          .modelled = record.Get("modelled", 0.0, JsonAmount)};
}

HeldOutStep ReadHeldOut(const JsonRecord& record) {
  return {.graph = record.Name("graph"),
          .placement = record.Name("placement"),
          .simulated_ns = record.At("simulated_ns", JsonPositive),
          .measured_ns = record.At("measured_ns", JsonPositive),
          .samples = record.Count("samples"),
          .stream_ns = record.Get("stream_ns", 0.0, JsonPositive),
          .queue_ns = record.Get("queue_ns", 0.0, JsonPositive)};
}

}  // namespace emplace::internal

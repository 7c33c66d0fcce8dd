#include "framework/cost/cost_table.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/config/units.h"

namespace emplace {
namespace {

std::string Number(double value) {
  EMPLACE_CHECK(std::isfinite(value), "a cost table holds a number that is not finite");
  return fmt::format("{}", value == 0 ? 0.0 : value);  // readers would take "-0" for the integer 0
}

std::string Number(std::int64_t value) {
  return fmt::format("{}", value);
}

std::string Object(const std::map<std::string, double>& map) {
  std::vector<std::string> members;
  for (const auto& [key, value] : map) {
    members.push_back(QuoteJson(key) + ": " + Number(value));
  }
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

// One record on one line: {"key": value, ...}.
class Record {
 public:
  Record& Raw(std::string_view key, std::string_view json) {
    text_ += text_.empty() ? "{\"" : ", \"";
    text_ += key;
    text_ += "\": ";
    text_ += json;
    return *this;
  }
  Record& Text(std::string_view key, std::string_view value) { return Raw(key, QuoteJson(value)); }
  template <class T>
  Record& Value(std::string_view key, T value) {
    return Raw(key, Number(value));
  }
  Record& Mean(const Timing& timing) {
    return timing.mean > 0 ? Value("mean_ns", timing.mean) : *this;
  }
  Record& Flag(std::string_view key, bool value) { return Raw(key, value ? "true" : "false"); }
  Record& Times(std::string_view key, const std::optional<Timing>& timing) {
    if (!timing) return *this;
    return Raw(key,
               Record()
                   .Value("median_ns", timing->median)
                   .Value("low_ns", timing->low)
                   .Value("high_ns", timing->high)
                   .Mean(*timing)
                   .Value("samples", timing->samples)
                   .Close());
  }
  std::string Close() const { return text_ + "}"; }

 private:
  std::string text_;
};

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

std::string FormatInterference(const Interference& figures) {
  return Record()
      .Value("sensitivity", InterferenceNumber(figures.sensitivity))
      .Value("pressure", InterferenceNumber(figures.pressure))
      .Close();
}

std::string FormatKind(const DeviceKind& kind) {
  Record record;
  record.Text("name", kind.name)
      .Text("class", ToString(kind.device_class))
      .Raw("peak", Object(kind.peak))
      .Value("memory_bandwidth", kind.memory_bandwidth)
      .Value("overhead_ns", kind.overhead)
      .Value("gap_ns", kind.gap)
      .Value("issue_ns", kind.issue)
      .Value("launch_ns", kind.launch)
      .Flag("pays_transfers", kind.pays_transfers);
  if (kind.cold_read) record.Text("cold_read", FormatBandwidth(*kind.cold_read));
  if (!kind.interference.empty()) {
    Record classes;
    for (const auto& [name, figures] : kind.interference) {
      classes.Raw(name, FormatInterference(figures));
    }
    record.Raw("interference", classes.Close());
  }
  record.Raw("efficiency", Object(kind.efficiency));
  if (!kind.source.empty()) record.Text("source", kind.source);
  return record.Close();
}

std::string FormatOp(const std::string& device_kind, const OpMeasurement& op) {
  Record record;
  record.Text("device_kind", device_kind)
      .Text("signature", op.signature)
      .Text("kind", op.kind)
      .Text("class", ToString(op.op_class))
      .Value("flops", op.flops)
      .Value("bytes", op.bytes);
  if (op.is_proxy) record.Flag("proxy", true);
  record.Times("isolated", op.isolated).Times("cold", op.cold).Times("in_situ", op.in_situ);
  if (op.apart_ns) record.Value("apart_ns", *op.apart_ns);
  if (op.interference) record.Raw("interference", FormatInterference(*op.interference));
  return record.Close();
}

std::string FormatFit(const std::string& device_kind,
                      std::string_view scope,
                      const std::string& name,
                      const RooflineFit& fit) {
  Record record;
  record.Text("device_kind", device_kind)
      .Text("scope", scope)
      .Text("name", name)
      .Value("overhead_ns", fit.overhead_ns)
      .Value("flops_per_second", fit.flops_per_second)
      .Value("flops_half", fit.flops_half)
      .Value("bytes_per_second", fit.bytes_per_second)
      .Value("bytes_half", fit.bytes_half)
      .Value("spill_bytes", fit.spill_bytes)
      .Value("spill_bytes_per_second", fit.spill_bytes_per_second);
  if (fit.neighbour_length > 0) record.Value("neighbour_length", fit.neighbour_length);
  return record.Value("samples", fit.samples)
      .Value("error", fit.error)
      .Value("error_p90", fit.error_p90)
      .Close();
}

std::string FormatLink(const LinkMeasurement& link) {
  std::vector<std::string> points, ranges;
  for (const auto& [bytes, timing] : link.points) {
    points.push_back(Record()
                         .Value("bytes", bytes)
                         .Value("median_ns", timing.median)
                         .Value("low_ns", timing.low)
                         .Value("high_ns", timing.high)
                         .Mean(timing)
                         .Value("samples", timing.samples)
                         .Close());
  }
  for (const LinkRange& range : link.ranges) {
    ranges.push_back(Record()
                         .Value("from_bytes", range.from_bytes)
                         .Value("latency_ns", range.latency_ns)
                         .Value("bytes_per_second", range.bytes_per_second)
                         .Close());
  }
  return Record()
      .Text("from", link.from)
      .Text("to", link.to)
      .Text("memory", link.memory)
      .Value("max_relative_error", link.max_relative_error)
      .Raw("ranges", fmt::format("[{}]", fmt::join(ranges, ", ")))
      .Raw("points", fmt::format("[{}]", fmt::join(points, ",\n  ")))
      .Close();
}

std::string FormatDispatch(const DispatchCosts& costs) {
  return Record()
      .Text("device_kind", costs.device_kind)
      .Value("null_kernel_ns", costs.null_kernel_ns)
      .Value("launch_ns", costs.launch_ns)
      .Value("issue_ns", costs.issue_ns)
      .Value("graph_launch_ns", costs.graph_launch_ns)
      .Value("wait_ns", costs.wait_ns)
      .Close();
}

std::string FormatSlowdown(const Slowdown& slowdown) {
  Record record;
  record.Text("victim", slowdown.victim)
      .Text("aggressor", slowdown.aggressor)
      .Value("factor", slowdown.factor);
  if (slowdown.low > 0) record.Value("low", slowdown.low).Value("high", slowdown.high);
  if (slowdown.modelled > 0) record.Value("modelled", slowdown.modelled);
  return record.Close();
}

std::string FormatHeldOut(const HeldOutStep& step) {
  Record record;
  record.Text("graph", step.graph)
      .Text("placement", step.placement)
      .Value("simulated_ns", step.simulated_ns)
      .Value("measured_ns", step.measured_ns)
      .Value("samples", step.samples);
  if (step.stream_ns > 0) record.Value("stream_ns", step.stream_ns);
  if (step.queue_ns > 0) record.Value("queue_ns", step.queue_ns);
  return record.Close();
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
    kinds.push_back(FormatKind(costs.kind));
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

  std::string text = "{\"format\": \"emplace-costs\",\n\"version\": 1,\n";
  text += fmt::format("\"machine\": {},\n\"complete\": {},\n\"properties\": {{\n{}\n}}",
                      QuoteJson(table.machine),
                      table.complete,
                      fmt::join(properties, ",\n"));
  AppendList(text, "warnings", table.warnings, QuoteJson);
  AppendList(text, "device_kinds", kinds);
  AppendList(text, "dispatch", table.dispatch, FormatDispatch);
  AppendList(text, "fits", fits);
  AppendList(text, "ops", ops);
  AppendList(text, "links", table.links, FormatLink);
  AppendList(text, "link_contention", table.link_contention, FormatSlowdown);
  AppendList(text, "interference", table.interference, FormatSlowdown);
  AppendList(text, "held_out", table.held_out, FormatHeldOut);
  return text + "\n}\n";
}

}  // namespace emplace

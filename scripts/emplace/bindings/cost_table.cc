#include "framework/cost/cost_table.h"

#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "framework/base/error.h"
#include "profilers/statistics/link_fit.h"
#include "profilers/statistics/sampling.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

using Range = std::tuple<std::int64_t, double, double>;  // from [B], latency [ns], bandwidth [B/s]

nb::dict SummarizeTimings(const std::vector<double>& timings) {
  if (timings.empty()) throw InputError("summarize_timings: no timings");
  const Timing timing = Summarize(timings);
  nb::dict record;
  record["median_ns"] = timing.median;
  record["low_ns"] = timing.low;
  record["high_ns"] = timing.high;
  record["mean_ns"] = timing.mean;
  record["samples"] = timing.samples;
  return record;
}

std::pair<std::vector<Range>, double> FitLinkPoints(
    const std::vector<std::pair<double, double>>& given) {
  std::vector<LinkPoint> points;
  for (const auto& [bytes, nanos] : given) points.push_back({.bytes = bytes, .nanos = nanos});
  std::vector<Range> ranges;
  const std::vector<LinkRange> fitted = FitLink(points);
  for (const LinkRange& range : fitted) {
    ranges.emplace_back(range.from_bytes, range.latency_ns, range.bytes_per_second);
  }
  return {std::move(ranges), MaxRelativeError(fitted, points)};
}

std::string WithFits(const std::string& text, const std::string& name) {
  CostTable table = ParseCostTable(text, name);
  FitLadder(table);
  return FormatCostTable(table);
}

}  // namespace

void AddCostTable(nb::module_& module) {
  module.def("summarize_timings",
             SummarizeTimings,
             nb::arg("timings"),
             nb::sig("def summarize_timings(timings: list[float]) -> dict[str, float]"),
             "Returns timings [ns] as a record of a cost file: median_ns with its 95 % interval "
             "low_ns to\n"
             "high_ns, mean_ns without the longest fiftieth, samples.\n"
             "\n"
             "Throws InputError for an empty list.");
  module.def("fit_link",
             FitLinkPoints,
             nb::arg("points"),
             nb::sig("def fit_link(points: list[tuple[float, float]]) -> "
                     "tuple[list[tuple[int, float, float]], float]"),
             "Fits copies (size [B], time [ns]) by ranges (from [B], latency [ns], bandwidth "
             "[B/s]). Also returns\nthe largest relative error of the fit.\n\nThrows InputError "
             "for fewer than two sizes, or a time that is not positive.");
  module.def(
      "costs_with_fits",
      WithFits,
      nb::arg("text"),
      nb::arg("name") = "costs",
      "Checks the text of a cost file (JSON) and returns it with new fits of its ops, in the\n"
      "form that `emplace profile` writes. name: its name in messages.\n"
      "\n"
      "Throws InputError naming record and key.");
}

}  // namespace emplace::python

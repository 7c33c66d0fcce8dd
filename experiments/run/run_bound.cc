#include "experiments/run/run_bound.h"

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "framework/base/error.h"

namespace emplace {

ProblemBounds BoundProblem(const LoadedProblem& problem) {
  return {ComputeBounds(*problem.exact), ProveBound(*problem.searched)};
}

LowerBound LargerOf(const LowerBound& a, const LowerBound& b) {
  return b.value > a.value ? b : a;
}

std::optional<double> GapTo(const LowerBound& bound, std::optional<Nanos> best) {
  if (!best || bound.value == 0) return std::nullopt;
  return static_cast<double>(*best) / static_cast<double>(bound.value) - 1;
}

bool IsOptimal(const LowerBound& bound, std::optional<Nanos> best) {
  return best && *best <= bound.value;
}

std::string GapText(const LowerBound& bound, std::optional<Nanos> best) {
  if (IsOptimal(bound, best)) return "optimal";
  const auto gap = GapTo(bound, best);
  return gap ? fmt::format("{:.1f} %", 100 * *gap) : "-";
}

void WriteBound(ResultsFile& file, const LowerBound& bound, std::optional<Nanos> best) {
  if (best && *best < bound.value) {
    throw RunError(
        fmt::format("{}: its best placement takes {}, less than the lower bound {} by {}: they are "
                    "of different problems or programs, or one of them is wrong",
                    file.path().string(),
                    FormatTime(*best),
                    FormatTime(bound.value),
                    bound.method));
  }
  file.SetAttribute("/problem", "bound_ns", bound.value);
  file.SetAttribute("/problem", "bound_method", bound.method);
  file.SetAttribute("/problem", "optimal", std::int64_t{IsOptimal(bound, best)});
}

LowerBound ReadBound(const ResultsReader& reader) {
  LowerBound bound{reader.Int("/problem", "bound_ns"), ""};
  if (reader.HasAttribute("/problem", "bound_method")) {
    bound.method = reader.Text("/problem", "bound_method");
  } else {
    const bool by_path = reader.Text("/problem", "objective") != "period" &&
                         reader.Int("/problem", "critical_path_ns") == bound.value;
    bound.method = by_path ? "critical_path" : "work";
  }
  return bound;
}

}  // namespace emplace

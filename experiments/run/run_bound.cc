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
        fmt::format("{}: its best placement takes {}, less than the lower bound {} by {}; they "
                    "belong to different problems or versions of emplace, or one of them is wrong",
                    file.path().string(),
                    FormatTime(*best),
                    FormatTime(bound.value),
                    bound.method));
  }
  WriteRecord(file, "/problem", BoundRecord{bound, IsOptimal(bound, best)});
}

LowerBound ReadBound(const ResultsReader& reader) {
  return ReadRecord<BoundRecord>(reader, "/problem").bound;
}

void BoundRecord::Visit(RecordVisitor& v) {
  v.Field("bound_ns", bound.value);
  v.Field("bound_method", bound.method);
  v.Field("optimal", optimal);
}

}  // namespace emplace

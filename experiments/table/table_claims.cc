#include "experiments/table/table_claims.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace emplace {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::string_view ToString(Verdict verdict) {
  constexpr std::string_view kNames[] = {"holds", "does not hold", "open"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string_view ToString(Possibility possibility) {
  constexpr std::string_view kNames[] = {
      "", "possible", "not known to be possible", "not possible"};
  return kNames[static_cast<size_t>(possibility)];
}

std::string VerdictText(const ClaimResult& claim) {
  if (claim.verdict != Verdict::kDoesNotHold || claim.possible == Possibility::kUnknown) {
    return std::string(ToString(claim.verdict));
  }
  return claim.possible == Possibility::kKnown
             ? "not reached"
             : fmt::format("{}, {} here", ToString(claim.verdict), ToString(claim.possible));
}

ClaimCheck::ClaimCheck(const LayoutClaim& claim) : claim_(claim), rows_held_(kTableResamples) {
  result_.text = claim.text;
  result_.confidence = claim.confidence;
  result_.holds = claim.holds_text;
  result_.op = claim.holds.op;
  result_.scope = kClaimScopes[static_cast<size_t>(claim.in)];
  result_.of = claim.of;
}

void ClaimCheck::Add(int row, const RowValues& values) {
  const Resampled left = values.Evaluate(claim_.holds.left);
  const Resampled right = values.Evaluate(claim_.holds.right);
  ClaimRow result;
  result.row = row;
  if (!left.run || !right.run) {
    result.left = result.right = result.share = kNoNumber;
    result.missing = left.missing;
    for (const std::string& name : right.missing) {
      const bool is_there = std::count(left.missing.begin(), left.missing.end(), name) > 0;
      if (!is_there) result.missing.push_back(name);
    }
    result_.rows.push_back(std::move(result));
    return;
  }
  result.left = left.value;
  result.right = right.value;
  result.seeds = left.seeds;
  result.seeds.Include(right.seeds);
  result_.seeds.Include(result.seeds);
  const bool holds = claim_.holds.Holds(left.value, right.value);
  result.verdict = holds ? Verdict::kHolds : Verdict::kDoesNotHold;
  result_.rows_held += holds;
  int held = 0;
  for (int b = 0; b < kTableResamples; ++b) {
    if (!claim_.holds.Holds(left.At(b), right.At(b))) continue;
    ++held;
    ++rows_held_[b];
  }
  result.share = static_cast<double>(held) / kTableResamples;
  AddPossible(values, result);
  result_.rows.push_back(std::move(result));
}

void ClaimCheck::AddPossible(const RowValues& values, ClaimRow& row) const {
  if (claim_.of.empty() || values.known_times().empty()) return;
  const Comparison& holds = claim_.holds;
  const auto left = [&](double time) { return values.EvaluateIf(holds.left, claim_.of, time); };
  const auto right = [&](double time) { return values.EvaluateIf(holds.right, claim_.of, time); };
  row.best_left = left(values.known_times().front());
  row.best_right = right(values.known_times().front());
  row.bound_left = left(values.bound());
  row.bound_right = right(values.bound());
  const bool known = std::ranges::any_of(
      values.known_times(), [&](double time) { return holds.Holds(left(time), right(time)); });
  row.possible = known                                          ? Possibility::kKnown
                 : holds.Holds(row.bound_left, row.bound_right) ? Possibility::kNotKnown
                                                                : Possibility::kExcluded;
}

Possibility ClaimCheck::Possible() const {
  int known = 0, not_excluded = 0;
  for (const ClaimRow& row : result_.rows) {
    if (row.possible == Possibility::kUnknown) return Possibility::kUnknown;
    known += row.possible == Possibility::kKnown;
    not_excluded += row.possible != Possibility::kExcluded;
  }
  return HoldsIn(known)          ? Possibility::kKnown
         : HoldsIn(not_excluded) ? Possibility::kNotKnown
                                 : Possibility::kExcluded;
}

bool ClaimCheck::HoldsIn(int num_rows) const {
  const int all = static_cast<int>(result_.rows.size());
  if (claim_.in == ClaimScope::kEvery) return num_rows == all;
  return claim_.in == ClaimScope::kSome ? num_rows > 0 : 2 * num_rows > all;
}

ClaimResult ClaimCheck::Result() const {
  ClaimResult result = result_;
  const bool open = result.rows.empty() ||
                    std::any_of(result.rows.begin(), result.rows.end(), [](const ClaimRow& row) {
                      return row.verdict == Verdict::kOpen;
                    });
  if (open) {
    result.share = kNoNumber;
    return result;
  }
  result.possible = Possible();
  result.verdict = HoldsIn(result.rows_held) ? Verdict::kHolds : Verdict::kDoesNotHold;
  const auto held = std::count_if(
      rows_held_.begin(), rows_held_.end(), [&](int num_rows) { return HoldsIn(num_rows); });
  result.share = static_cast<double>(held) / kTableResamples;
  return result;
}

}  // namespace emplace

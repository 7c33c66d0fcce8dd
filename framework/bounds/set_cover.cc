#include "framework/bounds/set_cover.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "framework/bounds/equal_devices.h"

namespace emplace {
namespace {

constexpr double kOne = 0x1p50;    // integer value of 1
constexpr double kMostValue = 1;   // of a group
constexpr int kMostGroups = 1000;  // so that sums of values stay below 2^61
// Half of the box, by the share of a group and the mean share.
constexpr double kFirstWidth = 0.3, kLeastWidth = 0.01, kWholeWidth = 1000;
// Solve() ends after so many rounds in which the bound grows by less than a share of its distance
// to 1.
constexpr int kPatience = 30, kQuickPatience = 6;
constexpr double kProgress = 0.05;
constexpr Nanos kLongest = Nanos{1} << 46;  // likewise of loads
constexpr double kNearOne = 1e-7;
constexpr int kKnownRows = 50;         // at once
constexpr double kLeastWeight = 1e-6;  // of a set in a solution
constexpr double kTaken = 2;           // weight of a taken set, larger than that of all others
constexpr std::size_t kLikely = 2;

}  // namespace

SetCover::SetCover(const CompiledPeriod& p, Nanos known, const std::function<bool()>& stop)
    : num_groups_(p.num_groups), num_devices_(p.num_devices), stop_(stop) {
  if (num_groups_ > kMostGroups || known > kLongest) return;
  classes_ = ClassesOfDevices(p, known);
  for (EqualDevices& one : classes_) {
    programmes_.emplace_back(one, known);
    while (!programmes_.back().usable()) {
      if (stop_()) return;
      one.DropCheapest();
      programmes_.back() = SetProgramme(one, known);
    }
  }
  sets_.resize(classes_.size());
  usable_ = true;
}

SetCover::Answer SetCover::Solve(PlacementPart& part, Nanos period, bool quick) {
  quick_ = quick;
  if (!SetPart(part, period)) return {.result = Answer::kSolved};
  if (std::ranges::count(gone_, 0) == 0) {
    std::vector<WeightedSet> sets;
    for (const ClassSet& set : part.taken) sets.push_back({set, kTaken});
    return {.result = Answer::kSolved, .device = RoundSets(sets, classes_)};
  }
  if (std::ranges::all_of(count_, [](int count) { return count == 0; })) {
    return {.result = Answer::kRefuted};
  }
  const std::vector<double> shares = CostShares(period);
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / num_groups_;
  if (part.values.empty()) part.values = shares;
  for (int g = 0; g < num_groups_; ++g) part.values[g] = gone_[g] ? 0 : part.values[g];
  LinearModel model = MakeModel(part.values, period);
  std::optional<Separated> found = Separate(part.values, period, model);
  if (!found) return {.result = Answer::kStopped};
  LinearProgramme solver(model);
  part.values = found->normalised;
  double best = found->bound, width = kFirstWidth;
  bool between = false;  // the next sets are sought between the best values and the solution
  for (int idle = 0; best <= 1;) {
    for (int g = 0; g < num_groups_; ++g) {
      const double reach = gone_[g]              ? 0
                           : width < kWholeWidth ? width * (shares[g] + mean)
                                                 : 2 * kMostValue;
      solver.SetBounds(g,
                       std::max(-kMostValue, part.values[g] - reach),
                       std::min(kMostValue, part.values[g] + reach));
    }
    if (solver.Solve(stop_) != LinearProgramme::Status::kOptimal) {
      return {.result = Answer::kStopped};
    }
    const std::span<const double> solution = solver.solution();
    std::vector<double> values(solution.begin(), solution.begin() + num_groups_);
    if (std::accumulate(values.begin(), values.end(), 0.0) <= 1 + kNearOne) {
      if (width >= kWholeWidth) return Solved(part, model, solver.prices());
      width *= 4;
      continue;
    }
    if (AddKnownSets(values, solution.subspan(num_groups_), kKnownRows, model)) {
      solver.AddRows(model);
      continue;
    }
    if (between) {
      for (int g = 0; g < num_groups_; ++g) values[g] = (values[g] + part.values[g]) / 2;
    }
    const int rows = model.num_rows();
    found = Separate(values, period, model);
    if (!found) return {.result = Answer::kStopped};
    if (found->bound - best > kProgress * (1 - best)) idle = -1;
    ++idle;
    if (found->bound > best) {
      best = found->bound;
      part.values = found->normalised;
      width *= 1.5;
    } else {
      width = std::max(0.7 * width, kLeastWidth);
    }
    // Without new sets, the solution is one within rounding.
    const bool ends = model.num_rows() == rows && !between;
    if (best <= 1 && (ends || idle > (quick ? kQuickPatience : kPatience))) {
      return Solved(part, model, solver.prices());
    }
    between = model.num_rows() > rows;
    solver.AddRows(model);
  }
  return {.result = Answer::kRefuted};
}

// Returns false if the states of the part are too many.
bool SetCover::SetPart(const PlacementPart& part, Nanos period) {
  pairs_ = part.pairs;
  gone_.assign(num_groups_, 0);
  count_.clear();
  for (const EqualDevices& one : classes_) count_.push_back(one.count());
  for (const ClassSet& set : part.taken) {
    --count_[set.of_class];
    for (const int g : set.groups) gone_[g] = 1;
  }
  part_programmes_ = programmes_;
  if (part.pairs.empty() && part.taken.empty()) {
    AddFirstSets(period);
    return true;
  }
  own_.clear();
  part_classes_ = classes_;
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    for (int g = 0; g < num_groups_; ++g) {
      if (gone_[g]) part_classes_[k].cost[g] = kMaxNanos;
    }
    own_.emplace_back(part_classes_[k], period + 1, pairs_, programmes_[k].order());
    if (!own_.back().usable()) return false;
  }
  part_programmes_ = own_;
  return true;
}

// Returns values that prove the bound of the work: the share of each group in the time of all
// devices, by its least cost.
std::vector<double> SetCover::CostShares(Nanos period) const {
  std::vector<double> shares;
  int count = 0;
  for (const int of_class : count_) count += of_class;
  for (int g = 0; g < num_groups_; ++g) {
    Nanos least = kMaxNanos;
    for (const EqualDevices& one : classes_) least = std::min(least, one.cost[g]);
    shares.push_back(
        std::min(kMostValue, static_cast<double>(least) / static_cast<double>(period) / count));
  }
  return shares;
}

// Adds single groups and runs of the order, as long as they fit.
void SetCover::AddFirstSets(Nanos period) {
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    const std::vector<int>& order = programmes_[k].order();
    for (std::size_t s = 0; s < order.size(); ++s) {
      if (stop_()) return;
      std::vector<char> within(num_groups_, 0);
      GroupSet groups, longest;
      Nanos cost = 0;
      for (std::size_t e = s; e < order.size(); ++e) {
        if (classes_[k].cost[order[e]] >= kMaxNanos) break;
        cost += classes_[k].cost[order[e]];
        if (cost > period) break;
        within[order[e]] = 1;
        groups.push_back(order[e]);
        if (e == s || 2 * cost > period) {
          if (classes_[k].Load(within) <= period) longest = groups;
        }
      }
      if (!longest.empty()) Add(k, std::move(longest));
    }
  }
}

SetCover::Known& SetCover::Add(std::size_t k, GroupSet groups) {
  std::ranges::sort(groups);
  std::vector<char> within(num_groups_, 0);
  for (const int g : groups) within[g] = 1;
  const Nanos load = classes_[k].Load(within);
  for (Known& set : sets_[k]) {
    if (set.load == load && set.groups == groups) return set;
  }
  sets_[k].push_back({std::move(groups), load, false, false});
  return sets_[k].back();
}

// Columns are the values of groups, then of classes; rows say that no set is worth more than its
// class. Begins with the known sets of largest value.
LinearModel SetCover::MakeModel(std::span<const double> values, Nanos period) {
  LinearModel model;
  for (int g = 0; g < num_groups_; ++g) model.AddColumn(-1, -kMostValue, kMostValue);
  std::vector<std::pair<int, double>> row;
  for (const int of_class : count_) row.emplace_back(model.AddColumn(0, 0, 1), of_class);
  model.AddRow(1, 1, row);
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    for (Known& set : sets_[k]) {
      set.is_row = false;
      set.fits = count_[k] > 0 && set.load <= period && Obeys(set.groups);
    }
  }
  AddKnownSets(values, std::vector<double>(classes_.size(), -kNoLimit), num_groups_, model);
  return model;
}

void SetCover::AddRow(std::size_t k, Known& set, LinearModel& model) const {
  std::vector<std::pair<int, double>> row;
  for (const int g : set.groups) row.emplace_back(g, -1);
  row.emplace_back(num_groups_ + static_cast<int>(k), 1);
  model.AddRow(0, kNoLimit, row);
  set.is_row = true;
}

// Adds the rows of known sets whose value is above that of their class, the largest first.
// @param of_class  [classes]
// @param most      rows per class
// @return whether there are any
bool SetCover::AddKnownSets(std::span<const double> values,
                            std::span<const double> of_class,
                            int most,
                            LinearModel& model) {
  bool added = false;
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    std::vector<std::pair<double, std::size_t>> above;
    for (std::size_t s = 0; s < sets_[k].size(); ++s) {
      const Known& set = sets_[k][s];
      if (!set.fits || set.is_row) continue;
      double value = 0;
      for (const int g : set.groups) value += values[g];
      if (value > of_class[k] + kNearOne) above.emplace_back(-value, s);
    }
    const std::size_t kept = std::min(above.size(), static_cast<std::size_t>(most));
    std::ranges::partial_sort(above, above.begin() + static_cast<std::ptrdiff_t>(kept));
    above.resize(kept);
    for (const auto& [value, s] : above) AddRow(k, sets_[k][s], model);
    added = added || kept > 0;
  }
  return added;
}

// Finds sets that are worth more than all known ones, and adds their rows.
// @return nothing if stopped
std::optional<SetCover::Separated> SetCover::Separate(std::span<const double> values,
                                                      Nanos period,
                                                      LinearModel& model) {
  std::vector<SetValue> value;
  SetValue sum = 0;
  for (const double v : values) {
    value.push_back(std::llround(v * kOne));
    sum += value.back();
  }
  __int128 room = 0;  // largest value of all devices together
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    if (count_[k] == 0) continue;
    std::optional<SetProgramme::Best> best = FindSets(k, value, period);
    if (!best) return std::nullopt;
    room += static_cast<__int128>(count_[k]) * best->value;
    for (GroupSet& groups : best->sets) {
      Known& set = Add(k, std::move(groups));
      set.fits = true;
      if (!set.is_row) AddRow(k, set, model);
    }
  }
  Separated result{.normalised = {values.begin(), values.end()}};
  if (room == 0) {  // no group fits
    result.bound = sum > 0 ? 2 : 0;
    return result;
  }
  const double scale = kOne / static_cast<double>(room);
  result.bound = static_cast<double>(sum) / static_cast<double>(room);
  // The comparison is exact; the division is rounded.
  result.bound = sum > room ? std::max(result.bound, 1 + 1e-12) : std::min(result.bound, 1.0);
  for (double& v : result.normalised) v *= scale;
  return result;
}

// Finds sets of a class that are worth more than all known ones, and sets that complete the best of
// them on the other devices.
std::optional<SetProgramme::Best> SetCover::FindSets(std::size_t k,
                                                     std::vector<SetValue> value,
                                                     Nanos period) {
  SetValue threshold = 0;
  for (const Known& set : sets_[k]) {
    if (!set.fits) continue;
    SetValue total = 0;
    for (const int g : set.groups) total += value[g];
    threshold = std::max(threshold, total);
  }
  std::optional<SetProgramme::Best> best =
      part_programmes_[k].Find(value, period, threshold, quick_, stop_);
  if (!best || best->sets.empty()) return best;
  GroupSet last = best->sets[0];
  for (int i = 1; i < count_[k]; ++i) {
    for (const int g : last) value[g] = -best->value;
    std::optional<SetProgramme::Best> next =
        part_programmes_[k].Find(value, period, best->value / 2, true, stop_);
    if (!next) return next;
    if (next->sets.empty()) break;
    last = next->sets[0];
    best->sets.push_back(last);
  }
  return best;
}

bool SetCover::Obeys(const GroupSet& groups) const {
  if (std::ranges::any_of(groups, [&](int g) { return gone_[g]; })) return false;
  const auto has = [&](int g) { return std::ranges::binary_search(groups, g); };
  return std::ranges::all_of(pairs_, [&](const PairDecision& pair) {
    return pair.together ? has(pair.first) == has(pair.second)
                         : !(has(pair.first) && has(pair.second));
  });
}

// @param weights  of the rows
SetCover::Answer SetCover::Solved(const PlacementPart& part,
                                  const LinearModel& model,
                                  std::span<const double> weights) const {
  std::vector<WeightedSet> sets;
  for (int r = 1; r < static_cast<int>(weights.size()); ++r) {
    if (std::abs(weights[r]) < kLeastWeight) continue;
    WeightedSet& set = sets.emplace_back(ClassSet{}, std::abs(weights[r]));
    for (int e = model.row_begin[r]; e < model.row_begin[r + 1]; ++e) {
      const int column = model.column[e];
      if (column < num_groups_) {
        set.groups.push_back(column);
      } else {
        set.of_class = static_cast<std::size_t>(column - num_groups_);
      }
    }
  }
  std::ranges::stable_sort(sets, std::greater{}, &WeightedSet::weight);
  Answer answer{.result = Answer::kSolved, .pair = PairToDecide(sets, classes_)};
  for (std::size_t i = 0; i < std::min(kLikely, sets.size()); ++i) {
    answer.likely.push_back(sets[i]);
  }
  for (const ClassSet& set : part.taken) sets.push_back({set, kTaken});
  answer.device = RoundSets(sets, classes_);
  return answer;
}

}  // namespace emplace

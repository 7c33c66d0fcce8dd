#include "agents/branch_and_bound/branch_and_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <istream>
#include <iterator>
#include <ostream>
#include <set>

#include "agents/initial_placements/initial_placements.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

constexpr int kMovesAtOnce = 32;
constexpr std::int64_t kBoundsRemembered = 1024;  // a level's counts are halved after so many
constexpr double kWhole = 1024;                   // unit of Level::cut: all placements below a node
constexpr std::int64_t kBoundsTried = 64;  // one in so many is computed where bounds do not pay
// The table pairs_ has 2^devices entries per device, and a bit per pair of devices.
constexpr int kMostOrderedDevices = 11;
constexpr std::size_t kMostSymmetries = 50'000, kMostOrderedSymmetries = 256;

std::uint64_t Bit(int d) {
  return std::uint64_t{1} << d;
}

// Returns the bit of a pair of devices a < b.
std::uint64_t PairBit(int a, int b) {
  return Bit(b * (b - 1) / 2 + a);
}

}  // namespace

BranchAndBoundAgent::BranchAndBoundAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_construction),
      config_(config),
      proposer_(*problem_, MoveConfig(), "moves"),
      order_(problem_->group_order().begin(), problem_->group_order().end()),
      levels_(problem_->num_groups() + 1),
      masks_(problem_->num_groups()),
      load_(problem_->num_devices()),
      resident_(problem_->num_devices()),
      device_(problem_->num_groups()) {
  ValidateStarts(*problem_, "start", config.start);
  if (problem_->objective() == Objective::kPeriod) {
    load_bound_.emplace(*problem_);
  } else {
    step_bound_.emplace(*problem_);
  }
  const std::size_t n = order_.size();
  rest_resident_.assign(n + 1, 0);
  for (std::size_t k = n; k-- > 0;) {
    const int g = order_[k];
    rest_resident_[k] = rest_resident_[k + 1] + problem_->group_resident_bytes(g);
  }
  SetSymmetries();
}

void BranchAndBoundAgent::SetSymmetries() {
  const Problem& problem = *problem_;
  const Cluster& cluster = problem.cluster();
  const int n = problem.num_devices();
  const bool step = problem.objective() == Objective::kStepTime;
  const auto matters = [&](int from, int a, int b) {
    return step && from != a && from != b && !cluster.route(from, a).empty() &&
           !cluster.route(from, b).empty() && OrderMatters(cluster, from, a, b);
  };
  const std::vector<int> label = DevicesOfEqualCosts(problem.costs());
  bool any = false;
  for (int from = 0; from < n; ++from) {
    for (int b = 0; b < n; ++b) {
      for (int a = 0; a < b; ++a) any = any || matters(from, a, b);
    }
  }
  if (any && n > kMostOrderedDevices) {
    symmetries_ = Symmetries(cluster, label, 1);
    return;
  }
  symmetries_ = Symmetries(cluster, label, any ? kMostOrderedSymmetries : kMostSymmetries);
  if (!any || symmetries_.size() == 1) return;
  for (const DevicePermutation& image : symmetries_) {
    std::uint64_t turned = 0;
    for (int b = 0; b < n; ++b) {
      for (int a = 0; a < b; ++a) {
        if (image[a] > image[b]) turned |= PairBit(a, b);
      }
    }
    turned_.push_back(turned);
  }
  pairs_.assign(n << n, 0);
  for (int from = 0; from < n; ++from) {
    for (std::uint64_t to = 0; to < Bit(n); ++to) {
      std::uint64_t& pairs = pairs_[(from << n) + to];
      for (int b = 0; b < n; ++b) {
        for (int a = 0; a < b; ++a) {
          if ((to >> a & 1) && (to >> b & 1) && matters(from, a, b)) pairs |= PairBit(a, b);
        }
      }
    }
  }
  std::set<std::pair<int, std::vector<int>>> known;
  for (GroupItem& item : GroupItems(problem)) {
    if (item.readers.size() < 2 || !known.insert({item.maker, item.readers}).second) continue;
    forks_.push_back(std::move(item));
  }
}

bool BranchAndBoundAgent::Later(const Node& a, const Node& b) {
  if (a.bound != b.bound) return a.bound > b.bound;
  if (a.device.size() != b.device.size()) return a.device.size() < b.device.size();
  return a.device > b.device;
}

void BranchAndBoundAgent::Put(Node node) {
  if (static_cast<int>(open_.size()) >= config_.most_open) {
    dive_.push_back(std::move(node));
    return;
  }
  open_.push_back(std::move(node));
  std::ranges::push_heap(open_, Later);
}

BranchAndBoundAgent::Node BranchAndBoundAgent::Take() {
  std::vector<Node>& from = dive_.empty() ? open_ : dive_;
  if (dive_.empty()) std::ranges::pop_heap(open_, Later);
  Node node = std::move(from.back());
  from.pop_back();
  return node;
}

void BranchAndBoundAgent::Fix(std::size_t depth, int device) {
  const int g = order_[depth];
  device_[g] = static_cast<DeviceIndex>(device);
  masks_[g] = Bit(device);
  load_[device] += problem_->group_cost(g, device);
  resident_[device] += problem_->group_resident_bytes(g);
}

void BranchAndBoundAgent::Free(std::size_t depth, std::uint64_t mask) {
  const int g = order_[depth];
  load_[device_[g]] -= problem_->group_cost(g, device_[g]);
  resident_[device_[g]] -= problem_->group_resident_bytes(g);
  masks_[g] = mask;
}

std::int64_t BranchAndBoundAgent::DeficitBound(std::size_t depth) const {
  std::int64_t deficit = 0, left = rest_resident_[depth];
  for (int d = 0; d < problem_->num_devices(); ++d) {
    const std::int64_t memory = problem_->cluster().device(d).memory;
    if (memory == kUnlimitedMemory) {
      left = 0;
    } else if (resident_[d] > memory) {
      deficit += resident_[d] - memory;
    } else {
      left = std::max<std::int64_t>(0, left - (memory - resident_[d]));
    }
  }
  return deficit + left;
}

Nanos BranchAndBoundAgent::TimeBound(Nanos target) {
  ++num_bounds_;
  return load_bound_ ? (*load_bound_)(masks_) : step_bound_->Exclude(masks_, target);
}

double BranchAndBoundAgent::Placements(std::size_t depth) const {
  double product = 1;
  for (; depth < order_.size(); ++depth) product *= std::popcount(masks_[order_[depth]]);
  return product;
}

double BranchAndBoundAgent::LogPlacements(std::size_t depth) const {
  double sum = 0;
  for (; depth < order_.size(); ++depth) sum += std::log2(std::popcount(masks_[order_[depth]]));
  return sum;
}

bool BranchAndBoundAgent::Bound(std::size_t depth, Score& bound) {
  Level& level = levels_[depth];
  // The number of placements overflows a double from 1,024 groups of two devices on.
  const double below = Placements(depth);
  const double log_below = std::isfinite(below) ? 0 : LogPlacements(depth);
  const double gain = below * static_cast<double>(level.cut) / kWhole;
  if (level.computed >= kBoundsTried &&
      gain < static_cast<double>(config_.bound_cost) * static_cast<double>(level.computed) &&
      ++level.left_out % kBoundsTried != 0) {
    return true;
  }
  // If nothing fits yet, a placement that takes longer may be better.
  const Nanos target = best_score_.deficit == 0 ? best_score_.step_time - 1 : kMaxNanos;
  bound.step_time = std::max(bound.step_time, TimeBound(target));
  const bool keep = bound < best_score_;
  ++level.computed;
  const double kept = std::isfinite(below) ? Placements(depth) / below
                                           : std::exp2(LogPlacements(depth) - log_below);
  level.cut += keep ? std::llround(kWhole * (1 - kept)) : kWhole;
  if (level.computed == kBoundsRemembered) {
    level.computed /= 2;
    level.cut /= 2;
  }
  return keep;
}

std::uint64_t BranchAndBoundAgent::Choices(std::size_t depth, std::uint64_t used) {
  const std::uint64_t allowed = masks_[order_[depth]];
  if (symmetries_.size() == 1) return allowed;
  const auto [place, added] = representatives_.try_emplace(used, 0);
  if (added) {
    std::uint64_t others = 0;  // devices that are the image of a device with a lower index
    for (const DevicePermutation& image : symmetries_) {
      bool stays = true;
      for (std::uint64_t rest = used; rest; rest &= rest - 1) {
        const int d = std::countr_zero(rest);
        stays = stays && image[d] == d;
      }
      for (int d = 0; stays && d < problem_->num_devices(); ++d) {
        if (image[d] > d) others |= Bit(image[d]);
      }
    }
    place->second = ~others;
  }
  return allowed & place->second;
}

void BranchAndBoundAgent::Divide(const Node& node) {
  std::size_t depth = node.device.size();
  std::uint64_t used = 0;
  for (DeviceIndex d : node.device) used |= Bit(d);
  Score bound = node.bound;
  const bool many = Placements(depth) > config_.bound_cost;
  if (many && !Bound(depth, bound)) return;
  if (!many || Placements(depth) <= config_.bound_cost) {
    node_bound_ = bound.step_time;
    Complete(depth, used);
    return;
  }
  Node above{bound, node.device};
  for (; std::has_single_bit(masks_[order_[depth]]); ++depth) {  // a single device makes no node
    if (Choices(depth, used) == 0) return;
    const int d = std::countr_zero(masks_[order_[depth]]);
    Fix(depth, d);
    above.device.push_back(static_cast<DeviceIndex>(d));
    used |= Bit(d);
  }
  std::vector<Node> children;
  const std::uint64_t mask = masks_[order_[depth]];
  for (std::uint64_t rest = Choices(depth, used); rest; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    Fix(depth, d);
    Node child = above;
    child.bound.deficit = std::max(bound.deficit, DeficitBound(depth + 1));
    Free(depth, mask);
    child.device.push_back(static_cast<DeviceIndex>(d));
    if (child.bound < best_score_) children.push_back(std::move(child));
  }
  std::ranges::sort(children, Later);
  for (Node& child : children) Put(std::move(child));
}

void BranchAndBoundAgent::Complete(std::size_t depth, std::uint64_t used) {
  if (depth == order_.size()) {
    AddRows();
    return;
  }
  const std::uint64_t mask = masks_[order_[depth]];
  for (std::uint64_t rest = Choices(depth, used); rest; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    Fix(depth, d);
    const int slots = load_bound_ ? 1 : problem_->cluster().device(d).slots;
    const Score bound{DeficitBound(depth + 1),
                      std::max(node_bound_, (load_[d] + slots - 1) / slots)};
    if (bound < best_score_) Complete(depth + 1, used | Bit(d));
    Free(depth, mask);
  }
}

void BranchAndBoundAgent::AddRows() {
  rows_.insert(rows_.end(), device_.begin(), device_.end());
  if (pairs_.empty()) return;
  std::uint64_t pairs = 0;
  for (const GroupItem& item : forks_) {
    const int from = device_[item.maker];
    std::uint64_t to = 0;
    for (int g : item.readers) to |= Bit(device_[g]);
    pairs |= pairs_[(static_cast<std::size_t>(from) << problem_->num_devices()) + to];
  }
  if (pairs == 0) return;
  const auto [place, added] = images_.try_emplace(pairs);
  if (added) {
    std::set<std::uint64_t> seen{0};
    for (std::size_t i = 0; i < symmetries_.size(); ++i) {
      if (seen.insert(turned_[i] & pairs).second) place->second.push_back(static_cast<int>(i));
    }
  }
  for (int i : place->second) {
    for (DeviceIndex d : device_) rows_.push_back(static_cast<DeviceIndex>(symmetries_[i][d]));
  }
}

void BranchAndBoundAgent::Begin(Evaluator& evaluator) {
  const std::vector<Placement> starts = MakeStarts(*problem_, config_.start, rng_, interrupt_);
  const std::vector<Score> scores = evaluator.Scores(starts);
  const std::size_t best = IndexOfBest(scores);
  best_ = starts[best];
  best_score_ = scores[best];
  for (int g = 0; g < problem_->num_groups(); ++g) masks_[g] = problem_->allowed_devices(g);
  Node root{{DeficitBound(0), TimeBound(kMaxNanos)}, {}};
  bound_ = root.bound.step_time;
  Put(std::move(root));
  started_ = true;
  Prune();
}

void BranchAndBoundAgent::Climb(Evaluator& evaluator) {
  moves_.Clear();
  while (moves_.size() < kMovesAtOnce) proposer_.Propose(rng_, best_, moves_);
  step_time_.resize(moves_.size());
  deficit_.resize(moves_.size());
  evaluator.EvaluateNeighbors(moves_.Of(best_), {step_time_, deficit_, {}, {}});
  climbed_ += kMovesAtOnce;
  std::size_t best = 0;
  for (std::size_t i = 1; i < moves_.size(); ++i) {
    if (Score{deficit_[i], step_time_[i]} < Score{deficit_[best], step_time_[best]}) best = i;
  }
  const Score score{deficit_[best], step_time_[best]};
  if (best_score_ <= score) return;
  best_score_ = score;
  moves_.Apply(best, best_.device);
}

void BranchAndBoundAgent::Search(Evaluator& evaluator) {
  const std::size_t n = order_.size();
  rows_.clear();
  const std::int64_t nodes = num_nodes_, bounds = num_bounds_;
  for (std::int64_t work = 0; work < config_.batch && !Finished();
       work = static_cast<std::int64_t>(rows_.size() / n) + (num_nodes_ - nodes) +
              (num_bounds_ - bounds) * config_.bound_cost) {
    const Node node = Take();
    ++num_nodes_;
    if (best_score_ <= node.bound) continue;
    std::ranges::fill(load_, 0);
    std::ranges::fill(resident_, 0);
    for (std::size_t k = 0; k < n; ++k) masks_[order_[k]] = problem_->allowed_devices(order_[k]);
    for (std::size_t k = 0; k < node.device.size(); ++k) Fix(k, node.device[k]);
    Divide(node);
  }
  const std::size_t count = rows_.size() / n;
  step_time_.resize(count);
  deficit_.resize(count);
  if (count > 0) {
    evaluator.EvaluateRows({rows_.data(), count, n}, {step_time_, deficit_, {}, {}});
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Score score{deficit_[i], step_time_[i]};
    if (best_score_ <= score) continue;
    best_score_ = score;
    best_.device.assign(rows_.data() + i * n, rows_.data() + (i + 1) * n);
  }
  Prune();
}

void BranchAndBoundAgent::Prune() {
  std::erase_if(dive_, [&](const Node& node) { return best_score_ <= node.bound; });
  if (!open_.empty() && best_score_ <= open_.front().bound) open_.clear();
  if (best_score_.deficit > 0) return;
  Nanos least = best_score_.step_time;
  const auto note = [&](const Node& node) { least = std::min(least, node.bound.step_time); };
  if (!open_.empty()) note(open_.front());
  for (const Node& node : dive_) note(node);
  bound_ = std::max(bound_, least);
}

void BranchAndBoundAgent::Step(Evaluator& evaluator) {
  if (!started_) {
    Begin(evaluator);
  } else if (climbed_ < config_.climb && proposer_.any()) {
    Climb(evaluator);
  } else {
    Search(evaluator);
  }
}

void BranchAndBoundAgent::VisitState(StateVisitor& v) {
  v.Begin("branch_and_bound", *problem_);
  v.Generator(rng_);
  v.Flag(started_);
  if (!started_) return;
  v.Count("a number of evaluations", climbed_);
  v.Count("a number of nodes", num_nodes_);
  v.Count("a number of bounds", num_bounds_);
  for (Level& level : levels_) {
    for (std::int64_t* count : {&level.computed, &level.cut, &level.left_out}) {
      v.Count("a number of bounds", *count);
    }
  }
  v.Devices(best_);
  const auto score = [&v](emplace::Score& of) {
    v.Amount("a deficit", of.deficit);
    v.Amount("a step time", of.step_time);
  };
  score(best_score_);
  v.Amount("a bound", bound_);
  for (std::vector<Node>* nodes : {&open_, &dive_}) {
    v.List("a number of nodes", *nodes, [&](Node& node) {
      score(node.bound);
      std::string device(node.device.begin(), node.device.end());
      v.Text("devices of a node", device);
      node.device.assign(device.begin(), device.end());
      bool allowed = device.size() <= order_.size();
      for (std::size_t k = 0; allowed && k < device.size(); ++k) {
        allowed = node.device[k] < problem_->num_devices() &&
                  problem_->allowed(order_[k], node.device[k]);
      }
      if (!allowed) v.Fail("a node has a device where its group may not run");
    });
  }
}

}  // namespace emplace

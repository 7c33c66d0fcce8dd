#include "experiments/stress/adversary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/parallel.h"

namespace emplace {
namespace {

constexpr int kBisections = 5;          // reduces the interval of epsilon to 1/32
constexpr double kTighter = 0.98;       // next epsilon, as a share of the least one so far
constexpr double kEndOfCooling = 0.01;  // last temperature, as a share of the first
constexpr int kChannelMoves = 8;        // one in so many moves changes a link
constexpr int kSteeredMoves = 4;        // one in so many moves follows the critical paths

using Direction = std::vector<double>;  // [num_ops + num_channels] in [-1, 1]

// Returns the ops on a critical path of a step. The path goes from the op that finishes last back
// to the latest arrival that an op waited for: an input, or the end of the op before it on its
// device. Transfers count without contention, and a device counts as one slot; otherwise the path
// may deviate from the critical one.
std::vector<int> CriticalOps(const Problem& problem,
                             const std::vector<DeviceIndex>& device_of_op,
                             const Outcome& outcome) {
  const int num_ops = problem.num_ops();
  std::vector<std::vector<int>> on_device(problem.num_devices());
  for (int v = 0; v < num_ops; ++v) on_device[device_of_op[v]].push_back(v);
  std::vector<int> before(num_ops, -1);  // previous op on the same device
  for (std::vector<int>& ops : on_device) {
    std::stable_sort(ops.begin(), ops.end(), [&](int a, int b) {
      return outcome.start[a] != outcome.start[b] ? outcome.start[a] < outcome.start[b]
                                                  : outcome.finish[a] < outcome.finish[b];
    });
    for (size_t i = 1; i < ops.size(); ++i) before[ops[i]] = ops[i - 1];
  }
  std::vector<int> path;
  std::vector<bool> seen(num_ops);
  int at = static_cast<int>(std::max_element(outcome.finish.begin(), outcome.finish.end()) -
                            outcome.finish.begin());
  while (at >= 0 && !seen[at]) {
    seen[at] = true;
    path.push_back(at);
    int last = before[at];
    Nanos latest = last >= 0 ? outcome.finish[last] : -1;
    const auto wait_for = [&](int op, std::int64_t bytes) {
      const Nanos there = outcome.finish[op] +
                          problem.cluster().TransferTime(device_of_op[op], device_of_op[at], bytes);
      if (there > latest) {
        last = op;
        latest = there;
      }
    };
    for (const int tensor : problem.graph().reads(at)) {
      const Tensor& input = problem.graph().tensor(tensor);
      if (input.producer >= 0) wait_for(input.producer, input.bytes);
    }
    for (const int op : problem.graph().op(at).control_inputs) wait_for(op, 0);
    at = last;
  }
  return path;
}

// One chain of the annealing.
class Chain {
 public:
  Chain(const std::shared_ptr<const Problem>& problem,
        const SimulatorOptions& how,
        const Candidate& winner,
        const Candidate& other,
        const AdversaryOptions& options,
        std::uint64_t seed,
        const std::function<void()>& simulated)
      : problem_(problem),
        how_(how),
        placements_{winner, other},
        options_(options),
        rng_(seed),
        simulated_(simulated) {}

  Adversary Search() {
    Direction direction(problem_->num_ops() + problem_->cluster().num_channels(), 0);
    double lead = LeadAt(direction, 0);
    if (lead < 0) return found_;  // equal in time, and the other one fits better
    const double first_temperature = std::max(lead, 1e-6) / 4;
    double target = options_.range;
    while (found_.evaluations < options_.steps) {
      const double share = found_.evaluations / static_cast<double>(options_.steps);
      const Direction next = UniformInt(rng_, kSteeredMoves) == 0 ? Steered(direction, target)
                                                                  : Turned(direction, share);
      const double next_lead = LeadAt(next, target);
      const double temperature = first_temperature * std::pow(kEndOfCooling, share);
      if (next_lead > lead && Uniform01(rng_) >= std::exp((lead - next_lead) / temperature)) {
        continue;
      }
      direction = next;
      lead = next_lead;
      while (lead < 0 && found_.evaluations < options_.steps) {
        Shorten(direction, target);
        target = kTighter * *found_.epsilon;
        lead = LeadAt(direction, target);
      }
    }
    return found_;
  }

 private:
  Perturbation At(const Direction& direction, double epsilon) const {
    Perturbation factors = NoPerturbation(*problem_);
    const size_t num_ops = factors.op.size();
    for (size_t i = 0; i < direction.size(); ++i) {
      (i < num_ops ? factors.op[i] : factors.channel[i - num_ops]) = 1 + epsilon * direction[i];
    }
    return factors;
  }

  // Returns the lead of the winner as a share of its time; below 0 if it loses. Records the least
  // epsilon at which it loses.
  double LeadAt(const Direction& direction, double epsilon) {
    Perturbation factors = At(direction, epsilon);
    const std::vector<Outcome> outcomes =
        SimulateCandidates(Perturb(problem_, factors), how_, placements_);
    ++found_.evaluations;
    simulated_();
    const Outcome &winner = outcomes[0], &other = outcomes[1];
    if (Better(other, winner)) {
      if (!found_.epsilon || epsilon < *found_.epsilon) {
        found_.epsilon = epsilon;
        found_.perturbation = std::move(factors);
      }
      return -1;
    }
    if (!other.feasible) return kFar;
    return static_cast<double>(other.step_time - winner.step_time) /
           static_cast<double>(std::max<Nanos>(winner.step_time, 1));
  }

  // Reduces `epsilon`, at which the winner loses in this direction, by bisection.
  void Shorten(const Direction& direction, double epsilon) {
    double keeps = 0;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (keeps + epsilon) / 2;
      (LeadAt(direction, middle) < 0 ? epsilon : keeps) = middle;
    }
  }

  // Slows down the ops on the winner's critical path at this epsilon and speeds up those on the
  // other's, except ops on both. Returns the direction unchanged without op times.
  Direction Steered(Direction direction, double epsilon) {
    const auto changed = Perturb(problem_, At(direction, epsilon));
    const auto outcomes = SimulateCandidates(changed, how_, placements_, {.op_times = true});
    ++found_.evaluations;
    simulated_();
    if (outcomes[0].finish.empty()) return direction;
    std::vector<int> sides(problem_->num_ops(), 0);
    for (const int side : {1, -1}) {
      const size_t i = side > 0 ? 0 : 1;
      const auto device_of_op = ExpandPlacement(placements_[i].placement, problem_->grouping());
      for (const int op : CriticalOps(*changed, device_of_op, outcomes[i])) sides[op] += side;
    }
    for (size_t op = 0; op < sides.size(); ++op) {
      if (sides[op] != 0) direction[op] = sides[op];
    }
    return direction;
  }

  // Sets a link, or a sequence of ops, to one side: long sequences at first, a few ops at the end.
  Direction Turned(Direction direction, double share) {
    const int num_ops = problem_->num_ops(), num_channels = problem_->cluster().num_channels();
    const double side = UniformInt(rng_, 2) == 0 ? -1 : 1;
    if (num_channels > 0 && UniformInt(rng_, kChannelMoves) == 0) {
      direction[num_ops + UniformInt(rng_, num_channels)] = side;
      return direction;
    }
    const int longest =
        std::max(1, static_cast<int>(std::pow(num_ops, 1 - share * Uniform01(rng_)) / 4));
    const int length = 1 + UniformInt(rng_, longest);
    const int begin = UniformInt(rng_, num_ops), end = std::min(num_ops, begin + length);
    std::fill(direction.begin() + begin, direction.begin() + end, side);
    return direction;
  }

  static constexpr double kFar = 1e3;  // a lead greater than any change of times

  const std::shared_ptr<const Problem>& problem_;
  const SimulatorOptions& how_;
  const std::vector<Candidate> placements_;
  const AdversaryOptions& options_;
  Rng rng_;
  const std::function<void()>& simulated_;
  Adversary found_;
};

}  // namespace

Adversary FindAdversary(const std::shared_ptr<const Problem>& problem,
                        const SimulatorOptions& how,
                        const Candidate& winner,
                        const Candidate& other,
                        const AdversaryOptions& options,
                        std::uint64_t seed,
                        int jobs,
                        const std::function<void()>& simulated) {
  EMPLACE_CHECK(options.range > 0 && options.range < 1);
  std::vector<Adversary> found(options.chains);
  ParallelFor(options.chains, jobs, [&](int chain) {
    found[chain] = Chain(problem, how, winner, other, options, seed + chain, simulated).Search();
  });
  Adversary best{.range = options.range};
  for (Adversary& one : found) {
    const int evaluations = best.evaluations + one.evaluations;
    if (one.epsilon && (!best.epsilon || *one.epsilon < *best.epsilon)) {
      best.epsilon = one.epsilon;
      best.perturbation = std::move(one.perturbation);
    }
    best.evaluations = evaluations;
  }
  return best;
}

}  // namespace emplace

#include "agents/post/post_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "agents/initial_placements/initial_placements.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

const PostConfig& Checked(const PostConfig& config, const Problem& problem) {
  RequireChoice("method", config.method, {"ce_only", "joint", "ppo_only"});
  RequireChoice("ppo.ratio", config.ratio, {"decision", "placement"});
  ValidateStarts(problem, "start", config.start);
  return config;
}

}  // namespace

UpdateFields PostRow::Fields() const {
  return {{"restarts", restarts},
          {"evaluations", evaluations},
          {"phase", phase},
          {"entropy", entropy},
          {"kl", kl},
          {"kl_weight", kl_weight},
          {"epsilon", epsilon},
          {"elite_time_ns", elite_time_ns},
          {"baseline", baseline},
          {"mean_cost", mean_cost},
          {"best_step_time_ns", best_step_time_ns},
          {"feasible", feasible}};
}

PostConfig::PostConfig() {
  reward.transform = "sqrt";
  optimizer.schedule.learning_rate = 0.1;
}

void CrossEntropyConfig::Visit(FieldVisitor& v) {
  v.Field("samples", samples, Between(1, 1e6), "placements between two cross-entropy steps (N)");
  v.Field("elite_share",
          elite_share,
          Between(0, 1),
          "share of the placements that are elites, those with the least costs");
  v.Field("epsilon",
          epsilon,
          Between(0, 1),
          "initial share of the uniform distribution in the mixture");
  v.Field("epsilon_samples",
          epsilon_samples,
          Between(1, 1e9),
          "placements over which that share falls linearly to 0");
  v.Field(
      "step", step, Between(0, 1), "step size from the old distributions to those of the elites");
  v.Field("keep_elites", keep_elites, "let the elites compete with the next placements");
  v.Field("mode", mode, "take the most likely placement as the last of the N placements");
}

void PostConfig::Visit(FieldVisitor& v) {
  v.Field("method", method, "joint, ce_only or ppo_only");
  v.Group("reward", "cost of a placement", [this](FieldVisitor& g) { reward.Visit(g); });
  v.Group("baseline", "value that is subtracted from the reward", [this](FieldVisitor& g) {
    baseline.Visit(g);
  });
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the batch");
  v.Group("ppo", "proximal policy optimisation", [this](FieldVisitor& g) {
    g.Field("samples", ppo_samples, Between(1, 1e6), "placements between two updates (K)");
    g.Field(
        "ratio", ratio, "ratio of new to old probabilities: of each decision or of the placement");
    ppo.Visit(g);
  });
  v.Group("cross_entropy", "cross-entropy minimisation", [this](FieldVisitor& g) {
    cross_entropy.Visit(g);
  });
  v.Group("optimizer", "gradient descent of PPO", [this](FieldVisitor& g) { optimizer.Visit(g); });
  v.Field("sharing",
          sharing,
          Between(0, 1000),
          "strength with which groups that exchange tensors learn together in PPO; 0: none");
  v.Field("first_sharing",
          first_sharing,
          Between(0, 1e6),
          "strength at the beginning of a search from nothing, if it is larger than `sharing`");
  v.Field("sharing_samples",
          sharing_samples,
          AtLeast(0),
          "placements during which the strength falls to `sharing`, in equal ratios");
  v.Field("patience",
          patience,
          AtLeast(0),
          "placements without a better one before a restart; 0: never restarts");
  v.Field("return_probability",
          return_probability,
          Between(0, 1),
          "probability of the best placement's device for each group after a restart; 0: the "
          "initial distribution");
  v.Field("start",
          start,
          "initial placements, of which the best is used; nothing: all devices equally likely");
  v.Field("start_probability",
          start_probability,
          Between(0, 1),
          "initial probability of the start's device for each group");
}

PostAgent::PostAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      end_construction_(context.end_construction),
      interrupt_(context.end_step),
      config_(Checked(config, *context.problem)),
      rng_(context.seed),
      policy_(*problem_, parameters_, config.sharing),
      reward_(config.reward, *problem_, "reward"),
      baseline_(config.baseline, reward_.failing_cost(), "baseline"),
      core_(config.optimizer, config.ppo, parameters_, PostRow().Fields()),
      patience_(config.patience) {
  SetSharing();
}

std::int64_t PostAgent::UntilUpdate() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](int period) {
    least = std::min(least, period - since_restart_ % period);
  };
  if (UsesPpo()) consider(config_.ppo_samples);
  if (UsesCrossEntropy()) consider(config_.cross_entropy.samples);
  return least;
}

void PostAgent::Draw(int count, Evaluator& evaluator) {
  Tape tape(interrupt_);
  const Var log_probabilities = policy_.LogProbabilities(tape);
  std::vector<Placement> placements;
  try {
    placements = policy_.Sample(tape.value(log_probabilities), count, rng_);
  } catch (const RunError&) {
    ThrowNotFinite(core_.table().num_rows(), tape);
  }
  const CrossEntropyConfig& config = config_.cross_entropy;
  if (UsesCrossEntropy() && config.mode && (since_restart_ + count) % config.samples == 0) {
    placements.back() = policy_.Mode(tape.value(log_probabilities));
  }
  const std::vector<Score> scores = evaluator.Scores(placements);
  for (int i = 0; i < count; ++i) {
    const bool better = best_.Offer(placements[i], scores[i]);
    improved_ |= better;
    patience_.Count(better);
    const double cost = reward_.Cost(scores[i]);
    samples_.push_back({std::move(placements[i]), scores[i], cost});
  }
  evaluations_ += count;
  since_restart_ += count;
}

void PostAgent::Ppo(std::span<const Sample> batch,
                    const std::vector<double>& advantages,
                    PostRow& row) {
  std::vector<Placement> placements;
  for (const Sample& sample : batch) placements.push_back(sample.placement);
  const Eigen::Map<const Eigen::RowVectorXd> costs(advantages.data(), std::ssize(advantages));
  const bool whole = config_.ratio == "placement";
  emplace::Ppo& ppo = core_.ppo();
  const std::int64_t update = core_.table().num_rows();
  Tape tape(interrupt_);
  Matrix old, old_drawn;
  Var kl;
  for (int epoch = 0; epoch <= ppo.epochs(); ++epoch) {
    const Var all = policy_.LogProbabilities(tape);
    if (epoch == 0) old = tape.value(all);
    kl = KlDivergence(tape, old, all);
    if (whole) kl = Scale(tape, kl, static_cast<float>(policy_.num_decisions()));
    if (epoch == ppo.epochs()) break;

    Var drawn = policy_.LogProbability(tape, all, placements);
    if (whole) drawn = SumOverRows(tape, drawn);
    if (epoch == 0) old_drawn = tape.value(drawn);
    const Var loss = ppo.Loss(tape, drawn, old_drawn, costs.cast<float>(), kl);
    core_.Descend(tape, loss, update);
  }
  row.phase = 0;
  row.kl = tape.value(kl)(0, 0);
  if (!std::isfinite(row.kl)) ThrowNotFinite(update, tape);
  ppo.Observe(row.kl);
  row.kl_weight = ppo.kl_weight();
}

void PostAgent::CrossEntropy(PostRow& row) {
  const CrossEntropyConfig& config = config_.cross_entropy;
  auto rank = std::max<std::int64_t>(1, std::ceil(config.elite_share * config.samples - 1e-9));
  rank = std::min(rank, std::ssize(samples_));  // fewer after loading a state with another N
  const auto costs_less = [](const Sample& a, const Sample& b) { return a.cost < b.cost; };
  std::stable_sort(samples_.begin(), samples_.end(), costs_less);
  samples_.erase(std::upper_bound(samples_.begin(), samples_.end(), samples_[rank - 1], costs_less),
                 samples_.end());

  std::vector<const Placement*> elites;
  row.phase = 1;
  for (const Sample& sample : samples_) {
    elites.push_back(&sample.placement);
    const double time = StepTimeOrNan(sample.score);
    if (!std::isnan(time) && !(row.elite_time_ns > time)) row.elite_time_ns = time;
  }
  const double left = 1 - static_cast<double>(since_restart_) / config.epsilon_samples;
  row.epsilon = config.epsilon * std::max(left, 0.0);
  policy_.MinimizeCrossEntropy(elites, row.epsilon, config.step);

  std::vector<Sample> kept;
  for (Sample& sample : samples_) {
    const auto same = [&](const Sample& other) { return other.placement == sample.placement; };
    if (!config.keep_elites || std::ssize(kept) == rank) break;
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(sample));
  }
  samples_ = std::move(kept);
}

void PostAgent::Update() {
  const std::span<const Sample> batch = std::span<const Sample>(samples_).subspan(num_used_);
  PostRow row = {.restarts = static_cast<double>(restarts_),
                 .evaluations = static_cast<double>(evaluations_),
                 .entropy = policy_.MeanEntropy(),
                 .best_step_time_ns = best_.step_time()};
  std::vector<double> costs;
  for (const Sample& sample : batch) {
    costs.push_back(sample.cost);
    row.mean_cost += sample.cost / static_cast<double>(batch.size());
    row.feasible += sample.score.feasible() / static_cast<double>(batch.size());
  }
  std::vector<double> advantages = baseline_.Advantages(costs);
  if (config_.normalize_advantages) NormalizeAdvantages(advantages, costs);
  row.baseline = baseline_.value();
  if (UsesCrossEntropy() && since_restart_ % config_.cross_entropy.samples == 0) {
    CrossEntropy(row);
  } else {
    Ppo(batch, advantages, row);
  }
  shared_at_ = since_restart_;
  SetSharing();
  if (!UsesCrossEntropy()) samples_.clear();
  num_used_ = static_cast<int>(samples_.size());
  AddRow(core_.table(), row.Fields());
}

void PostAgent::SetSharing() {
  if (config_.sharing == 0) return;
  double strength = config_.sharing;
  if (from_nothing_ && shared_at_ < config_.sharing_samples && config_.first_sharing > strength) {
    const double left = 1 - static_cast<double>(shared_at_) / config_.sharing_samples;
    strength *= std::pow(config_.first_sharing / config_.sharing, left);
  }
  policy_.SetSharing(strength);
}

void PostAgent::Begin() {
  const bool returns = improved_ && config_.return_probability > 0;
  if (!returns) best_ = start_;
  improved_ = false;
  from_nothing_ = best_.placement() == nullptr;
  since_restart_ = shared_at_ = 0;
  SetSharing();
  if (from_nothing_) {
    policy_.MakeUniform();
  } else {
    policy_.MakeNear(*best_.placement(),
                     returns ? config_.return_probability : config_.start_probability);
  }
  core_.Restart();
  baseline_.Reset();
  patience_.Reset();
  samples_.clear();
  num_used_ = 0;
}

void PostAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  if (policy_.num_decisions() == 0) {
    evaluator.Evaluate(policy_.Sample({}, 1, rng_));
    finished_ = true;
    return;
  }
  if (config_.start.front() != "none" && start_.placement() == nullptr) {
    const auto start = BestStart(*problem_, config_.start, evaluator, rng_, end_construction_);
    start_.Offer(start->placement, start->score);
    evaluations_ += start->evaluations;
    Begin();
    return;
  }
  const std::int64_t wanted = UntilUpdate();
  const auto count = std::clamp<std::int64_t>(evaluator.remaining(), 1, wanted);
  Draw(static_cast<int>(count), evaluator);
  if (count < wanted) return;
  Update();
  if (!patience_.Exhausted()) return;
  Begin();
  ++restarts_;
}

void PostAgent::VisitState(StateVisitor& v) {
  v.Begin("post", *problem_);
  v.Flag(finished_);
  v.Generator(rng_);
  v.Flag(from_nothing_);
  v.Count("a number of placements", shared_at_);
  if (v.reading()) SetSharing();  // the parameters belong to this strength
  core_.VisitState(v);
  baseline_.VisitState(v);
  core_.ppo().VisitState(v);
  v.Count("a number of evaluations", evaluations_);
  v.Count("a number of evaluations", since_restart_);
  patience_.VisitState(v);
  v.Count("a number of restarts", restarts_);
  v.Flag(improved_);
  start_.VisitState(v, *problem_);
  best_.VisitState(v, *problem_);
  v.List("a number of placements", samples_, [&](Sample& sample) {
    v.Devices(sample.placement);
    v.Score(sample.score);
    if (v.reading()) sample.cost = reward_.Cost(sample.score);
  });
  v.Int("a number of placements", num_used_, 0, static_cast<int>(samples_.size()));
  v.Table(core_.table());
}

}  // namespace emplace

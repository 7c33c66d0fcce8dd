#include "agents/hierarchical/hierarchical_agent.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "agents/hierarchical/fit_groups.h"
#include "agents/shared/devices.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

const HierarchicalConfig& Checked(const HierarchicalConfig& config) {
  if (config.groupings > config.policy.samples) {
    throw SettingError(
        "groupings",
        fmt::format(
            "expected at most the samples, {}, got {}", config.policy.samples, config.groupings));
  }
  if (config.groupings == 1 && config.policy.baseline.method == "leave_one_out") {
    throw SettingError("groupings",
                       "expected at least 2, or 0, with the baseline leave_one_out, got 1: the "
                       "advantages of one grouping's placements sum to 0, so the grouper would "
                       "never learn");
  }
  return config;
}

}  // namespace

HierarchicalConfig::HierarchicalConfig() {
  policy.samples = 4;
  policy.baseline.method = "leave_one_out";
  policy.normalize_advantages = true;
  policy.per_decision = true;
  policy.entropy_weight = 0.2;
  policy.imitation_weight = 0.3;
  policy.patience = 40;
  policy.start.fresh_share = 0.6;
  policy.start.settle_share = 0.1;
  policy.entropy_control = {.begin = 3, .share = 0.3};
  policy.optimizer.schedule.learning_rate = 3e-3;
}

void HierarchicalConfig::Visit(FieldVisitor& v) {
  v.Field("groups",
          groups,
          Between(0, 1 << 16),
          "groups of the grouper; 0: 20 per device, at most 256");
  v.Field("groupings",
          groupings,
          AtLeast(0),
          "groupings drawn per update, which share the samples; 0: one per sample");
  v.Field("noise",
          noise,
          Between(0, 1e6),
          "standard deviation of the noise on all logits, relative to their size");
  v.Field("noise_updates", noise_updates, AtLeast(0), "updates with noise");
  policy.Visit(v);
  policy.start.Visit(v);
  policy.VisitEntropyControl(v);
  v.Group("parts",
          "draws in which the groups of a part of the graph choose alike",
          [this](FieldVisitor& g) { parts.Visit(g); });
  v.Group("grouper", "the network that groups", [this](FieldVisitor& g) { grouper.Visit(g); });
  v.Group("placer", "the network that places", [this](FieldVisitor& g) { placer.Visit(g); });
}

int NumGroups(const HierarchicalConfig& config, const Problem& problem) {
  const int wanted = config.groups == 0 ? std::min(256, 20 * problem.num_devices()) : config.groups;
  return std::min(wanted, problem.num_groups());
}

HierarchicalAgent::HierarchicalAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_step),
      config_(Checked(config)),
      num_groups_(NumGroups(config, *problem_)),
      units_(*problem_, config.grouper.partition_steps > 0 ? num_groups_ : 0),
      rng_(context.seed),
      grouper_(config.grouper, units_, num_groups_, parameters_, rng_),
      placer_(config.placer,
              PlacerInputWidth(units_, num_groups_, config.placer.features),
              problem_->num_devices(),
              parameters_,
              rng_,
              "placer"),
      parts_(config.parts, *problem_, num_groups_),
      gradient_(config.policy, problem_, parameters_) {
}

GroupSequence HierarchicalAgent::Sequence(std::span<const int> group_of_unit) const {
  return MakeGroupSequence(*problem_,
                           units_,
                           group_of_unit,
                           num_groups_,
                           config_.placer.features,
                           config_.placer.by_position);
}

std::vector<int> HierarchicalAgent::Parts(const GroupSequence& sequence,
                                          std::span<const int> group_of_unit) const {
  if (parts_.part().empty()) return {};
  std::vector<std::map<int, int>> ops(num_groups_);  // of each part, by group
  for (int unit = 0; unit < units_.num_units(); ++unit) {
    ops[group_of_unit[unit]][parts_.part()[unit]] += units_.num_ops[unit];
  }
  std::vector<int> parts;
  for (int group : sequence.groups) {
    parts.push_back(std::ranges::max_element(ops[group], {}, [](const auto& entry) {
                      return entry.second;
                    })->first);
  }
  return parts;
}

Placement HierarchicalAgent::Place(const GroupSequence& sequence, const Decision& decision) const {
  std::vector<int> device_of_group(num_groups_, 0);
  for (std::size_t i = 0; i < sequence.groups.size(); ++i) {
    device_of_group[sequence.groups[i]] = decision.devices[i];
  }
  return PlaceUnits(*problem_, decision.group_of_unit, device_of_group);
}

Var HierarchicalAgent::LogProbability(Tape& tape, Var grouper_logits, const Decision& decision) {
  const Var grouping = Pick(tape, LogSoftmax(tape, grouper_logits), decision.group_of_unit);
  const GroupSequence sequence = Sequence(decision.group_of_unit);
  const Placer::Row row{&sequence, &decision.devices};
  const Placer::Decoded decoded = placer_.Decode(tape, {&row, 1}, 0, rng_);
  return Add(tape, decoded.log_probability, SumAll(tape, grouping));
}

HierarchicalAgent::Pass HierarchicalAgent::Draw(Tape& tape,
                                                int num_samples,
                                                BackgroundEvaluation* evaluation) {
  Pass pass;
  const double noise = gradient_.updates() < config_.noise_updates ? config_.noise : 0;
  const Var logits = grouper_.Logits(tape);
  const Var plain = LogSoftmax(tape, logits);
  const int groupings =
      config_.groupings == 0 ? num_samples : std::min(config_.groupings, num_samples);
  struct Grouping {
    Var distribution;  // log-probabilities [num_units, G]
    std::vector<int> group_of_unit;
    GroupSequence sequence;
    std::vector<int> parts;  // [S]
  };
  std::vector<Grouping> drawn(groupings);
  std::vector<Placer::Row> rows;
  std::vector<const Grouping*> grouping_of_row;
  for (int i = 0; i < groupings; ++i) {
    Grouping& grouping = drawn[i];
    grouping.distribution = plain;
    if (noise > 0) {
      grouping.distribution =
          LogSoftmax(tape, WithNoise(tape, logits, noise, rng_, units_.num_units()));
    }
    grouping.group_of_unit = SampleRows(tape.value(grouping.distribution), rng_);
    grouping.sequence = Sequence(grouping.group_of_unit);
    const int count = num_samples / groupings + (i < num_samples % groupings ? 1 : 0);
    grouping.parts = Parts(grouping.sequence, grouping.group_of_unit);
    rows.insert(rows.end(), count, {&grouping.sequence, nullptr, &grouping.parts});
    grouping_of_row.insert(grouping_of_row.end(), count, &grouping);
  }
  std::optional<Grouping> best;
  if (best_) {
    best = {plain, best_->group_of_unit, Sequence(best_->group_of_unit), {}};
    rows.push_back({&best->sequence, &best_->devices});
    grouping_of_row.push_back(&*best);
  }
  Placer::Decoded decoded =
      placer_.Decode(tape, rows, noise, rng_, parts_.part().empty() ? nullptr : &parts_);
  for (int i = 0; i < num_samples; ++i) {
    const Grouping& grouping = *grouping_of_row[i];
    pass.decisions.push_back({grouping.group_of_unit, std::move(decoded.devices[i])});
    pass.placements.push_back(Place(grouping.sequence, pass.decisions.back()));
    if (evaluation != nullptr) evaluation->Add(pass.placements.back());
  }
  std::vector<Var> of_groupings;  // one for each row
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Grouping& grouping = *grouping_of_row[i];
    const bool same = i > 0 && grouping_of_row[i - 1] == &grouping;
    of_groupings.push_back(
        same ? of_groupings.back()
             : SumAll(tape, Pick(tape, grouping.distribution, grouping.group_of_unit)));
  }
  const Var log_probability = Add(tape, decoded.log_probability, ConcatRows(tape, of_groupings));
  Var entropy = MeanAll(tape, SliceRows(tape, decoded.entropy, 0, num_samples));
  if (config_.grouper.entropy > 0) {
    const Var mean = MeanAll(tape, Entropy(tape, plain));
    const auto weight = static_cast<float>(config_.grouper.entropy * num_groups_);
    entropy = Add(tape, entropy, Scale(tape, mean, weight));
  }
  pass.sampled.log_probability = SliceRows(tape, log_probability, 0, num_samples);
  pass.sampled.entropy = entropy;
  pass.sampled.num_decisions = num_groups_;
  if (best) pass.sampled.best_log_probability = SliceRows(tape, log_probability, num_samples, 1);
  return pass;
}

void HierarchicalAgent::Restart(std::int64_t remaining) {
  ParameterSet fresh;
  Grouper(config_.grouper, units_, num_groups_, fresh, rng_);
  const int width = PlacerInputWidth(units_, num_groups_, config_.placer.features);
  Placer(config_.placer, width, problem_->num_devices(), fresh, rng_, "placer");
  gradient_.Restart(fresh, remaining);
  best_.reset();
  LearnPartition();
  if (gradient_.start() != nullptr) PullToStart();
}

void HierarchicalAgent::LearnPartition() {
  if (config_.grouper.partition_steps == 0) return;
  Tape tape(interrupt_);
  gradient_.Pretrain(
      tape, config_.grouper.partition_steps, [&](Tape& cleared) -> std::optional<Var> {
        const Var mean = grouper_.MeanLogProbabilityOfParts(cleared);
        if (std::exp(cleared.value(mean)(0, 0)) >= kPartitionProbability) return std::nullopt;
        return Scale(cleared, mean, -1);
      });
}

void HierarchicalAgent::PullToStart() {
  Tape tape(interrupt_);
  const Var logits = grouper_.Logits(tape);
  const FittedGroups fitted = FitGroups(*problem_, *gradient_.start(), tape.value(logits));
  tape.Clear();
  Decision decision{fitted.group_of_unit, {}};
  for (int group : Sequence(fitted.group_of_unit).groups) {
    decision.devices.push_back(fitted.device_of_group[group]);
  }
  gradient_.PullToStart(tape, [&](Tape& fresh) {
    PolicySample sample;
    sample.log_probability = LogProbability(fresh, grouper_.Logits(fresh), decision);
    sample.num_decisions = units_.num_units() + static_cast<int>(decision.devices.size());
    return sample;
  });
  if (gradient_.ToImitate() != nullptr) best_ = std::move(decision);
}

void HierarchicalAgent::KeepBest(Pass& pass) {
  const Placement* best = gradient_.ToImitate();
  if (best == nullptr) return;
  const auto found = std::find(pass.placements.begin(), pass.placements.end(), *best);
  // If the best placement is not in this pass, it is an earlier one, and best_ already holds its
  // decision.
  if (found != pass.placements.end()) {
    best_ = std::move(pass.decisions[found - pass.placements.begin()]);
  }
}

void HierarchicalAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  if (NumChoices(*problem_) == 0) {
    evaluator.Evaluate(
        PlaceUnits(*problem_, std::vector<int>(units_.num_units(), 0), std::vector<int>{0}));
    finished_ = true;
    return;
  }
  if (gradient_.MustBegin()) {
    gradient_.Begin(evaluator, rng_, interrupt_);
    LearnPartition();
    PullToStart();
    return;
  }
  const bool is_first = gradient_.table().num_rows() == 0 && gradient_.start() == nullptr;
  if (is_first) LearnPartition();
  if (gradient_.MustSettle(evaluator.remaining())) {
    gradient_.Settle();
    PullToStart();
  } else if (gradient_.Stale()) {
    Restart(evaluator.remaining());
  }
  Tape tape(interrupt_);
  Pass pass;
  const int samples = gradient_.BeginUpdate(evaluator);
  if (gradient_.updates() == 0) {
    parts_.Restart(evaluator.remaining() / config_.policy.samples, gradient_.start() == nullptr);
  }
  parts_.Begin(gradient_.updates(), samples, rng_);
  BackgroundEvaluation evaluation(evaluator);
  try {
    pass = Draw(tape, samples, &evaluation);
  } catch (const RunError&) {
    gradient_.ThrowNotFinite(tape);
  }
  gradient_.Update(tape, pass.sampled, pass.placements, evaluation.Finish());
  parts_.End(gradient_.feasible());
  KeepBest(pass);
}

void HierarchicalAgent::VisitState(StateVisitor& v) {
  v.Begin("hierarchical", *problem_);
  v.Generator(rng_);
  v.Flag(finished_);
  parts_.VisitState(v);
  gradient_.VisitState(v);
  v.Optional(best_, [&](auto& best) {
    best.group_of_unit.resize(units_.num_units());
    for (int& group : best.group_of_unit) v.Int("a group", group, 0, num_groups_ - 1);
    best.devices.resize(Sequence(best.group_of_unit).groups.size());
    for (int& device : best.devices) v.Int("a device", device, 0, problem_->num_devices() - 1);
  });
}

}  // namespace emplace

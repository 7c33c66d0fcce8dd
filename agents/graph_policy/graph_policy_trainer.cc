#include "agents/graph_policy/graph_policy_trainer.h"

#include <algorithm>
#include <cmath>

#include "agents/multilevel/multilevel.h"
#include "agents/shared/local_search/counted_evaluator.h"
#include "agents/shared/moves.h"
#include "framework/base/parallel.h"
#include "framework/cluster/symmetry.h"
#include "framework/cost/costs.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr int kMostCorruptions = 5;  // log2 of the random moves of the teacher's placement

std::shared_ptr<PairNetwork> FirstNetwork(const GraphPolicyConfig& config, Rng& rng) {
  if (config.policy == "default" || config.network == "random") {
    return std::make_shared<PairNetwork>(config.width, config.rounds, rng);
  }
  return PairNetwork::Read(config.policy);
}

// Returns the settings of a student's search.
GraphPolicyConfig StudentConfig(GraphPolicyConfig config, const std::string& start) {
  config.network = "policy";
  config.learn = false;
  config.batches.reset();
  config.start = {start};
  return config;
}

}  // namespace

Placement Aligned(const Problem& problem, const Placement& from, const Placement& to) {
  const int num_devices = problem.num_devices();
  const std::vector<int> classes =
      InterchangeableDevices(problem.cluster(), DevicesOfEqualCosts(problem.costs()));
  std::vector<double> common(std::size_t(num_devices) * num_devices);  // work by (from, to) device
  for (int g = 0; g < problem.num_groups(); ++g) {
    common[from.device[g] * num_devices + to.device[g]] +=
        static_cast<double>(problem.group_cost(g, from.device[g]));
  }
  std::vector<int> pairs, image(num_devices, -1);
  for (int pair = 0; pair < num_devices * num_devices; ++pair) {
    if (classes[pair / num_devices] == classes[pair % num_devices]) pairs.push_back(pair);
  }
  std::ranges::stable_sort(pairs, std::greater(), [&](int pair) { return common[pair]; });
  std::vector<char> taken(num_devices, 0);
  for (const int pair : pairs) {
    if (image[pair / num_devices] >= 0 || taken[pair % num_devices]) continue;
    image[pair / num_devices] = pair % num_devices;
    taken[pair % num_devices] = 1;
  }
  Placement aligned = from;
  for (int g = 0; g < problem.num_groups(); ++g) {
    aligned.device[g] = static_cast<DeviceIndex>(image[from.device[g]]);
    if (!problem.allowed(g, aligned.device[g])) return from;
  }
  return aligned;
}

UpdateFields EditTrainingRow::Fields() const {
  return {{"imitation", imitation},
          {"gaining", gaining},
          {"best_gain", best_gain},
          {"over_teacher", over_teacher},
          {"gradient_norm", gradient_norm},
          {"learning_rate", learning_rate},
          {"evaluations", evaluations}};
}

GraphPolicyTrainer::GraphPolicyTrainer(const TrainerContext& context,
                                       const GraphPolicyConfig& config)
    : problems_(context.problems),
      config_(config),
      threads_(context.threads),
      planned_(context.updates),
      rng_(context.seed),
      network_(FirstNetwork(config, rng_)),
      core_(config.optimizer, PpoConfig{}, network_->parameters(), EditTrainingRow().Fields()),
      students_(problems_.size()) {
  for (int problem = 0; problem < std::ssize(problems_); ++problem) {
    Student& student = students_[problem];
    student.network = network_->Copy();
    core_.AddCopy(student.network->parameters());
    student.rng = Rng(rng_());
    Begin(problem, problem % static_cast<int>(config_.start.size()));
  }
}

void GraphPolicyTrainer::Begin(int problem, int start) {
  Student& student = students_[problem];
  student.start = start;
  student.evaluations = 0;
  student.agent =
      std::make_unique<GraphPolicyAgent>(AgentContext{problems_[problem], rng_(), {}, {}},
                                         StudentConfig(config_, config_.start[start]),
                                         student.network);
}

void GraphPolicyTrainer::Teach(int problem, Evaluator& evaluator) {
  Student& student = students_[problem];
  CountedEvaluator counted(evaluator);
  student.agent->Step(counted);
  student.teacher = student.agent->best();
  if (config_.training.teacher_evaluations > 0) {
    MultilevelAgent teacher({problems_[problem], student.rng(), {}, {}}, MultilevelConfig{});
    while (counted.count() < config_.training.teacher_evaluations && !teacher.Finished()) {
      teacher.Step(counted);
    }
    if (teacher.best().score < student.teacher.score) student.teacher = teacher.best();
  }
  student.all_evaluations += counted.count();
}

void GraphPolicyTrainer::Normalize(std::span<Evaluator* const> evaluators) {
  std::vector<const Matrix*> parts;
  std::ptrdiff_t rows = 0;
  for (std::size_t i = 0; i < students_.size(); ++i) {
    parts.push_back(&students_[i].agent->Look(*evaluators[i]).values());
    rows += parts.back()->rows();
  }
  Matrix all(rows, PairFeatures::kCount);
  rows = 0;
  for (const Matrix* part : parts) {
    all.middleRows(rows, part->rows()) = *part;
    rows += part->rows();
  }
  network_->Normalize(all);
  for (Student& student : students_) student.network->SetScale(*network_);
}

Var GraphPolicyTrainer::Imitation(Tape& tape,
                                  int problem,
                                  Var logits,
                                  const Placement& target) const {
  const Problem& of = *problems_[problem];
  const Matrix allowed = AllowedPairs(of);
  Matrix weight = Matrix::Zero(of.num_groups(), 1);
  std::vector<int> device(of.num_groups());
  for (int g = 0; g < of.num_groups(); ++g) {
    device[g] = target.device[g];
    if (allowed.row(g).sum() > 1) weight(g, 0) = -1;
  }
  weight /= std::max(1.0F, -weight.sum());
  const Var likelihood = Pick(tape, LogSoftmax(tape, logits, &allowed), std::move(device));
  return SumAll(tape, Multiply(tape, likelihood, tape.Constant(std::move(weight))));
}

GraphPolicyTrainer::Told GraphPolicyTrainer::Differentiate(int problem,
                                                           Evaluator& evaluator,
                                                           double imitation,
                                                           double reinforcement) {
  Student& student = students_[problem];
  CountedEvaluator counted(evaluator);
  Told told;
  if (student.agent->Finished()) return told;  // no group has a choice
  Tape tape;
  auto batch = student.agent->Advance(tape, counted);
  if (!batch) {  // the search was restarted
    tape.Clear();
    batch = student.agent->Advance(tape, counted);
  }
  if (student.agent->best().score < student.teacher.score) {
    student.teacher = student.agent->best();
  }
  const auto scaled = [&](Var loss, double factor) {
    return Scale(tape, loss, static_cast<float>(factor));
  };
  const Var imitated =
      Imitation(tape,
                problem,
                batch->logits,
                Aligned(*problems_[problem], student.teacher.placement, batch->base));
  told = {tape.value(imitated)(0, 0), batch->gaining, batch->best_gain};
  Var loss = scaled(imitated, imitation);
  if (batch->loss && reinforcement > 0) {
    loss = Add(tape, loss, scaled(*batch->loss, reinforcement));
  }
  if (reinforcement > 0 && config_.training.entropy > 0) {
    const Matrix allowed = AllowedPairs(*problems_[problem]);
    const Var entropy = Entropy(tape, LogSoftmax(tape, batch->logits, &allowed));
    loss = Subtract(tape, loss, scaled(MeanAll(tape, entropy), config_.training.entropy));
  }
  if (reinforcement == 0 && imitation > 0) {
    const MoveProposer proposer(*problems_[problem], {.part = 0}, "moves");
    Placement from = student.teacher.placement;
    const double moves = std::exp2(kMostCorruptions * Uniform01(student.rng));
    for (int i = 0; i < static_cast<int>(moves); ++i) {
      MoveLists lists;
      proposer.Propose(student.rng, from, lists);
      lists.Apply(0, from.device);
    }
    PairFeatures features(*problems_[problem]);
    features.Set(from, counted.Evaluate(from, {.op_times = true}));
    const Var logits = student.network->Logits(tape, features);
    loss = Add(
        tape, loss, scaled(Imitation(tape, problem, logits, student.teacher.placement), imitation));
  }
  tape.Backward(loss);
  student.evaluations += counted.count();
  student.all_evaluations += counted.count();
  return told;
}

void GraphPolicyTrainer::Step(std::span<Evaluator* const> evaluators) {
  const int num_problems = static_cast<int>(problems_.size());
  const std::int64_t update = core_.table().num_rows();
  if (update == 0) {
    ParallelFor(num_problems, threads_, [&](int i) { Teach(i, *evaluators[i]); });
    if (config_.policy == "default" || config_.network == "random") {
      Normalize(evaluators);
    }
  }
  const std::vector<int> order = RandomOrder(num_problems, rng_);
  for (const int i : order) {
    if (students_[i].evaluations < config_.training.search_evaluations) continue;
    Begin(i, UniformInt(rng_, static_cast<int>(config_.start.size())));
    students_[i].agent->Step(*evaluators[i]);
  }
  const EditTrainingConfig& training = config_.training;
  const bool first =
      static_cast<double>(update) < training.imitation_share * static_cast<double>(planned_);
  std::vector<Told> told(num_problems);
  EditTrainingRow row;
  for (int begin = 0; begin < num_problems; begin += training.problems) {
    const int end = std::min(num_problems, begin + training.problems);
    std::vector<char> chosen(num_problems, 0);
    for (int k = begin; k < end; ++k) chosen[order[k]] = 1;
    const auto info =
        core_.DescendTogether(threads_, update, static_cast<float>(end - begin), [&](int i) {
          if (!chosen[i]) return;
          told[i] = Differentiate(i,
                                  *evaluators[i],
                                  first ? training.imitation : training.imitation_later,
                                  first ? 0 : training.reinforcement);
        });
    row.gradient_norm = info.gradient_norm;
    row.learning_rate = info.learning_rate;
  }
  for (int i = 0; i < num_problems; ++i) {
    const Student& student = students_[i];
    row.imitation += told[i].imitation / num_problems;
    row.gaining += told[i].gaining / num_problems;
    row.best_gain += told[i].best_gain / num_problems;
    row.over_teacher +=
        (static_cast<double>(student.agent->best().score.step_time) /
             static_cast<double>(std::max<Nanos>(1, student.teacher.score.step_time)) -
         1) /
        num_problems;
    row.evaluations += static_cast<double>(student.all_evaluations);
  }
  AddRow(core_.table(), row.Fields());
}

void GraphPolicyTrainer::VisitState(StateVisitor& v) {
  v.Begin("graph_policy", problems_);
  Rng rng = rng_;  // Begin() draws from rng_
  v.Generator(rng);
  core_.VisitState(v);
  network_->VisitScale(v);
  for (int problem = 0; problem < std::ssize(problems_); ++problem) {
    Student& student = students_[problem];
    if (v.reading()) student.network->SetScale(*network_);
    v.Generator(student.rng);
    std::int64_t evaluations = student.evaluations;
    v.Count("a number of evaluations", evaluations);
    v.Count("a number of evaluations", student.all_evaluations);
    v.Int("a start", student.start, 0, static_cast<int>(config_.start.size()) - 1);
    bool has_teacher = !student.teacher.placement.device.empty();
    v.Flag(has_teacher);
    if (v.reading()) {
      Begin(problem, student.start);
      student.evaluations = evaluations;
      student.teacher = {};
    }
    if (has_teacher) {
      v.Devices(student.teacher.placement, *problems_[problem]);
      v.Score(student.teacher.score);
    }
    v.Nested("the state of the search", *student.agent);
  }
  v.Table(core_.table());
  rng_ = rng;
}

}  // namespace emplace

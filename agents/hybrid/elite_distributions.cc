#include "agents/hybrid/elite_distributions.h"

#include "agents/genetic/crossover.h"
#include "framework/learn/tape.h"

namespace emplace {

EliteDistributions::EliteDistributions(const Problem& problem, const Options& options)
    : problem_(problem),
      options_(options),
      policy_(problem, parameters_, 0),
      draws_(problem, options.cohesion) {
}

void EliteDistributions::Begin(std::span<const Placement* const> elites) {
  policy_.MakeUniform();
  StepTowards(elites, *elites.front(), 1);
}

void EliteDistributions::Learn(std::span<const Placement* const> elites, double step) {
  StepTowards(elites, Mode(), step);
}

void EliteDistributions::StepTowards(std::span<const Placement* const> elites,
                                     const Placement& reference,
                                     double step) {
  std::vector<Placement> aligned;
  for (const Placement* elite : elites) {
    aligned.push_back(options_.align ? MatchDevices(problem_, reference, *elite) : *elite);
  }
  std::vector<const Placement*> weighted;
  for (std::size_t rank = 0; rank < aligned.size(); ++rank) {
    weighted.insert(weighted.end(), aligned.size() - rank, &aligned[rank]);
  }
  policy_.MinimizeCrossEntropy(weighted, options_.epsilon, step);
}

std::vector<Placement> EliteDistributions::Draw(int count, Rng& rng) const {
  const Matrix probabilities = Probabilities();
  std::vector<Placement> placements;
  for (int i = 0; i < count; ++i) placements.push_back(draws_.Draw(probabilities, rng));
  return placements;
}

Matrix EliteDistributions::Probabilities() const {
  Tape tape;
  const Matrix log = tape.value(policy_.LogProbabilities(tape));
  Matrix all = Matrix::Zero(problem_.num_groups(), problem_.num_devices());
  for (int g = 0; g < problem_.num_groups(); ++g) {
    for (int d = 0; d < problem_.num_devices(); ++d) all(g, d) = problem_.allowed(g, d) ? 1 : 0;
  }
  for (int m = 0; m < policy_.num_decisions(); ++m) {
    all.row(policy_.groups()[m]) = log.row(m).array().exp();
  }
  return all;
}

Placement EliteDistributions::Mode() const {
  Tape tape;
  return policy_.Mode(tape.value(policy_.LogProbabilities(tape)));
}

void EliteDistributions::Save(StateWriter& writer) const {
  writer.Matrix(parameters_.all().front().value);
}

void EliteDistributions::Load(StateReader& reader) {
  reader.Matrix("the distributions", parameters_.all().front().value);
}

}  // namespace emplace

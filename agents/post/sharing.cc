#include "agents/post/sharing.h"

#include <cmath>

#include "framework/base/error.h"

namespace emplace {

Sharing::Sharing(const Problem& problem, const std::vector<int>& groups, double strength)
    : degree_(Eigen::VectorXd::Ones(std::ssize(groups))),
      weights_(std::ssize(groups), std::ssize(groups)) {
  std::vector<int> row(problem.num_groups(), -1);
  for (std::size_t m = 0; m < groups.size(); ++m) row[groups[m]] = static_cast<int>(m);
  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t m = 0; m < groups.size(); ++m) {
    const int self = static_cast<int>(m);
    double total = 0;
    for (const Problem::Edge& edge : problem.neighbors(groups[m])) {
      const int other = row[edge.neighbor];
      if (other < 0) continue;
      const double weight = std::sqrt(1 + static_cast<double>(edge.bytes));
      total += weight;
      entries.emplace_back(self, other, weight);
    }
    if (total > 0) degree_[self] = total;
    // A group without neighbours keeps to itself.
    entries.emplace_back(self, self, total > 0 ? 0.0 : 1.0);
  }
  weights_.setFromTriplets(entries.begin(), entries.end());
  SetStrength(strength);
}

void Sharing::SetStrength(double strength) {
  strength_ = strength;
  system_ = -strength * weights_;
  system_.diagonal() += (1 + strength) * degree_;
  factors_.compute(system_);
  EMPLACE_CHECK(factors_.info() == Eigen::Success);
}

Var Sharing::Share(Tape& tape, Var w) const {
  const Eigen::MatrixXd u =
      factors_.solve(Eigen::MatrixXd(degree_.asDiagonal() * tape.value(w).cast<double>()));
  return tape.Record("share", u.cast<float>(), {w}, [this, w](Tape& t, const Matrix& g) {
    const Eigen::MatrixXd solved = factors_.solve(Eigen::MatrixXd(g.cast<double>()));
    t.AddGradient(w, (degree_.asDiagonal() * solved).cast<float>());
  });
}

Matrix Sharing::Unshare(const Matrix& u) const {
  const Eigen::MatrixXd product = system_ * u.cast<double>();
  return (degree_.cwiseInverse().asDiagonal() * product).cast<float>();
}

}  // namespace emplace

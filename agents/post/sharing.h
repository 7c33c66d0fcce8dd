#pragma once

// Makes groups that exchange tensors learn together; the paper has nothing of this kind. Row m of W
// [M, M] has the share of each neighbour in the exchange of group m, weighted by sqrt(1 + bytes).
// Descent moves parameters w instead of the logits u:
//
//   u = B^-1 w,   B = I + strength (I - W)
//
// B is invertible, so every u has its w, and the set of possible policies does not change. A
// gradient on one group's u moves its whole neighbourhood in the same direction, and noise from
// group to group averages out. B is sparse and is factorised once.

#include <vector>

#include <Eigen/SparseCholesky>

#include "framework/learn/tape.h"
#include "framework/search/problem.h"

namespace emplace {

class Sharing {
 public:
  /// @param groups  [M] distinct; other groups are ignored
  /// @param strength  >= 0; 0: u = w
  Sharing(const Problem& problem, const std::vector<int>& groups, double strength);
  /// @param strength  >= 0; 0: u = w
  void SetStrength(double strength);
  double strength() const { return strength_; }
  /// @param w  [M, n]    @return u [M, n]
  Var Share(Tape& tape, Var w) const;
  /// Returns the w [M, n] with Share(w) = u, up to rounding.
  Matrix Unshare(const Matrix& u) const;

 private:
  using Sparse = Eigen::SparseMatrix<double>;
  // B = degree^-1 system, with the symmetric system = degree + strength (degree - weights).
  double strength_;
  Eigen::VectorXd degree_;
  Sparse weights_, system_;
  Eigen::SimplicialLDLT<Sparse> factors_;
};

}  // namespace emplace

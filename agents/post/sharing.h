#pragma once

// Lets groups that exchange tensors learn together [ours; nothing like it is in the paper]. With
// W [M, M] the shares of a group's neighbours in what it exchanges, by sqrt(1 + bytes), the
// parameters that descent moves are w instead of the logits u:
//
//   u = B^-1 w,   B = I + strength (I - W)
//
// B is invertible, so that every u can be reached and w is known for every u: the policy stays what
// it is. But a gradient on one group's u moves its neighbourhood in the same direction, and what is
// noise from group to group averages out. B is sparse; it is factorised once.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <vector>

#include <Eigen/SparseCholesky>

#include "framework/learn/tape.h"
#include "framework/search/problem.h"

namespace emplace {

class Sharing {
 public:
  /// @param groups  [M] distinct; others have no part in it
  /// @param strength  >= 0; 0: u = w
  Sharing(const Problem& problem, const std::vector<int>& groups, double strength);
  /// @param w  [M, n]    @return u [M, n]
  Var Share(Tape& tape, Var w) const;
  /// @return w [M, n] of which Share makes u, up to rounding
  Matrix Unshare(const Matrix& u) const;

 private:
  using Sparse = Eigen::SparseMatrix<double>;
  // B = degree^-1 system, with the symmetric system = degree + strength (degree - weights).
  Eigen::VectorXd degree_;
  Sparse system_;
  Eigen::SimplicialLDLT<Sparse> factors_;
};

}  // namespace emplace

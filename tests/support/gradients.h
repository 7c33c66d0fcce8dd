#pragma once

#include <functional>
#include <vector>

#include "framework/base/random.h"
#include "framework/learn/tape.h"

namespace emplace::testing {

/// Uniform in [low, high).
Matrix RandomMatrix(int rows, int cols, Rng& rng, double low = -1, double high = 1);

/// Largest absolute difference of two matrices of one shape; infinity if the shapes differ or an
/// entry is not a number.
double Distance(const Matrix& a, const Matrix& b);

/// An operation to be tested: of as many inputs as CheckGradients gets.
using Operation = std::function<Var(Tape&, const std::vector<Var>&)>;

struct GradientOptions {
  double step = 1e-2;       ///< of the central differences: a compromise for float32
  double tolerance = 3e-3;  ///< relative to 1 + the mean size of the entries
};

/// Compares Tape::Backward with central differences, entry by entry, for the loss <w, op(inputs)>,
/// w random (a random projection: every entry of the output counts differently). Checked are the
/// gradients
///   - of parameters and of intermediate nodes;
///   - of two uses of the operation in one recording, which must add up;
///   - of each input alone, the others constant.
void CheckGradients(const Operation& op,
                    const std::vector<Matrix>& inputs,
                    const GradientOptions& options = {});

}  // namespace emplace::testing

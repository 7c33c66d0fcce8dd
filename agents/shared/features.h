#pragma once

// Scalings shared by the inputs of several networks.

#include <span>

#include "framework/learn/matrix.h"

namespace emplace {

/// Divides all entries by the largest one, if that is positive.
void DivideByLargest(Matrix& x);

/// Encodes positions p in [0, 1) so that a network can distinguish them: p, then sin(2^k pi p),
/// cos(2^k pi p) for k = 0 .. octaves - 1.
/// @param p  [n]    @return [n, 1 + 2 octaves]
Matrix PositionWaves(std::span<const double> p, int octaves);

}  // namespace emplace

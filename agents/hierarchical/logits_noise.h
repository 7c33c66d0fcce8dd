#pragma once

// Exploration noise on the logits of both networks, as in the reference code of ICLR 2018.

#include "framework/base/random.h"
#include "framework/learn/tape.h"

namespace emplace {

/// Returns logits + relative * RMS(logits) * n: n is standard normal, independent for each entry,
/// and the RMS is over all entries. The noise is a constant to the gradient, and a draw from the
/// sum has the log-probability of the sum.
/// @param logits  [n, m]
/// @param relative  0: returns `logits` and draws nothing
Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng);

}  // namespace emplace

#pragma once

// Exploration noise on the logits of both networks, as in the reference code of ICLR 2018 [V].
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include "framework/base/random.h"
#include "framework/learn/tape.h"

namespace emplace {

/// logits + relative * RMS(logits) * n, n standard normal, each entry its own, RMS over all
/// entries. What is drawn from the sum has the log-probability of the sum; the noise is a constant
/// to the gradient.
/// @param logits  [n, m]    @param relative  0: `logits` themselves; nothing is drawn
Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng);

}  // namespace emplace

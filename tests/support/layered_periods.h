#pragma once

// Period problems shaped like the operator graphs of transformers: most ops are cheap, a few are
// dear, and an output costs up to a hundred times its op to move.

#include <memory>

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace::testing {

struct LayeredOptions {
  int layers = 3;
  int num_devices = 3;   ///< equal ones that pay for transfers
  bool cpu = true;       ///< also one 20 times as slow that does not
  bool training = true;  ///< a backward op beside most forward ops, in one group
  double memory = 2;     ///< of a device, of what an even share of the groups needs
};

/// Layers of about 25 forward ops: projections, attention whose inner tensors are large, a residual
/// stream. Costs over four decades [ns].
std::shared_ptr<const Problem> LayeredPeriod(Rng& rng, const LayeredOptions& options);

}  // namespace emplace::testing

#pragma once

#include "framework/base/json.h"
#include "framework/base/random.h"

namespace emplace::fuzz {

/// Changes a tree in a few places; keys may stand twice afterwards.
void ChangeTree(Json& tree, Rng& rng);

}  // namespace emplace::fuzz

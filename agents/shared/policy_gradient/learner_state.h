#pragma once

// State of a learner between updates: its parameters, and the optimizer's moments and number of
// updates. Gradients are zero between updates.

#include "framework/learn/optimizer.h"
#include "framework/learn/parameter.h"
#include "framework/search/state.h"

namespace emplace {

/// @param parameters  constructed with the settings of the saved ones
/// @throws InputError naming the parameter if they are not: "agent state: parameter encoder.weights
///   [8, 32] expected, got [8, 16]". Parameters read before that keep the values read.
void VisitParameters(StateVisitor& v, ParameterSet& parameters);

/// CHECKs that both have the same names and shapes.
void CopyValues(const ParameterSet& from, ParameterSet& to);

/// @param parameters, optimizer  constructed with the settings of the saved ones
/// @throws InputError naming the parameter or setting if they were not, as VisitParameters
void VisitLearner(StateVisitor& v, ParameterSet& parameters, Optimizer& optimizer);

}  // namespace emplace

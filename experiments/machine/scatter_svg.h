#pragma once

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Simulated against measured step times of all placements as an SVG picture: both axes
/// logarithmic, a colour per graph, the line of equality and those 5 % beside it. Equal input gives
/// equal bytes.
std::string FormatScatterSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

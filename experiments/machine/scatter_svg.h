#pragma once

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Returns the picture of `emplace validate --svg`: simulated against measured step times of all
/// placements as SVG, both axes logarithmic, a colour per graph, with the line of equality and the
/// lines of 5 % error. Equal input gives equal bytes. The program draws it itself because a machine
/// with a GPU that runs a bundle may have no Python; `python3 -m emplace.results scatter` draws it
/// for papers.
std::string FormatScatterSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

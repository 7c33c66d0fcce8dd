#pragma once

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// The picture of `emplace validate --svg`: simulated against measured step times of all placements
/// as SVG, both axes logarithmic, a colour per graph, with the line of equality and the lines 5 %
/// beside it. Equal input gives equal bytes. It is drawn here because a machine with a GPU on which
/// a bundle runs may have no Python; `python3 -m emplace.results scatter` draws it for papers.
std::string FormatScatterSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

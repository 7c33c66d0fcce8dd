#pragma once

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// The picture of `emplace validate --errors-svg`: measured / simulated - 1 of all placements over
/// the bytes that cross between devices and over the share of the step in which devices overlap, a
/// panel each, a colour per graph. Equal input gives equal bytes. `python3 -m emplace.results
/// errors` draws it for papers, with lines of least squares.
std::string FormatErrorSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

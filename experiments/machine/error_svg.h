#pragma once

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Returns the picture of `emplace validate --errors-svg`: measured / simulated - 1 of all
/// placements over the bytes that cross between devices, and over the share of the step in which
/// devices overlap. Each has its own chart; each graph has a colour. Equal input gives equal bytes.
/// `python3 -m emplace.results errors` draws the picture for papers, with least-squares lines.
std::string FormatErrorSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

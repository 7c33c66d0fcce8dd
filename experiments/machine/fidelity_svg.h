#pragma once

// The pictures of `emplace validate`, as SVG: a point per placement, whose label appears under the
// mouse, and a colour per graph. Equal input gives equal bytes. The program draws them itself
// because a machine with a GPU that runs a bundle may have no Python; `python3 -m emplace.results
// scatter` and `errors` draw them for papers, the latter with least-squares lines.

#include <span>
#include <string>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Returns the picture of --svg: simulated against measured step times, with the line of equality
/// and the lines of 5 % error. Both axes are the same: logarithmic if times differ by more than a
/// factor of ten, as in the report's page (verification.js) and in the Python package.
std::string FormatScatterSvg(std::span<const GraphFidelity> graphs);

/// Returns the picture of --errors-svg: measured / simulated - 1 over the bytes that cross between
/// devices, and over the share of the step in which devices overlap, in a chart each.
std::string FormatErrorSvg(std::span<const GraphFidelity> graphs);

}  // namespace emplace

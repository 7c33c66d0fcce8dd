#pragma once

// Shared parts of the pictures of `emplace validate`.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Returns the colour of the i-th graph from Okabe and Ito's palette, which colour-blind readers
/// can distinguish. The eight colours repeat.
const char* SeriesColor(std::size_t series);

std::string EscapeXml(const std::string& text);

/// Returns the opening tag, with a white background.
std::string BeginSvg(double width, double height);

/// Returns values within [low, high] at distances of 1, 2 or 5 times a power of ten; at most 8.
std::vector<double> LinearTicks(double low, double high);

/// Returns the point of a placement; its label appears under the mouse.
std::string PlacementDot(double x, double y, const char* color, const std::string& label);

/// Returns the names of the graphs with their colours, one below the other.
std::string GraphLegend(std::span<const GraphFidelity> graphs, double left, double top);

}  // namespace emplace

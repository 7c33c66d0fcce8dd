#pragma once

// What the pictures of `emplace validate` share.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "experiments/machine/fidelity_report.h"

namespace emplace {

/// Colour of the i-th graph: Okabe and Ito's, distinct for colour-blind readers; after eight they
/// begin anew.
const char* SeriesColor(std::size_t series);

std::string EscapeXml(const std::string& text);

/// The opening tag, with a white ground.
std::string BeginSvg(double width, double height);

/// Values within [low, high], 1, 2 or 5 times a power of ten apart; at most 8.
std::vector<double> LinearTicks(double low, double high);

/// A point of a placement; its label shows under the mouse.
std::string PlacementDot(double x, double y, const char* color, const std::string& label);

/// The names of the graphs with their colours, one below the other.
std::string GraphLegend(std::span<const GraphFidelity> graphs, double left, double top);

}  // namespace emplace

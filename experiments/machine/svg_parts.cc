#include "experiments/machine/svg_parts.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace emplace {

const char* SeriesColor(std::size_t series) {
  constexpr std::array<const char*, 8> kColors = {
      "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"};
  return kColors[series % kColors.size()];
}

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return escaped;
}

std::string BeginSvg(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width,
      height);
}

std::vector<double> LinearTicks(double low, double high) {
  double step = std::pow(10, std::floor(std::log10(high - low)) - 1);
  for (const double factor : {2., 2.5, 2., 2., 2.5}) {
    if ((high - low) / step <= 7) break;
    step *= factor;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step + 0.);
  return ticks;
}

std::string PlacementDot(double x, double y, const char* color, const std::string& label) {
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.6\">"
      "<title>{}</title></circle>\n",
      x,
      y,
      color,
      EscapeXml(label));
}

std::string GraphLegend(std::span<const GraphFidelity> graphs, double left, double top) {
  std::string svg;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const double y = top + 20 * static_cast<double>(i);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        left,
        y - 4,
        SeriesColor(i),
        left + 12,
        y,
        EscapeXml(graphs[i].verification.problem->graph().name()));
  }
  return svg;
}

}  // namespace emplace

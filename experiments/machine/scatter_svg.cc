#include "experiments/machine/scatter_svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/machine/svg_parts.h"

namespace emplace {
namespace {

constexpr double kSize = 520, kLeft = 90, kTop = 20, kBottom = 60, kLegend = 210;
constexpr double kBand = 0.05;

// A square with the same scale on both axes. It is logarithmic if times differ by more than a
// factor of ten, as in the report's page (verification.js) and in the pictures of the Python
// package.
class Axes {
 public:
  explicit Axes(std::span<const GraphFidelity> graphs) {
    double low = 1e300, high = 1;
    for (const GraphFidelity& graph : graphs) {
      for (const FidelityPoint& point : FidelityPoints(graph.verification)) {
        low = std::min({low, point.measured, point.simulated});
        high = std::max({high, point.measured, point.simulated});
      }
    }
    is_log_ = high > 10 * low;
    const double room = is_log_ ? 1.15 : 1.05;
    low_ = std::max(low, 1.0) / room;
    high_ = std::max(high, low_) * room;
  }

  double x(double time) const { return kLeft + kSize * Share(time); }
  double y(double time) const { return kTop + kSize * (1 - Share(time)); }
  double low() const { return low_; }
  double high() const { return high_; }

  // Returns the ticks; on a logarithmic scale 1, 2 and 5 times powers of ten.
  std::vector<double> Ticks() const {
    if (!is_log_) return LinearTicks(low_, high_);
    std::vector<double> ticks;
    for (double decade = 1; decade <= high_; decade *= 10) {
      for (const double factor : {1., 2., 5.}) {
        if (decade * factor >= low_ && decade * factor <= high_) ticks.push_back(decade * factor);
      }
    }
    return ticks;
  }

 private:
  double Share(double time) const {
    if (!is_log_) return (time - low_) / (high_ - low_);
    return std::log(std::max(time, 1.0) / low_) / std::log(high_ / low_);
  }

  double low_ = 1, high_ = 10;
  bool is_log_ = false;
};

// Returns the line simulated = factor * measured within the square.
std::string Diagonal(const Axes& axes, double factor, const char* style) {
  const double from = std::max(axes.low(), axes.low() / factor);
  const double to = std::min(axes.high(), axes.high() / factor);
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                     axes.x(from),
                     axes.y(from * factor),
                     axes.x(to),
                     axes.y(to * factor),
                     style);
}

std::string Frame(const Axes& axes) {
  std::string text = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
      kLeft,
      kTop,
      kSize,
      kSize);
  for (const double tick : axes.Ticks()) {
    const std::string label = FormatTime(static_cast<Nanos>(std::llround(tick)));
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        axes.x(tick),
        kTop,
        kTop + kSize,
        kTop + kSize + 18,
        label);
    text += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft,
        axes.y(tick),
        kLeft + kSize,
        kLeft - 8,
        axes.y(tick) + 4,
        label);
  }
  return text +
         fmt::format(
             "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">measured step time</text>\n"
             "<text x=\"16\" y=\"{2}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {2})\">"
             "simulated step time</text>\n",
             kLeft + kSize / 2,
             kTop + kSize + 44,
             kTop + kSize / 2);
}

}  // namespace

std::string FormatScatterSvg(std::span<const GraphFidelity> graphs) {
  const Axes axes(graphs);
  std::string svg = BeginSvg(kLeft + kSize + kLegend, kTop + kSize + kBottom);
  svg += Frame(axes);
  svg += Diagonal(axes, 1, "stroke=\"#444\"");
  for (const double factor : {1 - kBand, 1 + kBand}) {
    svg += Diagonal(axes, factor, "stroke=\"#444\" stroke-dasharray=\"4 4\"");
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const FidelityPoint& point : FidelityPoints(graphs[i].verification)) {
      svg += PlacementDot(
          axes.x(point.measured), axes.y(point.simulated), SeriesColor(i), point.label);
    }
  }
  return svg + GraphLegend(graphs, kLeft + kSize + 18, kTop + 14) + "</svg>\n";
}

}  // namespace emplace

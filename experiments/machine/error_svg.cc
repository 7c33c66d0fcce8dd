#include "experiments/machine/error_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "experiments/machine/svg_parts.h"

namespace emplace {
namespace {

constexpr double kPanel = 380, kPanelLeft = 80, kPanelTop = 24, kBelow = 56, kGraphNames = 210;

// A range with a margin on both sides, and its ticks.
class LinearAxis {
 public:
  LinearAxis(double low, double high) {
    const double room = high > low ? 0.06 * (high - low) : std::max(0.05 * std::abs(low), 1e-3);
    low_ = low - room;
    high_ = high + room;
  }

  double ShareOf(double value) const { return (value - low_) / (high_ - low_); }
  std::vector<double> Ticks() const { return LinearTicks(low_, high_); }

 private:
  double low_ = 0, high_ = 1;
};

struct ErrorPanel {
  StepTrait trait;
  const char* label;
  double unit;  // unit of the axis, in the unit of the trait
};
constexpr std::array<ErrorPanel, 2> kPanels = {
    {{StepTrait::kCrossingBytes, "bytes that cross between devices [MB]", 1e6},
     {StepTrait::kOverlap, "share of the step in which devices overlap [%]", 0.01}}};

double AbscissaOf(const VerifiedPlacement& placement, const ErrorPanel& panel) {
  return placement.traits[static_cast<size_t>(panel.trait)] / panel.unit;
}

// [%]
double ExcessOf(const VerifiedPlacement& placement) {
  return 100 *
         (placement.measured.step.median / static_cast<double>(placement.simulated.step_time) - 1);
}

template <class Value>
LinearAxis AxisOver(std::span<const GraphFidelity> graphs, const Value& value, double with) {
  double low = with, high = with;
  for (const GraphFidelity& graph : graphs) {
    for (const VerifiedPlacement& placement : graph.verification.placements) {
      low = std::min(low, value(placement));
      high = std::max(high, value(placement));
    }
  }
  return {low, high};
}

std::string PanelFrame(const LinearAxis& x, const LinearAxis& y, double left, const char* label) {
  std::string svg = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
      left,
      kPanelTop,
      kPanel,
      kPanel);
  for (const double tick : x.Ticks()) {
    const double at = left + kPanel * x.ShareOf(tick);
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.6g}</text>\n",
        at,
        kPanelTop,
        kPanelTop + kPanel,
        kPanelTop + kPanel + 18,
        tick);
  }
  for (const double tick : y.Ticks()) {
    const double at = kPanelTop + kPanel * (1 - y.ShareOf(tick));
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"{3}\"/>"
        "<text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"end\">{6:.6g} %</text>\n",
        left,
        at,
        left + kPanel,
        std::abs(tick) < 1e-9 ? "#444" : "#ddd",
        left - 8,
        at + 4,
        tick);
  }
  return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                           left + kPanel / 2,
                           kPanelTop + kPanel + 42,
                           label);
}

}  // namespace

std::string FormatErrorSvg(std::span<const GraphFidelity> graphs) {
  const auto count = static_cast<double>(kPanels.size());
  std::string svg =
      BeginSvg(count * (kPanelLeft + kPanel) + kGraphNames, kPanelTop + kPanel + kBelow);
  const LinearAxis y = AxisOver(graphs, ExcessOf, 0);
  double left = kPanelLeft;
  for (const ErrorPanel& panel : kPanels) {
    const LinearAxis x = AxisOver(
        graphs, [&](const auto& placement) { return AbscissaOf(placement, panel); }, 0);
    svg += PanelFrame(x, y, left, panel.label);
    for (size_t i = 0; i < graphs.size(); ++i) {
      for (const VerifiedPlacement& placement : graphs[i].verification.placements) {
        svg += PlacementDot(left + kPanel * x.ShareOf(AbscissaOf(placement, panel)),
                            kPanelTop + kPanel * (1 - y.ShareOf(ExcessOf(placement))),
                            SeriesColor(i),
                            placement.candidate.label);
      }
    }
    left += kPanelLeft + kPanel;
  }
  svg += fmt::format("<text x=\"{}\" y=\"14\">measured / simulated - 1</text>\n", kPanelLeft);
  return svg + GraphLegend(graphs, left - kPanelLeft + 18, kPanelTop + 14) + "</svg>\n";
}

}  // namespace emplace

#include "experiments/machine/fidelity_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "experiments/console/output.h"

namespace emplace {
namespace {

constexpr double kLegendWidth = 210, kErrorBand = 0.05;

// The range of an axis.
struct ChartAxis {
  double low = 1, high = 10;
  bool is_log = false;

  double ShareOf(double value) const {
    if (!is_log) return (value - low) / (high - low);
    return std::log(std::max(value, 1.0) / low) / std::log(high / low);
  }

  // Returns at most 8 values at distances of 1, 2 or 5 times a power of ten; on a logarithmic axis
  // 1, 2 and 5 times powers of ten.
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (is_log) {
      for (double decade = 1; decade <= high; decade *= 10) {
        for (const double factor : {1., 2., 5.}) {
          if (decade * factor >= low && decade * factor <= high) ticks.push_back(decade * factor);
        }
      }
      return ticks;
    }
    double step = std::pow(10, std::floor(std::log10(high - low)) - 1);
    for (const double factor : {2., 2.5, 2., 2., 2.5}) {
      if ((high - low) / step <= 7) break;
      step *= factor;
    }
    for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step + 0.);
    return ticks;
  }
};

// Returns the smallest and the largest value, and `with`.
template <class Value>
std::pair<double, double> RangeOver(std::span<const GraphFidelity> graphs,
                                    const Value& value,
                                    double with) {
  std::pair<double, double> range{with, with};
  for (const GraphFidelity& graph : graphs) {
    for (const VerifiedPlacement& placement : graph.verification.placements) {
      range.first = std::min(range.first, value(placement));
      range.second = std::max(range.second, value(placement));
    }
  }
  return range;
}

// Returns the colour of the i-th graph from Okabe and Ito's palette, which colour-blind readers can
// distinguish.
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

// A square chart. [px]
struct Chart {
  double left, top, size;
  ChartAxis x, y;

  double AtX(double value) const { return left + size * x.ShareOf(value); }
  double AtY(double value) const { return top + size * (1 - y.ShareOf(value)); }

  // Returns the square with a line and a label for each tick, and the name of the x axis below.
  template <class XLabel, class YLabel>
  std::string Frame(const XLabel& x_label, const YLabel& y_label, const char* name) const {
    std::string svg = fmt::format(
        "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"none\" stroke=\"#444\"/>\n",
        left,
        top,
        size);
    for (const double tick : x.Ticks()) {
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          AtX(tick),
          top,
          top + size,
          top + size + 18,
          x_label(tick));
    }
    for (const double tick : y.Ticks()) {
      svg += fmt::format(
          "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"{3}\"/>"
          "<text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"end\">{6}</text>\n",
          left,
          AtY(tick),
          left + size,
          std::abs(tick) < 1e-9 ? "#444" : "#ddd",
          left - 8,
          AtY(tick) + 4,
          y_label(tick));
    }
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                             left + size / 2,
                             top + size + 42,
                             name);
  }

  template <class XValue, class YValue>
  std::string Points(std::span<const GraphFidelity> graphs,
                     const XValue& x_value,
                     const YValue& y_value) const {
    std::string svg;
    for (size_t i = 0; i < graphs.size(); ++i) {
      for (const VerifiedPlacement& placement : graphs[i].verification.placements) {
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.6\">"
            "<title>{}</title></circle>\n",
            AtX(x_value(placement)),
            AtY(y_value(placement)),
            SeriesColor(i),
            EscapeXml(placement.candidate.label));
      }
    }
    return svg;
  }
};

// Returns the picture with a white background and, to the right of `right`, the names of the graphs
// with their colours.
std::string Picture(std::span<const GraphFidelity> graphs,
                    double right,
                    double height,
                    const Chart& chart,
                    const std::string& content) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{2}",
      right + kLegendWidth,
      height,
      content);
  for (size_t i = 0; i < graphs.size(); ++i) {
    const double y = chart.top + 14 + 20 * static_cast<double>(i);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        right + 18,
        y - 4,
        SeriesColor(i),
        right + 30,
        y,
        EscapeXml(graphs[i].verification.problem->graph().name()));
  }
  return svg + "</svg>\n";
}

double MeasuredTime(const VerifiedPlacement& placement) {
  return placement.measured.step.median;
}

double SimulatedStep(const VerifiedPlacement& placement) {
  return static_cast<double>(placement.simulated.step_time);
}

// [%]
double ExcessOf(const VerifiedPlacement& placement) {
  return 100 * (MeasuredTime(placement) / SimulatedStep(placement) - 1);
}

// Returns the axis with a margin on both sides.
ChartAxis WithMargin(const std::pair<double, double>& range) {
  const auto [low, high] = range;
  const double room = high > low ? 0.06 * (high - low) : std::max(0.05 * std::abs(low), 1e-3);
  return {low - room, high + room};
}

// Returns the line simulated = factor * measured within the chart.
std::string Diagonal(const Chart& chart, double factor, const char* style) {
  const double from = std::max(chart.x.low, chart.x.low / factor);
  const double to = std::min(chart.x.high, chart.x.high / factor);
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                     chart.AtX(from),
                     chart.AtY(from * factor),
                     chart.AtX(to),
                     chart.AtY(to * factor),
                     style);
}

}  // namespace

std::string FormatScatterSvg(std::span<const GraphFidelity> graphs) {
  const auto least = [](const VerifiedPlacement& placement) {
    return std::min(MeasuredTime(placement), SimulatedStep(placement));
  };
  const auto most = [](const VerifiedPlacement& placement) {
    return std::max(MeasuredTime(placement), SimulatedStep(placement));
  };
  const double low = RangeOver(graphs, least, 1e300).first;
  const double high = RangeOver(graphs, most, 1).second;
  const bool is_log = high > 10 * low;
  const double room = is_log ? 1.15 : 1.05, begin = std::max(low, 1.0) / room;
  const ChartAxis axis{begin, std::max(high, begin) * room, is_log};
  const Chart chart{90, 20, 520, axis, axis};
  const auto label = [](double tick) { return FormatTime(static_cast<Nanos>(std::llround(tick))); };
  std::string svg = chart.Frame(label, label, "measured step time");
  svg += fmt::format(
      "<text x=\"16\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {0})\">"
      "simulated step time</text>\n",
      chart.top + chart.size / 2);
  svg += Diagonal(chart, 1, "stroke=\"#444\"");
  for (const double factor : {1 - kErrorBand, 1 + kErrorBand}) {
    svg += Diagonal(chart, factor, "stroke=\"#444\" stroke-dasharray=\"4 4\"");
  }
  svg += chart.Points(graphs, MeasuredTime, SimulatedStep);
  return Picture(graphs, chart.left + chart.size, chart.top + chart.size + 60, chart, svg);
}

std::string FormatErrorSvg(std::span<const GraphFidelity> graphs) {
  struct Panel {
    StepTrait trait;
    const char* name;
    double unit;  // of the axis, in the unit of the trait
  };
  constexpr std::array<Panel, 2> kPanels = {
      {{StepTrait::kCrossingBytes, "bytes that cross between devices [MB]", 1e6},
       {StepTrait::kOverlap, "share of the step in which devices overlap [%]", 0.01}}};
  constexpr double kLeft = 80;
  Chart chart{kLeft, 24, 380, {}, WithMargin(RangeOver(graphs, ExcessOf, 0))};
  std::string svg;
  for (const Panel& panel : kPanels) {
    const auto value = [&](const VerifiedPlacement& placement) {
      return placement.traits[static_cast<size_t>(panel.trait)] / panel.unit;
    };
    const auto label = [](double tick) { return fmt::format("{:.6g}", tick); };
    const auto percent = [](double tick) { return fmt::format("{:.6g} %", tick); };
    chart.x = WithMargin(RangeOver(graphs, value, 0));
    svg += chart.Frame(label, percent, panel.name) + chart.Points(graphs, value, ExcessOf);
    chart.left += kLeft + chart.size;
  }
  svg += fmt::format("<text x=\"{}\" y=\"14\">measured / simulated - 1</text>\n", kLeft);
  return Picture(graphs, chart.left - kLeft, chart.top + chart.size + 56, chart, svg);
}

}  // namespace emplace

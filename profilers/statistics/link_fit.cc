#include "profilers/statistics/link_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFlatSlope = 1e9 / kFlatBandwidth;  // [ns/B]
constexpr double kExactFit = 1e-9;                   // smaller relative errors need no improvement

// The line latency + slope * bytes, and its error.
struct Line {
  double latency = 0;  // [ns]
  double slope = 0;    // [ns/B]
  double error = 0;
  double At(double bytes) const { return latency + slope * bytes; }
};

std::vector<LinkPoint> Checked(std::span<const LinkPoint> points) {
  std::vector<LinkPoint> kept;
  for (const LinkPoint& point : points) {
    if (!(point.bytes >= 0) || !(point.nanos > 0) || !(point.weight >= 0) ||
        !std::isfinite(point.bytes + point.nanos + point.weight)) {
      throw InputError(
          fmt::format("link fit: {} B in {} ns (weight {}), expected a size >= 0, a "
                      "time > 0 and a weight >= 0",
                      point.bytes,
                      point.nanos,
                      point.weight));
    }
    if (point.weight > 0) kept.push_back(point);
  }
  std::sort(kept.begin(), kept.end(), [](const LinkPoint& a, const LinkPoint& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.nanos < b.nanos;
  });
  if (kept.empty() || kept.front().bytes == kept.back().bytes) {
    throw InputError(fmt::format("link fit: {} points of {} size, expected at least 2 sizes",
                                 kept.size(),
                                 kept.empty() ? "no" : "one"));
  }
  return kept;
}

// Merges the points of each size into one. @param points  sorted by size
std::vector<LinkPoint> MergeSizes(const std::vector<LinkPoint>& points) {
  std::vector<LinkPoint> merged;
  for (size_t first = 0; first < points.size();) {
    std::vector<std::pair<double, double>> timings;
    double weight = 0;
    size_t last = first;
    for (; last < points.size() && points[last].bytes == points[first].bytes; ++last) {
      timings.emplace_back(points[last].nanos, points[last].weight);
      weight += points[last].weight;
    }
    merged.push_back({points[first].bytes, WeightedMedian(std::move(timings)), weight});
    first = last;
  }
  return merged;
}

double RelativeError(const Line& line, const LinkPoint& point) {
  return std::abs(line.At(point.bytes) - point.nanos) / point.nanos;
}

double MaxError(const Line& line, std::span<const LinkPoint> points) {
  double error = 0;
  for (const LinkPoint& point : points) error = std::max(error, RelativeError(line, point));
  return error;
}

// Returns the c that minimises max |c * f_i - 1|.
template <class Ratio>
double ScaleOneFunction(std::span<const LinkPoint> points, const Ratio& ratio) {
  double low = kInfinity, high = 0;
  for (const LinkPoint& point : points) {
    low = std::min(low, ratio(point));
    high = std::max(high, ratio(point));
  }
  return 2 / (low + high);
}

// Returns the best line for three points: its relative errors there are e, -e, e.
Line Equioscillate(const LinkPoint& p, const LinkPoint& q, const LinkPoint& r) {
  // latency + slope * n_i = t_i (1 + s_i e). Latency and slope are eliminated by linear
  // interpolation of q between p and r.
  const double share = (q.bytes - p.bytes) / (r.bytes - p.bytes);
  const double chord = (1 - share) * p.nanos + share * r.nanos;
  const double e = (q.nanos - chord) / (q.nanos + chord);
  const double start = p.nanos * (1 + e), end = r.nanos * (1 + e);
  const double slope = (end - start) / (r.bytes - p.bytes);
  return {start - slope * p.bytes, slope, std::abs(e)};
}

// Minimises the largest relative error over lines of any sign, by exchange (Remez). The errors of
// the best line alternate at three points. The three points are exchanged until no other point has
// a larger error.
Line BestFreeLine(std::span<const LinkPoint> points) {
  const size_t count = points.size();
  if (count == 2) {
    const double slope = (points[1].nanos - points[0].nanos) / (points[1].bytes - points[0].bytes);
    return {points[0].nanos - slope * points[0].bytes, slope, 0};
  }
  std::array<size_t, 3> basis{0, count / 2, count - 1};
  Line line = Equioscillate(points[basis[0]], points[basis[1]], points[basis[2]]);
  // Every exchange raises the error of the basis, so no basis recurs. The limit is for rounding.
  for (size_t round = 0; round < 10 * count; ++round) {
    size_t worst = 0;
    for (size_t i = 0; i < count; ++i) {
      if (RelativeError(line, points[i]) > RelativeError(line, points[worst])) worst = i;
    }
    if (RelativeError(line, points[worst]) <= line.error * (1 + 1e-12) + 1e-15) break;
    Line best{.error = -1};
    std::array<size_t, 3> best_basis = basis;
    for (size_t leaving = 0; leaving < 3; ++leaving) {
      std::array<size_t, 3> next = basis;
      next[leaving] = worst;
      std::sort(next.begin(), next.end());
      if (next[0] == next[1] || next[1] == next[2]) continue;
      const Line candidate = Equioscillate(points[next[0]], points[next[1]], points[next[2]]);
      if (candidate.error > best.error) {
        best = candidate;
        best_basis = next;
      }
    }
    if (best.error <= line.error) break;
    line = best;
    basis = best_basis;
  }
  line.error = MaxError(line, points);
  return line;
}

// BestFreeLine() with latency >= 0 and slope >= 0. If the free optimum violates this, the best line
// lies on the border, because the error is convex.
Line BestLine(std::span<const LinkPoint> points) {
  Line line = BestFreeLine(points);
  if (line.latency < 0) {
    line = {0, ScaleOneFunction(points, [](const LinkPoint& p) { return p.bytes / p.nanos; }), 0};
  } else if (line.slope < kFlatSlope) {
    line = {
        ScaleOneFunction(points, [](const LinkPoint& p) { return 1 / p.nanos; }), kFlatSlope, 0};
  }
  line.error = MaxError(line, points);
  return line;
}

LinkRange ToRange(const Line& line, std::int64_t from_bytes) {
  return {.from_bytes = from_bytes,
          .latency_ns = line.latency,
          .bytes_per_second = 1e9 / std::max(line.slope, kFlatSlope)};
}

// Returns the size at which the later line begins, between the last size of the earlier one and its
// own first size.
std::int64_t Breakpoint(const Line& before, const Line& after, double last, double first) {
  const double crossing =
      std::ceil((after.latency - before.latency) / (before.slope - after.slope));
  const bool is_between = crossing > last && crossing <= first;
  return static_cast<std::int64_t>(is_between ? crossing : std::ceil(first));
}

}  // namespace

std::vector<LinkRange> FitLink(std::span<const LinkPoint> points, int max_ranges) {
  EMPLACE_CHECK(max_ranges >= 1);
  const std::vector<LinkPoint> sizes = MergeSizes(Checked(points));
  const int count = static_cast<int>(sizes.size());
  const auto range_of = [&](int first, int last) {
    return std::span(sizes).subspan(first, last - first);
  };
  constexpr int kLeastSizes = 3;

  // lines[first][last]: the best line for sizes first .. last - 1.
  std::vector<std::vector<Line>> lines(count, std::vector<Line>(count + 1));
  for (int first = 0; first < count; ++first) {
    for (int last = first + kLeastSizes; last <= count; ++last) {
      lines[first][last] = BestLine(range_of(first, last));
    }
  }
  if (count < kLeastSizes) lines[0][count] = BestLine(sizes);

  // error[k][n]: of the first n sizes in k + 1 ranges; begin[k][n]: first index of the last range.
  const int most = std::clamp(count / kLeastSizes, 1, max_ranges);
  std::vector<std::vector<double>> error(most, std::vector<double>(count + 1, kInfinity));
  std::vector<std::vector<int>> begin(most, std::vector<int>(count + 1, 0));
  for (int n = std::min(count, kLeastSizes); n <= count; ++n) error[0][n] = lines[0][n].error;
  for (int k = 1; k < most; ++k) {
    for (int n = (k + 1) * kLeastSizes; n <= count; ++n) {
      for (int first = k * kLeastSizes; first <= n - kLeastSizes; ++first) {
        const double worst = std::max(error[k - 1][first], lines[first][n].error);
        if (worst < error[k][n]) {
          error[k][n] = worst;
          begin[k][n] = first;
        }
      }
    }
  }
  int chosen = 0;
  for (int k = 1; k < most; ++k) {
    if (error[chosen][count] > kExactFit &&
        error[k][count] <= error[chosen][count] * std::pow(0.9, k - chosen)) {
      chosen = k;
    }
  }

  std::vector<LinkRange> ranges;
  int last = count;
  for (int k = chosen; k >= 0; --k) {
    const int first = begin[k][last];
    std::int64_t from_bytes = 0;
    if (k > 0) {
      from_bytes = Breakpoint(lines[begin[k - 1][first]][first],
                              lines[first][last],
                              sizes[first - 1].bytes,
                              sizes[first].bytes);
    }
    ranges.push_back(ToRange(lines[first][last], from_bytes));
    last = first;
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

double LinkTime(std::span<const LinkRange> ranges, double bytes) {
  EMPLACE_CHECK(!ranges.empty());
  size_t i = ranges.size() - 1;
  while (i > 0 && static_cast<double>(ranges[i].from_bytes) > bytes) --i;
  return ranges[i].latency_ns + bytes * 1e9 / ranges[i].bytes_per_second;
}

double MaxRelativeError(std::span<const LinkRange> ranges, std::span<const LinkPoint> points) {
  double error = 0;
  for (const LinkPoint& point : points) {
    error = std::max(error, std::abs(LinkTime(ranges, point.bytes) - point.nanos) / point.nanos);
  }
  return error;
}

LinkRange FitChannel(std::span<const LinkPoint> points) {
  const std::vector<LinkPoint> kept = Checked(points);
  // For a given slope the best latency is a weighted median. Then the error is convex in the slope.
  std::vector<std::pair<double, double>> rests(kept.size());
  const auto fit_latency = [&](double slope) {
    for (size_t i = 0; i < kept.size(); ++i) {
      rests[i] = {kept[i].nanos - slope * kept[i].bytes, kept[i].weight};
    }
    Line line{std::max(0.0, WeightedMedian(rests)), slope, 0};
    for (const LinkPoint& point : kept) {
      line.error += point.weight * std::abs(line.At(point.bytes) - point.nanos);
    }
    return line;
  };
  // With a slope above the steepest chord or ray, every point lies below the line.
  double low = kFlatSlope, high = kFlatSlope;
  for (const LinkPoint& point : kept) {
    if (point.bytes > 0) high = std::max(high, point.nanos / point.bytes);
  }
  for (size_t i = 1; i < kept.size(); ++i) {
    if (kept[i].bytes > kept[i - 1].bytes) {
      high =
          std::max(high, (kept[i].nanos - kept[i - 1].nanos) / (kept[i].bytes - kept[i - 1].bytes));
    }
  }
  Line best = fit_latency(low);
  const auto try_slope = [&](double slope) {
    const Line line = fit_latency(slope);
    if (line.error < best.error) best = line;
    return line.error;
  };
  for (int round = 0; round < 200 && high - low > 1e-16 * high; ++round) {
    const double third = (high - low) / 3;
    if (try_slope(low + third) <= try_slope(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  // The optimal line passes through two points, or through one point with latency 0. The search
  // ends near it, and the line through the two nearest points is the optimum.
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t nearest = std::min<size_t>(kept.size(), 4);
  const Line found = best;
  std::partial_sort(order.begin(), order.begin() + nearest, order.end(), [&](size_t a, size_t b) {
    return std::abs(found.At(kept[a].bytes) - kept[a].nanos) <
           std::abs(found.At(kept[b].bytes) - kept[b].nanos);
  });
  for (size_t i = 0; i < nearest; ++i) {
    for (size_t j = 0; j < nearest; ++j) {
      const LinkPoint &p = kept[order[i]], &q = kept[order[j]];
      if (p.bytes < q.bytes && p.nanos < q.nanos) {
        try_slope((q.nanos - p.nanos) / (q.bytes - p.bytes));
      }
    }
  }
  return ToRange(best, 0);
}

}  // namespace emplace

#include "framework/cluster/kernel_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/cluster/cluster.h"

namespace emplace {
namespace {

double ParseShare(const ConfigNode& node) {
  const double share = node.AsDouble();
  if (!(share > 0 && share <= 1)) {
    node.Fail(fmt::format("expected a share in (0, 1], got {}", share));
  }
  return share;
}

double ParseAtLeast(const ConfigNode& node, double least) {
  const double number = node.AsDouble();
  if (!(number >= least)) node.Fail(fmt::format("expected at least {}, got {}", least, number));
  return number;
}

KernelFit::Tile ParseTile(const ConfigNode& node) {
  static const std::vector<std::string> keys{"rows", "columns", "share"};
  node.RequireKnownKeys(keys);
  constexpr std::int64_t kMost = 4096;
  KernelFit::Tile tile;
  for (const auto& [key, size] : {std::pair{"rows", &tile.rows}, {"columns", &tile.columns}}) {
    const std::int64_t number = node.At(key).AsInt();
    if (number < 1 || number > kMost) {
      node.At(key).Fail(fmt::format("expected a number from 1 to {}, got {}", kMost, number));
    }
    *size = static_cast<int>(number);
  }
  tile.share = ParseShare(node.At("share"));
  return tile;
}

// Throws unless each key is an op class or a kind of op with its framework's prefix.
void RequireOps(const ConfigNode& node) {
  std::vector<std::string> known = OpClassNames();
  for (const std::string& key : node.Keys()) {
    if (key.find('.') != std::string::npos) known.push_back(key);
  }
  node.RequireKnownKeys(known);
}

std::string SharesText(const std::map<std::string, double>& shares) {
  std::vector<std::string> texts;
  for (const auto& [key, share] : shares) texts.push_back(fmt::format("{}: {}", key, share));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

}  // namespace

double SustainedShare(const DeviceKind& kind, const KernelFit& fit) {
  const double teraflops = kind.peak.at(fit.dtype) / 1e12;
  return std::min(1.0, std::sqrt(kind.power / (teraflops * fit.watts)));
}

KernelFitEntry FindKernelFit(const DeviceKind& kind,
                             std::string_view dtype,
                             const std::string& op_kind,
                             OpClass op_class) {
  for (const std::string& key : {op_kind, std::string(ToString(op_class))}) {
    for (const KernelFit& fit : kind.fitted) {
      if (fit.dtype == dtype && fit.bandwidth.count(key) > 0) return {&fit, key};
    }
  }
  return {};
}

double FittedKernelTime(const DeviceKind& kind,
                        const KernelFitEntry& entry,
                        OpClass op_class,
                        const std::array<double, 3>& product,
                        double flops,
                        double bytes) {
  const KernelFit& fit = *entry.fit;
  const double rate = kind.peak.at(fit.dtype) * SustainedShare(kind, fit);
  double seconds = bytes / (kind.memory_bandwidth * fit.bandwidth.at(entry.key));
  if (const auto share = fit.compute.find(entry.key); share != fit.compute.end()) {
    seconds = std::max(seconds, flops / (rate * share->second));
  } else if (op_class == OpClass::kMatmul && !fit.tiles.empty()) {
    const auto [batch, rows, columns] = product;
    const double depth = flops / (2 * batch * rows * columns);
    double compute = std::numeric_limits<double>::infinity();
    for (const KernelFit::Tile& tile : fit.tiles) {
      const double blocks = batch * std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns);
      const double waves = std::ceil(blocks / kind.multiprocessors);
      const double wave_flops =
          2.0 * kind.multiprocessors * tile.rows * tile.columns * (depth + fit.tile_start);
      compute = std::min(compute, waves * wave_flops / (rate * tile.share));
    }
    seconds = std::max(seconds, compute);
  }
  const auto start = fit.starts.find(entry.key);
  return static_cast<double>(start == fit.starts.end() ? fit.start : start->second) + seconds * 1e9;
}

KernelFit ParseKernelFit(const ConfigNode& node) {
  static const std::vector<std::string> keys{"name",
                                             "dtype",
                                             "watts",
                                             "tile_start",
                                             "tiles",
                                             "bandwidth",
                                             "compute",
                                             "starts",
                                             "start",
                                             "error"};
  node.RequireKnownKeys(keys);
  KernelFit fit;
  if (node.Has("name")) fit.name = node.At("name").AsString();
  fit.dtype = node.At("dtype").AsString();
  const std::vector<std::string>& dtypes = PeakKeys();
  if (std::find(dtypes.begin(), dtypes.end(), fit.dtype) == dtypes.end()) {
    ThrowUnknown(node.At("dtype").Where(), "element type", fit.dtype, dtypes);
  }
  fit.watts = ParseAtLeast(node.At("watts"), 1e-3);
  const ConfigNode bandwidth = node.At("bandwidth");
  RequireOps(bandwidth);
  for (const std::string& key : bandwidth.Keys()) {
    fit.bandwidth[key] = ParseShare(bandwidth.At(key));
  }
  if (node.Has("compute")) {
    const ConfigNode compute = node.At("compute");
    compute.RequireKnownKeys(bandwidth.Keys());
    for (const std::string& key : compute.Keys()) fit.compute[key] = ParseShare(compute.At(key));
  }
  if (node.Has("starts")) {
    const ConfigNode starts = node.At("starts");
    starts.RequireKnownKeys(bandwidth.Keys());
    for (const std::string& key : starts.Keys()) fit.starts[key] = starts.At(key).AsTime();
  }
  const std::string matmul(ToString(OpClass::kMatmul));
  if (node.Has("tiles") || (fit.bandwidth.count(matmul) > 0 && fit.compute.count(matmul) == 0)) {
    fit.tile_start = ParseAtLeast(node.At("tile_start"), 0);
    for (const ConfigNode& tile : node.At("tiles").Elements()) fit.tiles.push_back(ParseTile(tile));
    if (fit.tiles.empty()) node.At("tiles").Fail("expected at least one tile");
  }
  fit.start = node.At("start").AsTime();
  fit.error = ParseAtLeast(node.At("error"), 0);
  return fit;
}

std::string FormatKernelFit(const KernelFit& fit) {
  std::string text = "{";
  if (!fit.name.empty()) text += fmt::format("name: {}, ", QuoteYaml(fit.name));
  text += fmt::format("dtype: {}, watts: {}, ", fit.dtype, fit.watts);
  if (!fit.tiles.empty()) {
    std::vector<std::string> tiles;
    for (const KernelFit::Tile& tile : fit.tiles) {
      tiles.push_back(
          fmt::format("{{rows: {}, columns: {}, share: {}}}", tile.rows, tile.columns, tile.share));
    }
    text += fmt::format("tile_start: {}, tiles: [{}], ", fit.tile_start, fmt::join(tiles, ", "));
  }
  text += fmt::format("bandwidth: {}, ", SharesText(fit.bandwidth));
  if (!fit.compute.empty()) text += fmt::format("compute: {}, ", SharesText(fit.compute));
  if (!fit.starts.empty()) {
    std::vector<std::string> starts;
    for (const auto& [key, start] : fit.starts)
      starts.push_back(fmt::format("{}: {}ns", key, start));
    text += fmt::format("starts: {{{}}}, ", fmt::join(starts, ", "));
  }
  return text + fmt::format("start: {}ns, error: {}}}", fit.start, fit.error);
}

}  // namespace emplace

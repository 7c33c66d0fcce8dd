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

}  // namespace

double SustainedShare(const DeviceKind& kind) {
  const double teraflops = kind.peak.at(kind.fitted->dtype) / 1e12;
  return std::min(1.0, std::sqrt(kind.power / (teraflops * kind.fitted->watts)));
}

double FittedKernelTime(const DeviceKind& kind,
                        OpClass op_class,
                        const std::array<double, 3>& product,
                        double flops,
                        double bytes) {
  const KernelFit& fit = *kind.fitted;
  const double share = fit.bandwidth.at(std::string(ToString(op_class)));
  double seconds = bytes / (kind.memory_bandwidth * share);
  if (op_class == OpClass::kMatmul) {
    const auto [batch, rows, columns] = product;
    const double depth = flops / (2 * batch * rows * columns);
    const double rate = kind.peak.at(fit.dtype) * SustainedShare(kind);
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
  return static_cast<double>(fit.start) + seconds * 1e9;
}

KernelFit ParseKernelFit(const ConfigNode& node) {
  static const std::vector<std::string> keys{
      "name", "dtype", "watts", "tile_start", "tiles", "bandwidth", "start", "error"};
  node.RequireKnownKeys(keys);
  KernelFit fit;
  if (node.Has("name")) fit.name = node.At("name").AsString();
  fit.dtype = node.At("dtype").AsString();
  const std::vector<std::string>& dtypes = PeakKeys();
  if (std::find(dtypes.begin(), dtypes.end(), fit.dtype) == dtypes.end()) {
    ThrowUnknown(node.At("dtype").Where(), "element type", fit.dtype, dtypes);
  }
  fit.watts = ParseAtLeast(node.At("watts"), 1e-3);
  fit.tile_start = ParseAtLeast(node.At("tile_start"), 0);
  for (const ConfigNode& tile : node.At("tiles").Elements()) fit.tiles.push_back(ParseTile(tile));
  if (fit.tiles.empty()) node.At("tiles").Fail("expected at least one tile");
  const ConfigNode bandwidth = node.At("bandwidth");
  bandwidth.RequireKnownKeys(OpClassNames());
  for (const std::string& op_class : bandwidth.Keys()) {
    fit.bandwidth[op_class] = ParseShare(bandwidth.At(op_class));
  }
  fit.start = node.At("start").AsTime();
  fit.error = ParseAtLeast(node.At("error"), 0);
  return fit;
}

std::string FormatKernelFit(const KernelFit& fit) {
  std::vector<std::string> tiles, shares;
  for (const KernelFit::Tile& tile : fit.tiles) {
    tiles.push_back(
        fmt::format("{{rows: {}, columns: {}, share: {}}}", tile.rows, tile.columns, tile.share));
  }
  for (const auto& [op_class, share] : fit.bandwidth) {
    shares.push_back(fmt::format("{}: {}", op_class, share));
  }
  return fmt::format(
      "{{{}dtype: {}, watts: {}, tile_start: {}, tiles: [{}], bandwidth: {{{}}}, start: {}ns, "
      "error: {}}}",
      fit.name.empty() ? "" : fmt::format("name: {}, ", QuoteYaml(fit.name)),
      fit.dtype,
      fit.watts,
      fit.tile_start,
      fmt::join(tiles, ", "),
      fmt::join(shares, ", "),
      fit.start,
      fit.error);
}

}  // namespace emplace

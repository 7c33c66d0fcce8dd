#pragma once

// Times of GPU kernels by a fit to measured ops of several GPUs. The figures of one GPU follow from
// its data sheet (peak, memory bandwidth, power, multiprocessors), so that a GPU that nobody
// measured has them as well. The formula is in framework/cost/FORMAT.md, "Fitted device kinds".
//
// In a product, one thread block computes one tile of the result, and the multiprocessors execute
// the blocks in waves. A GPU whose power does not suffice for its boost clock lowers the clock.
// Power grows with the square of the clock, so that the sustained share of the peak is
// sqrt(power / (peak * watts)).

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/op_class.h"
#include "framework/config/config_node.h"

namespace emplace {

struct DeviceKind;

struct KernelFit {
  struct Tile {
    int rows = 0, columns = 0;
    double share = 1;  ///< of the sustained peak that a full wave reaches, in (0, 1]
    bool operator==(const Tile&) const = default;
  };
  std::string name;         ///< of an entry of `kernel_fits`; "": it has none
  std::string dtype;        ///< element type of the kernels: "f32"
  double watts = 0;         ///< [W] that a TFLOP/s takes at the boost clock
  double tile_start = 0;    ///< multiply-adds that the start of a tile element costs
  std::vector<Tile> tiles;  ///< tiles that the library chooses from; empty: no products
  // The keys of these maps are op classes, and kinds of op with the prefix of their framework
  // ("aten.sum"), which count before their class.
  std::map<std::string, double> bandwidth;  ///< share of the memory bandwidth, in (0, 1]
  std::map<std::string, double> compute;    ///< share of the sustained peak; before tiles
  std::map<std::string, Nanos> starts;      ///< [ns] instead of `start`
  Nanos start = 0;                          ///< [ns] kernel without work, with the gap before it
  double error = 0;                         ///< median relative error on GPUs that were left out
  bool operator==(const KernelFit&) const = default;
};

/// Returns the largest share of the peak that the power of a GPU sustains, in (0, 1].
/// @pre the element type of `fit` has a peak
double SustainedShare(const DeviceKind& kind, const KernelFit& fit);

/// A fit and the key of its maps that an op has there.
struct KernelFitEntry {
  const KernelFit* fit = nullptr;  ///< null: no fit has the op
  std::string key;
};
/// Returns the first fit of kind.fitted for the element type that has a bandwidth for the kind of
/// op; without one, for the class.
KernelFitEntry FindKernelFit(const DeviceKind& kind,
                             std::string_view dtype,
                             const std::string& op_kind,
                             OpClass op_class);

/// Returns the time of a kernel [ns].
/// @param entry    of FindKernelFit(); has a fit
/// @param product  [batch, rows, columns] of the result of a product; not used by other classes
/// @param flops    [FLOP]   @param bytes  accessed [B]
double FittedKernelTime(const DeviceKind& kind,
                        const KernelFitEntry& entry,
                        OpClass op_class,
                        const std::array<double, 3>& product,
                        double flops,
                        double bytes);

/// Reads a fit (FORMAT.md, "Keys of `fitted`"). @throws InputError
KernelFit ParseKernelFit(const ConfigNode& node);
/// Returns a map in flow style, which ParseKernelFit() reads back equal.
std::string FormatKernelFit(const KernelFit& fit);

}  // namespace emplace
